"""Readings of a GPU with something changed."""

from __future__ import annotations

import json
from typing import Any


def altered(readings: Any, **changes: Any) -> Any:
    """A copy with some entries replaced."""
    return json.loads(json.dumps(readings)) | changes
