"""Launches that do not fit the arrays are refused; those that only look alike are not."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from grader.exercises.cuda_basics.launching import (
    require_launch,
    require_one_block,
    require_rows_apart,
    require_two_axes,
)

SHAPES = [(1, 1), (1, 50), (50, 1), (48, 49), (7, 33)]
Size = int | tuple[int, ...]
Launched = Callable[[int, int], tuple[Size, Size]]


def three(size: Size) -> tuple[int, ...]:
    whole = size if isinstance(size, tuple) else (size,)
    return (*whole, 1, 1)[:3]


def found(launched: Launched, times: int = 1) -> list[tuple[tuple[int, int], list[dict[str, Any]]]]:
    """What `trace.counting` would list for each shape."""
    several = []
    for shape in SHAPES:
        grid, block = map(three, launched(*shape))
        several.append((shape, [{"grid": grid, "block": block}] * times))
    return several


def blocks_of(threads: int, size: int) -> int:
    return -(-size // threads)


EXCHANGED: dict[str, Launched] = {
    "two dimensions": lambda rows, columns: ((32, 8), (blocks_of(32, columns), blocks_of(8, rows))),
    "rounded by adding one": lambda rows, columns: ((16, 16), (columns // 16 + 1, rows // 16 + 1)),
    "flat": lambda rows, columns: (256, blocks_of(256, rows * columns)),
}
ALIKE: dict[str, Launched] = {
    "the right way round": lambda rows, columns: ((blocks_of(32, columns), blocks_of(8, rows)), (32, 8)),
    "one block": lambda rows, columns: (1, min(1024, rows * columns)),
    "a fixed grid of blocks of one thread": lambda rows, columns: (4096, 1),
    "a fixed grid, a thread for each column": lambda rows, columns: (8, min(1024, columns)),
    "flat, the right way round": lambda rows, columns: (blocks_of(256, rows * columns), 256),
}


@pytest.mark.parametrize("launched", EXCHANGED.values(), ids=list(EXCHANGED))
def test_exchanged_arguments_are_named(launched: Launched) -> None:
    with pytest.raises(AssertionError, match=r"f: every launch has the grid .* Are grid and block swapped\?"):
        require_launch("f", found(launched))


@pytest.mark.parametrize("launched", ALIKE.values(), ids=list(ALIKE))
def test_other_launches_are_not_accused(launched: Launched) -> None:
    require_launch("f", found(launched))


def test_several_launches_are_not_compared() -> None:
    """Which of them covers the array is not known."""
    require_launch("f", found(EXCHANGED["two dimensions"], times=2))


def test_blocks_of_one_shape_are_asked_for() -> None:
    """Also where a call launches two kernels."""
    require_one_block("f", found(ALIKE["the right way round"], times=2))
    with pytest.raises(AssertionError, match=r"f: .* here \(1, 1, 1\) and \(32, 1, 1\)\. Use one block shape"):
        require_one_block("f", found(lambda rows, columns: (rows, min(columns, 32))))


@pytest.mark.parametrize(("columns", "block"), [*itertools.product((37, 41), ((32, 8), (16, 16), (4, 8), (1, 128)))])
def test_a_launch_in_one_dimension_has_fewer_requests(columns: int, block: tuple[int, int]) -> None:
    """Whatever the block, some warps are not full if their threads count rows and columns."""
    rows, (wide, high) = 70, block
    warps = set()
    for row, column in itertools.product(range(rows), range(columns)):
        thread = row % high * wide + column % wide
        warps.add((row // high, column // wide, thread // 32))
    require_two_axes("f", rows, columns, [{"global_write_requests": len(warps)}])
    with pytest.raises(AssertionError, match="as with a single index"):
        require_two_axes("f", rows, columns, [{"global_write_requests": -(-rows * columns // 32)}])


def stored(places: list[tuple[int, int]], columns: int, flat: bool) -> list[dict[str, Any]]:
    """What `trace.counting` would list for a store by lanes of one warp, as pairs of lane and element."""
    lanes = [lane for lane, _ in places]
    indexes = [(place,) if flat else divmod(place, columns) for _, place in places]
    worst = {"lanes": lanes, "indexes": indexes}
    return [{"lines": [{"space": "global", "kind": "store", "worst": worst}]}]


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize(("columns", "wide"), [*itertools.product((5, 7), (2, 4, 8, 16, 32))])
def test_rows_of_a_launch_in_two_dimensions_are_apart(columns: int, wide: int, flat: bool) -> None:
    """Of a warp in which an idle thread hides one dimension they are not."""
    for left in range(0, columns, wide):
        pairs = [(lane, (lane // wide, left + lane % wide)) for lane in range(32)]
        places = [(lane, row * columns + column) for lane, (row, column) in pairs if column < columns]
        require_rows_apart("f", columns, stored(places, columns, flat))
    with pytest.raises(AssertionError, match="from the end of a row into the next row"):
        require_rows_apart("f", columns, stored([(lane, 31 + lane) for lane in range(31)], columns, flat))
