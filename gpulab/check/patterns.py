"""What all numbers of a wrong answer have in common: a factor, a difference, another order. Facts, whatever the cause.

Said where no known mistake fits; `relations` knows functions of each number, `places` speaks of the wrong ones among
them, and `rounding` recognizes right numbers that were rounded.
"""

from __future__ import annotations

from typing import Any

from gpulab.check.compare import Rule, unequal
from gpulab.check.places import which_and_what
from gpulab.check.relations import by_line, of_each
from gpulab.check.values import PlainArray

FEWEST = 3
"""Numbers that it takes to speak of all of them."""
NEAR = 1e-5
"""Relative distance up to which a factor or a difference is the same for all elements: sums in float32 are so exact."""
ANOTHER_ORDER = "They are the right numbers in another order."
APART = 1e-3
"""Factors nearer to 1, and differences smaller than this part of the largest number, may come from rounding."""


def pattern(answer: Any, expected: Any, rule: Rule) -> str:
    """A sentence about two plain values, arrays or lists of numbers of one shape; "" if there is nothing to say.

    Args:
        answer: the student's.
        expected: the right one.
        rule: when two numbers count as equal.
    """
    import numpy

    mine, theirs = _numbers(answer), _numbers(expected)
    if mine is None or theirs is None or mine.shape != theirs.shape or mine.size < FEWEST:
        return ""
    with numpy.errstate(all="ignore"):
        wrong = unequal(mine, theirs, rule)
        if not wrong.any():  # they differ in their kind alone
            return ""
        found, related = "", ""
        if numpy.isfinite(mine).all() and numpy.isfinite(theirs).all():
            found = _reordered(mine, theirs, rule) or _scaled(mine, theirs) or _shifted(mine, theirs)
            related = "" if found else of_each(mine, theirs) or by_line(mine, theirs)
        if isinstance(answer, PlainArray) and found in ("", ANOTHER_ORDER):
            found = f"{found} {which_and_what(mine, theirs, wrong)}".strip()
        return f"{related} {found}".strip()


def _numbers(value: Any) -> Any:
    """The numbers of a plain value as float64; None if it holds anything else."""
    import numpy

    if isinstance(value, PlainArray):
        return value.values.astype(numpy.float64) if value.values.dtype.kind in "iuf" else None
    if isinstance(value, (list, tuple)) and value and all(type(one) in (int, float) for one in value):
        try:
            return numpy.array(value, numpy.float64)
        except OverflowError:
            return None
    return None


def _reordered(mine: Any, theirs: Any, rule: Rule) -> str:
    import numpy

    if len(numpy.unique(theirs)) < FEWEST or mine.ndim == 0:
        return ""
    turned = {
        "They are the right numbers in reverse order.": theirs[::-1],
        "The numbers of each row are in reverse order.": theirs[..., ::-1],
        "It is the right array, transposed.": theirs.T,
    }
    for words, array in turned.items():
        if mine.shape == array.shape and not unequal(mine, array, rule).any():
            return words
    if not numpy.array_equal(numpy.sort(mine, None), numpy.sort(theirs, None)):
        return ""
    for far in range(1, 17):
        for side, step in (("back", far), ("front", -far)):
            if mine.ndim == 1 and numpy.array_equal(mine, numpy.roll(theirs, step)):
                one = "place" if far == 1 else "places"
                return f"They are the right numbers, each {far} {one} too far to the {side}."
    return ANOTHER_ORDER


def _scaled(mine: Any, theirs: Any) -> str:
    import numpy

    at = numpy.unravel_index(abs(theirs).argmax(), theirs.shape)
    if numpy.count_nonzero(theirs) < FEWEST or not mine[at]:
        return ""
    factor = float(mine[at] / theirs[at])
    if abs(factor - 1) < APART or not (abs(mine - factor * theirs) <= NEAR * abs(mine[at])).all():
        return ""
    if abs(factor + 1) < APART:
        return "All numbers have the wrong sign."
    return f"All numbers are {factor:.4g} times as large as expected."


def _shifted(mine: Any, theirs: Any) -> str:
    import numpy

    off = mine - theirs
    by, size = float(numpy.median(off)), float(abs(theirs).max())
    if abs(by) < APART * size or not (abs(off - by) <= NEAR * max(size, abs(by))).all():
        return ""
    return f"All numbers are {abs(by):.4g} too {'large' if by > 0 else 'small'}."
