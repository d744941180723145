"""Whether a function gives back an object or memory that it gave back before, so that the earlier result changes.

A result crosses to the test as a copy. That it is no object of its own shows only here, in the student's process.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.processes import wire

Snapshot = tuple[Any, Sequence[wire.Buffer]] | None
"""A plain value's form and buffers; None when it cannot be told."""


class EarlierResults:
    """The last result of each function, kept alive, since another array could get its memory otherwise."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[Any, Any, bytes | None, bytes | None]] = {}

    def overwritten(self, name: str, arguments: Snapshot, value: Any, content: Snapshot) -> bool:
        """Whether this result took the place of the last one; remembers it.

        A function may return the same list or array for the same arguments, or one whose elements stay as they are. A
        list, set, or dict that only grows from call to call is left to the test: it holds too much, which says more.

        Args:
            name: of the function.
            arguments: of the call, before it.
            value: what it returned.
            content: of the value; None where that is known to the test only, which carries the launches out.
        """
        memory, parts = _memory(value), _parts(value)
        if not memory and parts is None:
            self._last.pop(name, None)
            return False
        kept, before, given, held = self._last.get(name, (None, None, None, None))
        asked, holds = _digest(arguments), _digest(content)
        self._last[name] = value, parts, asked, holds
        if parts is not None and value is kept and holds is not None:
            return asked != given and holds != held and not before.items() <= parts.items()
        return bool(memory & _memory(kept)) and asked != given and (holds is None or holds != held)


def _parts(value: Any) -> dict[Any, int] | None:
    """Which object stands where in a list, set, or dict; None for anything else."""
    if type(value) is dict:
        return {key: id(part) for key, part in value.items()}
    if type(value) is set:
        return dict.fromkeys(value, 0)
    return dict(enumerate(map(id, value))) if type(value) is list else None


def _memory(value: Any) -> set[int]:
    """Addresses of the arrays and tensors that a result consists of."""
    torch = sys.modules.get("torch")
    parts = value.values() if type(value) is dict else value if type(value) in (list, tuple) else [value]
    found = set()
    for part in parts:
        if isinstance(part, np.ndarray) and part.size:
            found.add(int(part.__array_interface__["data"][0]))
        elif torch is not None and isinstance(part, torch.Tensor) and part.numel():
            found.add(int(part.untyped_storage().data_ptr()))
    return found - {0}  # a fake tensor has none


def _digest(snapshot: Snapshot) -> bytes | None:
    if snapshot is None:
        return None
    form, buffers = snapshot
    found = hashlib.blake2b(repr(form).encode(errors="surrogatepass"))
    for buffer in buffers:
        found.update(buffer)
    return found.digest()
