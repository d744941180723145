"""How launches fit the arrays: grid and block exchanged, blocks that change, two dimensions for show.

A launch whose grid and block are exchanged is right for small arrays, and impossible for large ones. A tracer runs
arrays that are too small to show it, so the way in which launches grow decides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

WARP = 32


def require_launch(exercise: str, found: Sequence[tuple[tuple[int, int], Sequence[Mapping[str, Any]]]]) -> None:
    """Passes unless all launches have one and the same grid, and blocks that grow with the array.

    Args:
        exercise: its name.
        found: for several arrays, among them one of a single element, the rows and columns (one row where there is one
            dimension), and the launches as `trace.counting` lists them.

    Raises:
        AssertionError: they do. Beyond 1,024 threads per block such a launch fails.
    """
    if any(len(launches) != 1 for _, launches in found):
        return
    shapes = [(extents, tuple(one["grid"]), tuple(one["block"])) for extents, (one,) in found]
    grids, blocks = {grid for _, grid, _ in shapes}, {block for *_, block in shapes}
    if len(grids) > 1 or len(blocks) == 1 or math.prod(next(iter(grids))) == 1:
        return
    flat = all(_divided(1, rows * columns, grid, block) for (rows, columns), grid, block in shapes)
    if flat or all(_divided(rows, columns, grid, block) for (rows, columns), grid, block in shapes):
        largest = max(blocks)
        raise AssertionError(
            f"{exercise}: every launch has the grid {next(iter(grids))}, and blocks that grow with the array, here up "
            f"to {largest}. A block has at most 1,024 threads: keep its size fixed. Are grid and block swapped? A "
            "launch is kernel[blocks, threads]."
        )


def require_one_block(exercise: str, found: Sequence[tuple[tuple[int, int], Sequence[Mapping[str, Any]]]]) -> None:
    """Passes if all launches have blocks of one shape.

    Args:
        exercise: its name.
        found: as for `require_launch`.

    Raises:
        AssertionError: two launches have blocks of different shapes.
    """
    blocks = list(dict.fromkeys(tuple(one["block"]) for _, launches in found for one in launches))
    if len(blocks) > 1:
        raise AssertionError(
            f"{exercise}: different launches have blocks of different shapes, here {blocks[0]} and {blocks[1]}. Use "
            "one block shape for all sizes: only the number of blocks may grow."
        )


def require_two_axes(exercise: str, rows: int, columns: int, launches: Sequence[Mapping[str, Any]]) -> None:
    """Refuses warps that write a matrix as if it had one dimension: 32 elements each, across the ends of rows.

    Args:
        exercise: its name.
        rows: of the matrix; with `columns`, extents that no block's extents divide, so that a warp whose threads count
            rows and columns is not always full.
        columns: of the matrix.
        launches: as `trace.counting` lists them.

    Raises:
        AssertionError: they do.
    """
    requests = sum(one["global_write_requests"] for one in launches)
    if requests <= -(-rows * columns // WARP):
        raise AssertionError(
            f"{exercise}: the values are right, but the {rows * columns} elements of a matrix of shape "
            f"{(rows, columns)} were written in only {requests} requests. So warps continue from one row into the "
            "next, as with a single index. Let one axis of the grid count the rows, and the other the columns."
        )


def require_rows_apart(exercise: str, columns: int, launches: Sequence[Mapping[str, Any]]) -> None:
    """Refuses warps whose threads go on from the end of a row to the next row without a break.

    Where x counts columns, a row is shorter than the threads along x, or a warp does not reach its end: between the
    last element of a row and the first of the next one, some threads have nothing to do, or belong to other columns.

    Args:
        exercise: its name.
        columns: of the matrix; so few that a warp in one dimension always goes beyond the end of a row, and no extent
            of a block.
        launches: as `trace.counting` lists them.

    Raises:
        AssertionError: they do.
    """
    stores = (line for one in launches for line in one["lines"] if (line["space"], line["kind"]) == ("global", "store"))
    for worst in (line["worst"] for line in stores):
        lanes = {_flat(index, columns): lane for index, lane in zip(worst["indexes"], worst["lanes"], strict=True)}
        for place, lane in lanes.items():
            first, last = sorted((lane, lanes.get(place + 1, lane)))
            if place % columns == columns - 1 and first < last and set(range(first, last)) <= set(worst["lanes"]):
                raise AssertionError(
                    f"{exercise}: the values are right, but in a matrix with {columns} columns, threads of one warp "
                    "continue from the end of a row into the next row, as with a single index. Let one axis of the "
                    "grid count the rows, and the other the columns."
                )


def _flat(index: Sequence[int], columns: int) -> int:
    """The place of an element in row-major order; an index of one number is that place."""
    return math.prod((index[0], columns if len(index) > 1 else 1)) + sum(index[1:])


def _divided(rows: int, columns: int, grid: tuple[int, ...], block: tuple[int, ...]) -> bool:
    """Whether the block, not the grid, is what the extents are divided into."""
    return all(
        threads in (-(-extent // blocks), extent // blocks + 1)
        for extent, blocks, threads in zip((columns, rows), grid, block, strict=False)
    )
