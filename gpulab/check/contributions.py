"""How often each number counts in a wrong sum, and where a misplaced number comes from. Facts, whatever the cause.

A sum is found out by calling the answer again with inputs that are almost all 0: four elements are powers of 32, whose
multiples the result holds side by side. What was found is said only if it gives the student's own result again. All
inputs of a step are handed over together, so that a kernel can be compiled once, and run in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

Calls = Callable[[Sequence[Any]], Sequence[Any]]
"""Gives for each of other inputs the result: one number, the same one of the answer that is looked at."""
BASE, AT_ONCE = 32, 4
"""An element may count up to 15 times; so many are found out with one call, exactly, also in float32."""
CHUNK, MOST = 32, 320
"""Longer arrays than MOST are looked at in chunks."""
WIDE, CHUNKS_AT_ONCE = 256, 3
"""The elements of a chunk may count up to 127 times together."""
GROUPS = 3
"""Different mistakes that are named: more are no help."""


def in_sum(
    calls: Calls, x: Any, result: float, right: Any, where: str, places: Sequence[int] | None = None, steps: Any = None
) -> str:
    """What is wrong with a sum of elements: "In the sum, x[0] is missing."; "" if it is no such sum.

    Args:
        calls: gives the results for arrays of other elements in the place of x.
        x: the elements, an array of one axis.
        result: the wrong result for these.
        right: how often each element counts in the right one.
        where: what holds the sum: "the sum", "y[3]".
        places: the elements that can count; the others are taken not to. All, if it is None.
        steps: the elements that the steps of one tree or scan add up, in the order of their distance, as an index.
    """
    try:
        times = how_often(calls, len(x), places)
    except Exception:  # it may be made for the test's inputs alone
        return ""
    if times is None or not _gives(times, x, result) or not (told := _told(times, right, where)):
        return ""
    found = distances(times[steps]) if steps is not None and (times != right)[steps].any() else None
    if not found or sum(found) >= len(times[steps]):
        return told
    *others, last = map(str, found)
    which = f"distances {', '.join(others)} and {last} give" if others else f"distance {last} alone gives"
    return f"{told} That is what steps with the {which}."


def in_counts(count: Callable[[Any, int], Any], number: int = 1000) -> str:
    """What is wrong with counts of values that all differ; "" if nothing, or if it cannot be said.

    Args:
        count: gives the counts of an array of int32 values, from 0 to below the second argument.
        number: how many values, which is also the number of bins.
    """
    import numpy

    x = (numpy.arange(number) * 7 + 3) % number  # 7 has no divisor in common with 1,000
    try:
        counts = count(x.astype(numpy.int32), number)
        told = _told(counts[x].astype(numpy.float64), 1, "the counts") if counts.shape == x.shape else ""
    except Exception:  # it may be made for the test's inputs alone
        return ""
    return told and f"Of {number:,} different values: {told}"


def how_often(calls: Calls, length: int, places: Sequence[int] | None = None) -> Any:
    """How often each of `length` elements counts in the result; None if that cannot be found out."""
    import numpy

    if places is None and length > MOST:
        return _by_chunks(calls, length)
    some = [*(range(length) if places is None else places)]
    digits = _digits(calls, [numpy.array([place]) for place in some], length, BASE, AT_ONCE)
    if digits is None:
        return None
    times = numpy.zeros(length)
    times[some] = digits
    return times


def _digits(calls: Calls, groups: list[Any], length: int, base: int, at_once: int) -> list[float] | None:
    """How often the elements of each group count, together: the digits of results in this base, also negative ones.

    None if the result for nothing but zeros is not 0.
    """
    import numpy

    pieces = [groups[first : first + at_once] for first in range(0, len(groups), at_once)]
    inputs = [numpy.zeros(length) for _ in (None, *pieces)]
    for x, piece in zip(inputs[1:], pieces, strict=True):
        for digit, group in enumerate(piece):
            x[group] = base**digit
    of_zeros, *results = calls(inputs)
    if abs(of_zeros) > 0:
        return None
    found: list[float] = []
    for piece, result in zip(pieces, results, strict=True):
        rest = round(float(result)) if numpy.isfinite(result) else 0
        for _ in piece:
            digit = (rest + base // 2) % base - base // 2
            found.append(digit)
            rest = (rest - digit) // base
    return found


def _by_chunks(calls: Calls, length: int) -> Any:
    """The contributions of many elements, if those of a chunk are alike, or alike in all chunks."""
    import numpy

    place = numpy.arange(length)
    chunks = [place[first : first + CHUNK] for first in range(0, length, CHUNK)]
    digits = _digits(calls, chunks, length, WIDE, CHUNKS_AT_ONCE)
    if digits is None:
        return None
    sums, sizes = numpy.array(digits), numpy.array([len(chunk) for chunk in chunks])
    times = (sums / sizes).repeat(sizes)
    uneven = [chunk for chunk, alike in zip(chunks, sums % sizes == 0, strict=True) if not alike]
    if len(uneven) <= 2:
        ones = [chunk[at : at + 1] for chunk in uneven for at in range(len(chunk))]
        times[[int(one[0]) for one in ones]] = _digits(calls, ones, length, BASE, AT_ONCE) if ones else []
        return times
    whole = numpy.array(chunks[:-1])
    lanes = numpy.array(_digits(calls, list(whole.T), length, WIDE, CHUNKS_AT_ONCE))
    shares = numpy.array([lanes[: len(chunk)].sum() for chunk in chunks])
    if not shares.all():
        return None
    return (lanes * (sums / shares)[:, None]).ravel()[:length]


def _gives(times: Any, x: Any, result: float) -> bool:
    """Whether these contributions give the result, up to the rounding of float32."""
    import numpy

    parts = times * numpy.asarray(x, numpy.float64)
    return bool(abs(parts.sum() - result) <= 1e-5 * abs(parts).sum() + 1e-9)


def distances(times: Any) -> list[int] | None:
    """The distances of the steps of a tree or a scan in which the elements at these places count so often.

    In a step of distance d, a place gets what is d places further as well: how often element i counts is the number of
    ways to write i as a sum of distances. None if no distances give these numbers.
    """
    import numpy

    rest, found = numpy.array(times), []
    if rest[0] != 1:
        return None
    while rest[1:].any():
        step = int(rest[1:].nonzero()[0][0]) + 1
        for place in range(step, len(rest)):
            rest[place] -= rest[place - step]
        found.append(step)
        if len(found) > 12 or rest.min() < 0:
            return None
    return found


def _told(times: Any, right: Any, where: str) -> str:
    """What is wrong with these contributions."""
    import numpy

    right = numpy.broadcast_to(right, times.shape)
    if (times == right).all() or (times != times.round()).any():
        return ""
    kinds: dict[tuple[int, int], list[int]] = {}
    for place in (times != right).nonzero()[0].tolist():
        kinds.setdefault((int(times[place]), int(right[place])), []).append(place)
    if len(kinds) > GROUPS:
        place = next(iter(kinds.values()))[0]
        kinds = {(int(times[place]), int(right[place])): [place]}
    parts = [_said(mine, due, at, len(times)) for (mine, due), at in kinds.items()]
    return f"In {where}, {', and '.join(parts)}."


def _said(mine: int, due: int, places: list[int], length: int) -> str:
    name, one = _named(places, length), len(places) == 1
    if not mine:
        return f"{name} {'is' if one else 'are'} missing"
    if mine == -due:
        return f"{name} {'is' if one else 'are'} subtracted"
    if not due:
        return f"{name} count{'s' if one else ''}, but {'does' if one else 'do'} not belong there"
    return f"{name} count{'s' if one else ''} {_often(mine)}, not {_often(due)}"


def _often(times: int) -> str:
    return {1: "once", 2: "twice"}.get(times, f"{times} times")


def _named(places: list[int], length: int) -> str:
    """The elements of x at these places, in a few words."""
    first, last, count = places[0], places[-1], len(places)
    if count == 1:
        return f"x[{first}]"
    if count == 2:
        return f"x[{first}] and x[{last}]"
    if last - first + 1 == count:
        return f"x[{first}] to x[{last}]"
    others = sorted(set(range(length)) - set(places))
    for some, words in ((others, "all elements but {}"), (places, "{}")):
        steps = {after - before for before, after in pairwise(some)}
        if len(some) > 2 and len(steps) == 1:
            return words.format(f"x[{some[0]}], x[{some[1]}], x[{some[2]}], …")
    ends = [one for one, after in zip(places, [*places[1:], -1], strict=True) if after != one + 1]
    if len(ends) == 2:
        second = next(place for place in places if place > ends[0])
        return f"x[{first}] to x[{ends[0]}] and x[{second}] to x[{last}]"
    return f"x[{first}], x[{places[1]}], x[{places[2]}] and {count - 3} other elements"


def came_from(answer: Any, expected: Any, x: Any, name: str = "x") -> str:
    """Where the first misplaced number of the answer comes from, in x, whose numbers all differ; "" if nowhere."""
    import numpy

    if answer.shape != expected.shape or len(numpy.unique(x)) < x.size:
        return ""
    wrong = numpy.argwhere(answer != expected)
    if not len(wrong):
        return ""
    at = tuple(wrong[0])
    held, due = (numpy.argwhere(x == array[at]) for array in (answer, expected))
    if not len(held) or not len(due):
        return ""
    place, here, belongs = (", ".join(map(str, index)) for index in (at, held[0].tolist(), due[0].tolist()))
    return f"Element [{place}] of the result is {name}[{here}]: {name}[{belongs}] belongs there."
