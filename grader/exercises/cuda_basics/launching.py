"""Launches whose grid and block are exchanged: right for small arrays, impossible for large ones.

A tracer runs arrays that are too small to show it, so the way in which launches grow decides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


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


def _divided(rows: int, columns: int, grid: tuple[int, ...], block: tuple[int, ...]) -> bool:
    """Whether the block, not the grid, is what the extents are divided into."""
    return all(
        threads in (-(-extent // blocks), extent // blocks + 1)
        for extent, blocks, threads in zip((columns, rows), grid, block, strict=False)
    )
