"""Readings of launches: how many elements have a thread, for several sizes of the grid."""

from __future__ import annotations

from typing import Any

TOUCH_CU = r"""
extern "C" __global__ void touch(int* touched, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns)
        touched[row * columns + column] = 1;
}
"""
LENGTHS = ((1000, 128), (1024, 128), (1025, 128), (1, 32), (5, 1), (30, 512), (70_000, 1024), (4095, 64))
"""Elements, and threads per block."""
SHAPES = (
    ((100, 1000), (32, 8)), ((16, 64), (32, 8)), ((1, 1), (16, 16)), ((70, 3), (8, 32)), ((513, 45), (64, 4)),
    ((33, 257), (16, 16)),
)  # fmt: skip
"""Rows and columns of a row-major matrix, and the block's threads along x and y."""


def around(count: int, size: int) -> list[int]:
    """Numbers of blocks of this size that are too few for so many elements, enough, and too many."""
    return [blocks for blocks in range(count // size - 1, count // size + 3) if blocks > 0]


def touched(launches: list[tuple[tuple[int, int], tuple[int, int], tuple[int, int]]]) -> list[int]:
    """For each (shape, grid, block), how many elements of such a matrix a launch wrote to."""
    import numpy as np

    from gpulab import cuda_cpp

    calls = [
        cuda_cpp.Call(grid, block, (np.zeros(rows * columns, np.int32), np.int32(rows), np.int32(columns)))
        for (rows, columns), grid, block in launches
    ]
    return [int(array.sum()) for (array,) in cuda_cpp.run_each(TOUCH_CU, "touch", calls)]


def of_lengths() -> list[Any]:
    """`[n, threads, [[[blocks], elements that have a thread], …]]` for several n."""
    tried = [(n, threads, around(n, threads)) for n, threads in LENGTHS]
    counts = iter(touched([((1, n), (blocks, 1), (threads, 1)) for n, threads, some in tried for blocks in some]))
    return [[n, threads, [[[blocks], next(counts)] for blocks in some]] for n, threads, some in tried]


def of_shapes() -> list[Any]:
    """`[shape, block, [[grid, elements that have a thread], …]]` for several matrices."""
    tried = []
    for (rows, columns), (wide, high) in SHAPES:
        grids = [(x, y) for x in around(columns, wide) for y in around(rows, high)]
        tried.append(((rows, columns), (wide, high), grids))
    counts = iter(touched([(shape, grid, block) for shape, block, grids in tried for grid in grids]))
    return [[shape, block, [[list(grid), next(counts)] for grid in grids]] for shape, block, grids in tried]
