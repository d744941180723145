"""The errors that an array raises, with the element, the thread and the line that they are about."""

from __future__ import annotations

from types import FrameType
from typing import Any

from gpulab.trace.errors import OutOfBoundsError, UnsupportedError
from gpulab.trace.log import GLOBAL, SHARED, Log
from gpulab.trace.python.places import kernel_frame, place_of

_WHERE = {GLOBAL: "", SHARED: "shared array ", None: "local array "}


def out_of_bounds(
    name: str, shape: tuple[int, ...], space: int | None, index: Any, axis: int, number: int, frame: FrameType, log: Log
) -> OutOfBoundsError:
    """What to raise for an index outside its array.

    Args:
        name: of the array.
        shape: of the array.
        space: `GLOBAL`, `SHARED`, or None for memory of one thread.
        index: as it stands in the kernel.
        axis: of the number that is outside.
        number: that is outside.
        frame: of the kernel, or of a device function.
        log: it knows which thread is running.
    """
    place = place_of(frame)
    if len(shape) == 1:
        elements = f"{shape[0]} element{'s' if shape[0] != 1 else ''}"
        has = f"{_WHERE[space]}'{name}' has {elements}" + (f", 0 to {shape[0] - 1}" if shape[0] > 1 else "")
    else:
        has = f"{_WHERE[space]}'{name}' has shape {shape}, and {number} is outside axis {axis}"
    who = f"It was thread {log.thread} of block {log.block}, {place}"
    message = f"{name}[{shown(index)}] is out of bounds: {has}. {who}."
    if number < 0:
        message += (
            " Is a guard missing, or is the index wrong? Numba counts a negative index from the end; CUDA C++ does not."
            f" Write {name}.shape[{axis}] - {-number} if you mean that element."
        )
    return OutOfBoundsError(message, place.line, log.thread, log.block)


def refusal(what: str, remedy: str, log: Log) -> UnsupportedError:
    """What to raise for something that a kernel cannot do with an array."""
    place = place_of(kernel_frame())
    return UnsupportedError(f"{what} ({place}). {remedy}", place.line, log.thread, log.block)


def shown(index: Any) -> str:
    """An index as it stands between the brackets."""
    if isinstance(index, tuple):
        return ", ".join(map(shown, index))
    if isinstance(index, slice):
        return ":".join("" if part is None else str(part) for part in (index.start, index.stop, index.step))
    return str(index)
