"""How the exercises on CUDA basics are checked on the GPU."""

from __future__ import annotations

import math
from typing import Any

from gpulab import check
from grader.exercises.confront import Confrontation, Unusable
from grader.exercises.cuda_basics import coverage


def _smallest(tried: list[Any], elements: int) -> list[int]:
    """The grid of the smallest launch after which every element had been written to.

    Args:
        tried: pairs of a grid (blocks along x, or along x and y) and how many elements were written to.
        elements: how many there are.

    Raises:
        Unusable: none was large enough, or those that were are not the larger ones.
    """
    enough = [grid for grid, reached in tried if reached == elements]
    smallest: list[int] = min(enough, key=math.prod, default=[])
    if not enough or not all(0 < reached <= elements for _, reached in tried):
        raise Unusable(f"launches that write to {elements} elements wrote to so many: {tried}")
    if enough != [grid for grid, _ in tried if all(one >= least for one, least in zip(grid, smallest, strict=True))]:
        raise Unusable(f"larger launches wrote to fewer of {elements} elements: {tried}")
    return smallest


def _slip(reached: int, elements: int) -> str:
    if reached < elements:
        return f"This GPU wrote to {reached} of {elements} elements with that many blocks."
    return "This GPU wrote to every element with fewer blocks."


def lengths(answer: Any, readings: Any) -> None:
    """The fewest blocks with which a kernel wrote to every element."""
    for n, threads, tried in readings:
        (blocks,) = _smallest(tried, n)
        slips = {count: _slip(reached, n) for (count,), reached in tried}
        check.equal(answer(n, threads), blocks, f"{n} elements in blocks of {threads}, launched on this GPU", slips)


def shapes(answer: Any, readings: Any) -> None:
    """The smallest grid with which a kernel wrote to every element of a matrix."""
    for (rows, columns), block, tried in readings:
        grid = _smallest(tried, rows * columns)
        slips = {tuple(one): _slip(reached, rows * columns) for one, reached in tried}
        what = f"{rows} rows, {columns} columns, blocks of {tuple(block)}, launched on this GPU"
        check.equal(answer((rows, columns), tuple(block)), tuple(grid), what, slips)


CONFRONTATIONS = [
    Confrontation(
        "blocks_for",
        "The number is compared with the fewest blocks with which a kernel on this GPU wrote to every element.",
        coverage.of_lengths,
        lengths,
    ),
    Confrontation(
        "grid_for",
        "The grid is compared with the smallest one with which a kernel on this GPU wrote to every element of a "
        "matrix.",
        coverage.of_shapes,
        shapes,
    ),
]

_NUMBA = "Numba compiles the kernel for this GPU, and it runs there on {}."
_VECTORS = _NUMBA.format("vectors of up to 5 million elements")
_MATRICES = _NUMBA.format("matrices of up to 3000 × 3000")
ON_DEVICE = {
    "vec_add": (_VECTORS, "[(int(draw.integers(1, 5_000_000)), nullcontext)] if has_gpu() else []"),
    "saxpy": (_VECTORS, "check.close(saxpy(alpha, device_array(x), device_array(y))"),
    "add_bias": (_MATRICES, "nullcontext if has_gpu() else trace.counting"),
    "scale_rows": (
        _MATRICES,
        "nullcontext if has_gpu() else trace.counting",
    ),
    "SAXPY_CU": (
        "NVRTC compiles the source for this GPU, and it runs there in launches of random shapes, with guard bytes "
        "around its arrays.",
        "cuda_cpp.count_each if counted else cuda_cpp.run_each",
    ),
}

NONE: dict[str, str] = {}
