"""How the numbers of a wrong answer follow from the expected ones: by a function of each, or a number for each row.

Facts, whatever the cause; `patterns` says them where no known mistake fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

FEWEST = 4
"""Different expected numbers that it takes, and lines along an axis."""
NEAR = 1e-4
"""Relative distance up to which two numbers are the same: float32, after a few operations."""
SHOWN = 3
"""Lines whose numbers are told."""
MOST = 1 << 20
"""Elements of the largest array that is looked at."""


def of_each(mine: Any, theirs: Any) -> str:
    """Which function of the expected number each number is; "" if it is none of the list.

    Args:
        mine: the answer's numbers, as float64.
        theirs: the expected ones, of the same shape.
    """
    import numpy

    if mine.size > MOST or numpy.unique(theirs).size < FEWEST:
        return ""
    with numpy.errstate(all="ignore"):
        return next((words for words, made in _functions(mine, theirs) if _same(mine, made, theirs)), "")


def _functions(mine: Any, theirs: Any) -> Iterator[tuple[str, Any]]:
    import numpy

    high, low = float(mine.max()), float(mine.min())
    if (theirs < 0).any() and (theirs > 0).any():
        yield "Each number that should be negative is 0, and the others are right.", numpy.maximum(theirs, 0)
        yield "Each number that should be positive is 0, and the others are right.", numpy.minimum(theirs, 0)
        yield "Each number is the absolute value of the expected one.", abs(theirs)
    yield "Each number is the expected one without its decimals.", numpy.trunc(theirs)
    yield "Each number is the expected one, rounded to a whole number.", numpy.round(theirs)
    yield "Each number is the expected one, rounded down.", numpy.floor(theirs)
    yield "Each number is the expected one, rounded up.", numpy.ceil(theirs)
    for words, made, kept in (
        (f"Each number that should be above {high:.6g} is {high:.6g}", numpy.minimum(theirs, high), theirs <= high),
        (f"Each number that should be below {low:.6g} is {low:.6g}", numpy.maximum(theirs, low), theirs >= low),
    ):
        if FEWEST <= numpy.unique(theirs[kept]).size < numpy.unique(theirs).size:
            yield f"{words}, and the others are right.", made
    yield "Each number is 1 minus the expected one.", 1 - theirs
    yield "Each number is the square of the expected one.", theirs**2
    yield "Each number is the reciprocal of the expected one: 1 divided by it.", 1 / theirs
    yield "Each number is the square root of the expected one.", numpy.sqrt(theirs)
    yield "Each number is the exponential of the expected one.", numpy.exp(theirs)
    yield "Each number is the natural logarithm of the expected one.", numpy.log(theirs)


def _same(mine: Any, made: Any, theirs: Any) -> bool:
    """Whether an answer is what a function made of the expected numbers, and not these themselves."""
    import numpy

    if not numpy.isfinite(made).all():
        return False
    size = float(abs(made).max())
    near = bool((abs(mine - made) <= NEAR * abs(made) + 1e-6 * size).all())
    return near and not bool((abs(theirs - made) <= 2 * NEAR * abs(made) + 1e-6 * size).all())


def by_line(mine: Any, theirs: Any) -> str:
    """Whether each row, or each column, is the expected one times a number of its own, or plus one; else ""."""
    import numpy

    if mine.ndim != 2 or mine.size > MOST or min(mine.shape) < 2:
        return ""
    with numpy.errstate(all="ignore"):
        for one, is_, should in (("row", mine, theirs), ("column", mine.T, theirs.T)):
            if found := _line_by_line(one, is_, should):
                return found
    return ""


def _line_by_line(one: str, mine: Any, theirs: Any) -> str:
    import numpy

    if theirs.shape[1] < FEWEST or any(numpy.unique(line).size < FEWEST for line in theirs[: 4 * SHOWN]):
        return ""
    size = abs(theirs).max(axis=1, keepdims=True)
    off = numpy.median(mine - theirs, axis=1, keepdims=True)
    allowed = NEAR * numpy.maximum(size, abs(mine).max(axis=1, keepdims=True))
    if (abs(mine - theirs - off) <= allowed).all() and numpy.ptp(off) > 0:
        return f"In each {one}, all numbers are off by the same amount: {_shown(off)}."
    at = abs(theirs).argmax(axis=1)[:, None]
    factor = numpy.take_along_axis(mine, at, 1) / numpy.take_along_axis(theirs, at, 1)
    apart = numpy.isfinite(factor).all() and factor.all() and numpy.ptp(factor) > 10 * NEAR * abs(factor).max()
    if apart and (abs(mine - factor * theirs) <= allowed).all():
        return f"Each {one} is the right one times a number of its own: {_shown(factor)}."
    return ""


def _shown(numbers: Any) -> str:
    """The numbers of the first lines, each after its index."""
    flat = numbers.reshape(-1).tolist()
    listed = ", ".join(f"{number:.4g} in [{at}]" for at, number in enumerate(flat[:SHOWN]))
    return listed + (", …" if len(flat) > SHOWN else "")
