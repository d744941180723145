"""Which elements of an array are wrong, and what they hold instead. Facts, whatever the cause.

Said where no known mistake fits and part of the array is right; `patterns` is about what all numbers have in common.
"""

from __future__ import annotations

from typing import Any

FEWEST = 3
"""Wrong elements that it takes to speak of what they hold."""
RUNS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Lengths of runs and tiles to look for."""
NEAR = 1e-5
"""Relative distance up to which two numbers are the same one, computed in float32."""
MOST = 1 << 20
"""Elements of the largest array that is looked at."""
TRIED = 4
"""Wrong elements that are compared first, before all of them are."""


def which_and_what(mine: Any, theirs: Any, wrong: Any) -> str:
    """Sentences about the wrong elements of an array of numbers; "" if there is nothing to say.

    Args:
        mine: the answer's elements, as float64.
        theirs: the expected ones, of the same shape.
        wrong: for each element whether it counts as wrong.
    """
    import numpy

    if mine.ndim == 0 or not wrong.any() or wrong.size > MOST:
        return ""
    with numpy.errstate(all="ignore"):
        said = (_where(wrong), _held(mine, theirs, wrong))
    return " ".join(part for part in said if part)


def _where(wrong: Any) -> str:
    """Which elements are wrong, if it can be said in a few words."""
    if wrong.all() or (wrong.sum() == 1 and wrong.size > 1 and not _ends(wrong)):
        return ""
    if wrong.ndim == 1:
        return _along(wrong, "element", "elements")
    for axis in range(wrong.ndim):
        others = tuple(other for other in range(wrong.ndim) if other != axis)
        one = wrong.any(axis=others)
        if (one == wrong.all(axis=others)).all() and not one.all():
            names = [("row", "rows"), ("column", "columns")] if wrong.ndim == 2 else []
            return _along(one, *(names[axis] if names else (f"part along axis {axis}", f"parts along axis {axis}")))
    return _triangle(wrong)


def _ends(wrong: Any) -> bool:
    return wrong.ndim == 1 and bool(wrong[0] or wrong[-1])


def _along(wrong: Any, one: str, many: str) -> str:
    """Which places along an axis are wrong."""
    bad, good = wrong.nonzero()[0].tolist(), (~wrong).nonzero()[0].tolist()
    for state, these in (("wrong", bad), ("right", good)):
        first, last, count = these[0], these[-1], len(these)
        if last - first + 1 != count:
            continue
        be = "is" if count == 1 else "are"
        name = one if count == 1 else many
        number = "" if count == 1 else f"{count} "
        if first == 0:
            return f"Only the first {number}{name} {be} {state}."
        if last == wrong.size - 1:
            return f"Only the last {number}{name} {be} {state}."
        if state == "wrong" and count > 1:
            return f"Only the {many} from {first} to {last} are wrong."
        if state == "wrong":
            return f"Only {one} {first} is wrong."
    return _periodic(wrong, one, many)


def _periodic(wrong: Any, one: str, many: str) -> str:
    """Which places of each run are wrong, if they are the same in all of them."""
    import numpy

    for run in RUNS:
        if wrong.size < 3 * run:
            break
        inside = wrong[:run]
        if not numpy.array_equal(wrong, numpy.resize(inside, wrong.size)):
            continue
        states = [(words, these.nonzero()[0].tolist()) for words, these in (("wrong", inside), ("right", ~inside))]
        for state, these in states:
            if len(these) == 1:
                which = f"every other {one}" if run == 2 else f"one {one} in {run}"
                return f"Only {which} is {state}: {these[0]}, {these[0] + run}, …"
        for state, these in states:
            end = {0: "first", run - len(these): "last"}.get(these[0])
            if end and these[-1] - these[0] + 1 == len(these):
                return f"In each run of {run} {many}, only the {end} {len(these)} are {state}."
        return ""
    return ""


def _triangle(wrong: Any) -> str:
    """Whether the elements on one side of the diagonal of a matrix are wrong."""
    import numpy

    if wrong.ndim != 2 or min(wrong.shape) < FEWEST:
        return ""
    row, column = numpy.indices(wrong.shape)
    sides = {
        "Only the elements on the diagonal are right.": row != column,
        "Only the elements on the diagonal are wrong.": row == column,
        "Only the elements above the diagonal are wrong.": row < column,
        "Only the elements below the diagonal are wrong.": row > column,
    }
    return next((words for words, side in sides.items() if numpy.array_equal(wrong, side)), "")


def _held(mine: Any, theirs: Any, wrong: Any) -> str:
    """What the wrong elements hold instead."""
    import numpy

    held, right = mine[wrong], theirs[wrong]
    if held.size < FEWEST or not numpy.isfinite(theirs).all():
        return ""
    if numpy.isnan(held).all():
        return "All wrong elements are NaN."
    if not numpy.isfinite(held).all() or numpy.unique(right).size < FEWEST:
        return ""
    if (held == held[0]).all():
        return f"All wrong elements are {held[0]:.6g}."
    if wrong.all():
        return _repeated(mine, theirs)  # a factor and a difference of all elements are `patterns`' business
    return _moved(mine, theirs, wrong) or _repeated(mine, theirs) or _apart(held, right)


def _same(one: Any, other: Any, size: float) -> bool:
    return bool((abs(one - other) <= NEAR * abs(other) + 1e-9 * size).all())


def _moved(mine: Any, theirs: Any, wrong: Any) -> str:
    """Whether each wrong element holds the right number of another place, always equally far away."""
    import numpy

    size, at, held = float(abs(theirs).max()), numpy.argwhere(wrong), mine[wrong]
    for axis, length in enumerate(mine.shape):
        for step in (*range(1, min(length, 65)), *(run for run in (128, 256, 512, 1024) if run < length)):
            for by, side in ((-step, "before"), (step, "after")):
                source = at.copy()
                source[:, axis] += by
                if source[:, axis].min() < 0 or source[:, axis].max() >= length:
                    continue
                if all(_same(held[:some], theirs[tuple(source[:some].T)], size) for some in (TRIED, held.size)):
                    return f"Each wrong element holds the right number of the {_place(mine.ndim, axis, step, side)}."
    return ""


def _place(dimensions: int, axis: int, step: int, side: str) -> str:
    unit = "element" if dimensions == 1 else "row" if axis == 0 else "column"
    if dimensions > 2:
        return f"element {step} {side} it along axis {axis}"
    return f"{unit} {'just' if step == 1 else step} {side} it"


def _repeated(mine: Any, theirs: Any) -> str:
    """Whether runs of the answer repeat the first run of the expected array, or the first number of each run."""
    import numpy

    size, place = float(abs(theirs).max()), numpy.arange(len(theirs))
    name, one = ("elements", "number") if theirs.ndim == 1 else ("rows", "row")
    if theirs.ndim > 1 and len(theirs) >= FEWEST and _same(mine, theirs[numpy.zeros_like(place)], size):
        return "All rows are the same as the first row should be."
    for run in RUNS:
        if run < 8 or run >= len(theirs):
            continue
        if _same(mine, theirs[place % run], size):
            return f"Each run of {run} {name} repeats the first {run}."
        if _same(mine, theirs[place // run * run], size):
            return f"Each run of {run} {name} repeats its first {one}."
    return ""


def _apart(held: Any, right: Any) -> str:
    """Whether all wrong elements are wrong by the same factor, or by the same difference."""
    import numpy

    if not right.all():
        return ""
    factors, off = held / right, held - right
    factor, by = float(numpy.median(factors)), float(numpy.median(off))
    if (abs(factors - factor) <= NEAR * max(1.0, abs(factor))).all():
        if abs(factor + 1) <= NEAR:
            return "All wrong elements have the wrong sign."
        return f"All wrong elements are {factor:.4g} times as large as expected."
    size = float(abs(right).max())
    if (abs(off - by) <= NEAR * max(size, abs(by))).all() and abs(by) > 1e-3 * size:
        return f"All wrong elements are {abs(by):.4g} too {'large' if by > 0 else 'small'}."
    return ""
