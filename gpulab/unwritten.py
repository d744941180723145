"""What memory holds that nothing was written to: numbers that give a read of it away, and where they still are.

Floats are a NaN, integers a number far outside any array, each with bits that no computation gives. Memory that was
written to since then, by a kernel or by the host, no longer holds them. Elements of one or two bytes have no such
numbers, so that reads of them are not found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FLOATS = {4: 0x7FCDCDCD, 8: 0x7FFDCDCDCDCDCDCD}
_INTEGERS = {4: 0xCDCDCDCD, 8: 0xCDCDCDCDCDCDCDCD}


def rubbish(shape: int | tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Memory that nothing was written to.

    Args:
        shape: extents.
        dtype: NumPy's element type.
    """
    import numpy as np

    if dtype.kind in "fiu" and dtype.itemsize in _INTEGERS:
        bits = (_FLOATS if dtype.kind == "f" else _INTEGERS)[dtype.itemsize]
        return np.full(shape, bits, f"u{dtype.itemsize}").view(dtype)
    if dtype.kind in "fc":
        return np.full(shape, np.nan, dtype)
    return np.full(shape, np.iinfo(dtype).min or np.iinfo(dtype).max if dtype.kind in "iu" else True, dtype)


def never_written(element: np.ndarray[Any, Any]) -> bool:
    """Whether an array of one element holds what memory holds that nothing was written to, or was computed from it."""
    size = element.dtype.itemsize
    if element.dtype.kind not in "fiu" or size not in _INTEGERS:
        return False
    bits = int(element.reshape(1).view(f"u{size}")[0])
    return bits == (_FLOATS if element.dtype.kind == "f" else _INTEGERS)[size]


def unwritten_bytes(memory: NDArray[np.uint8], item_bytes: int) -> NDArray[np.bool_] | None:
    """For each byte whether it belongs to an element that nothing was written to; None if there is none.

    Args:
        memory: contiguous, beginning with an element.
        item_bytes: of an element.
    """
    import numpy as np

    if item_bytes not in _INTEGERS or len(memory) < item_bytes:
        return None
    plain = np.asarray(memory)  # a device array of Numba's knows no comparison
    words = plain[: len(memory) // item_bytes * item_bytes].view(f"u{item_bytes}")
    found = (words == _FLOATS[item_bytes]) | (words == _INTEGERS[item_bytes])
    if not found.any():
        return None
    whole = np.zeros(len(memory), np.bool_)
    whole[: len(words) * item_bytes] = np.repeat(found, item_bytes)
    return whole
