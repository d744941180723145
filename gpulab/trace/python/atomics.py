"""`cuda.atomic` inside a traced kernel: each operation returns what was there before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpulab.trace.errors import UnsupportedError
from gpulab.trace.python.memory import TracedArray
from gpulab.trace.python.places import kernel_frame, place_of


class Atomics:
    """Reads, changes and writes an element in one step that no other thread can come between."""

    def add(self, array: TracedArray, index: Any, value: Any) -> Any:
        """Adds."""
        return _update(array, index, lambda old: old + value)

    def sub(self, array: TracedArray, index: Any, value: Any) -> Any:
        """Subtracts."""
        return _update(array, index, lambda old: old - value)

    def max(self, array: TracedArray, index: Any, value: Any) -> Any:
        """Keeps the larger one; NaN if either is."""
        return _update(array, index, lambda old: old if old >= value or old != old else value)

    def min(self, array: TracedArray, index: Any, value: Any) -> Any:
        """Keeps the smaller one; NaN if either is."""
        return _update(array, index, lambda old: old if old <= value or old != old else value)

    def nanmax(self, array: TracedArray, index: Any, value: Any) -> Any:
        """Keeps the larger one; a number rather than NaN."""
        return _update(array, index, lambda old: old if old >= value or value != value else value)

    def nanmin(self, array: TracedArray, index: Any, value: Any) -> Any:
        """Keeps the smaller one; a number rather than NaN."""
        return _update(array, index, lambda old: old if old <= value or value != value else value)

    def and_(self, array: TracedArray, index: Any, value: Any) -> Any:
        """Bitwise and."""
        return _update(array, index, lambda old: old & value)

    def or_(self, array: TracedArray, index: Any, value: Any) -> Any:
        """Bitwise or."""
        return _update(array, index, lambda old: old | value)

    def xor(self, array: TracedArray, index: Any, value: Any) -> Any:
        """Bitwise exclusive or."""
        return _update(array, index, lambda old: old ^ value)

    def inc(self, array: TracedArray, index: Any, limit: Any) -> Any:
        """Counts up; back to 0 behind the limit."""
        return _update(array, index, lambda old: 0 if old >= limit else old + 1)

    def dec(self, array: TracedArray, index: Any, limit: Any) -> Any:
        """Counts down; from 0, or from above the limit, to the limit."""
        return _update(array, index, lambda old: limit if old == 0 or old > limit else old - 1)

    def exch(self, array: TracedArray, index: Any, value: Any) -> Any:
        """Writes."""
        return _update(array, index, lambda old: value)

    def cas(self, array: TracedArray, index: Any, expected: Any, value: Any) -> Any:
        """Writes if the element is as expected."""
        return _update(array, index, lambda old: value if old == expected else old)

    def compare_and_swap(self, array: TracedArray, expected: Any, value: Any) -> Any:
        """`cas` on the first element."""
        return _update(array, 0, lambda old: value if old == expected else old)


def _update(array: Any, index: Any, change: Callable[[Any], Any]) -> Any:
    frame = kernel_frame()
    if not isinstance(array, TracedArray):
        place = place_of(frame)
        what = f"an atomic operation on {array!r} ({place})"
        raise UnsupportedError(
            f"{what}. It takes an array and an index: cuda.atomic.add(result, 0, value).", place.line
        )
    return array._update(index, change, frame)
