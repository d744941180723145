"""Recognizes an answer whose numbers are the right ones, rounded: a mistake that any exercise with numbers can see."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

from gpulab.check.compare import Rule, difference
from gpulab.check.values import DictOf, PlainArray

DECIMALS = range(5)
ALMOST = Rule(rtol=1e-12, ints_apart=False)
SINGLE = Rule(rtol=2**-21, ints_apart=False)
"""A float32 has 24 bits; a few operations may have rounded."""
ROUGH = Rule(rtol=2**-6, atol=2**-16, ints_apart=False)
"""A bfloat16 has 8 bits."""


BITS = {"bfloat16": 7, "float16": 10, "float32": 23}
"""Of the mantissa, as it is stored."""
WIDER = {"bfloat16": ("float32", "float64"), "float16": ("float32", "float64"), "float32": ("float64",)}


def is_rounded(answer: Any, expected: Any, clearly: bool = False) -> bool:
    """Whether a plain answer holds the expected numbers, all rounded to the same number of decimals, or cut off.

    An answer that is 0 says too little: many mistakes end there.

    Args:
        answer: what was returned.
        expected: what is right.
        clearly: with less than two decimals left, only if more than one digit is gone somewhere: 0.8 instead of 0.76
            comes from other mistakes, too.
    """
    if answer == 0:
        return False
    ways: list[Callable[[float], float]] = [int, *(lambda number, to=to: round(number, to) for to in DECIMALS)]
    for place, way in enumerate(ways):
        try:
            wrong = _each(expected, way)
        except (OverflowError, ValueError):  # infinite, or NaN
            return False
        if difference(answer, wrong, ALMOST) is None and difference(wrong, expected, ALMOST) is not None:
            if not clearly or place > 2:
                return True
            return difference(_each(expected, ways[max(place, 1) + 1]), expected, ALMOST) is not None
    return False


def has_float32_digits(answer: Any, expected: Any) -> bool:
    """Whether a plain answer holds the expected numbers with no more digits than a float32 has."""
    if difference(answer, expected, SINGLE) is not None or difference(answer, expected, ALMOST) is None:
        return False
    found = list(_floats(answer))
    return bool(found) and all(_as_float32(number) == number for number in found)


def has_16_bits(answer: Any, expected: Any) -> bool:
    """Whether an array holds roughly the expected numbers, all rounded to float16 or to bfloat16.

    Multiples of a sixteenth say too little: whole numbers fit into 16 bits.
    """
    arrays = isinstance(answer, PlainArray) and isinstance(expected, PlainArray)
    if not arrays or {answer.dtype, expected.dtype} - {"float32", "float64"} or not expected.values.size:
        return False
    if difference(answer, expected, ROUGH) is not None:
        return False
    import numpy as np

    found = np.ascontiguousarray(answer.values, np.float32)
    if not (16 * found % 1).any():
        return False
    with np.errstate(over="ignore"):
        half = found.astype(np.float16).astype(np.float32)
    brain = (found.view(np.uint32) & 0xFFFF0000).view(np.float32)
    return bool(np.array_equal(found, half) or np.array_equal(found, brain))


def coarser_type(answer: Any, expected: Any) -> str:
    """What to say of an array of the right numbers in a type of fewer bits than the expected one; "" if it is none.

    The array may stand in a tuple or a list, if nothing else in it is wrong.
    """
    if isinstance(answer, (list, tuple)) and isinstance(expected, (list, tuple)) and len(answer) == len(expected):
        wrong = [pair for pair in zip(answer, expected, strict=True) if difference(*pair, ALMOST) is not None]
        return coarser_type(*wrong[0]) if len(wrong) == 1 else ""
    if not (isinstance(answer, PlainArray) and isinstance(expected, PlainArray)):
        return ""
    bits = BITS.get(answer.dtype)
    if bits is None or expected.dtype not in WIDER[answer.dtype]:
        return ""
    near = Rule(rtol=2.0 ** (1 - bits), atol=2.0**-14 if bits < 23 else 0.0, ints_apart=False)
    if difference(answer, expected, near) is not None:
        return ""
    return f"Its elements are {answer.dtype}, which has too few digits: they should be {expected.dtype}."


def _as_float32(number: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return float("inf")


def _floats(value: Any) -> Iterator[float]:
    """The floats in a plain value that holds no arrays."""
    if isinstance(value, float):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _floats(part)
    elif isinstance(value, DictOf):
        for _, part in value.pairs:
            yield from _floats(part)


def _each(value: Any, way: Callable[[float], float]) -> Any:
    if isinstance(value, float):
        return float(way(value))
    if isinstance(value, (list, tuple)):
        return [_each(part, way) for part in value]
    if isinstance(value, DictOf):
        return DictOf(tuple((key, _each(part, way)) for key, part in value.pairs))
    return value
