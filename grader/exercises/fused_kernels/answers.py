"""The menu's right entries, in the clear."""

from __future__ import annotations

GRAPH_BREAKS = {"a": "nothing", "b": "branch", "c": "item", "d": "print", "e": "number", "f": "shape"}
