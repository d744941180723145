"""What the CUDA chapter's kernels are timed against on a GPU; see `gpulab.measuring.speedup`."""

from __future__ import annotations

from typing import Any

from numba import cuda, float32

from gpulab.arrays import empty
from gpulab.measuring.speedup import Comparison

WORKLOADS = "gpulab.chapters.shared_memory.workloads"
MATMUL_BLOCK = (16, 16)
TILE = 32
LARGEST_SIDE = 16384
"""Of a matrix to transpose: 1 GB of float32 is far beyond any cache, and nine of them need 9.7 GB."""


def transposed_side(memory_bytes: float) -> int:
    """Extent of the largest matrix that `transpose_tiled` is timed with, in whole tiles, on a card with this memory.

    Four matrices, their transposed ones and one that is being drawn are there on both sides, with room to spare.
    """
    return int(min(LARGEST_SIDE, (memory_bytes / 160) ** 0.5)) // TILE * TILE


@cuda.jit  # type: ignore[untyped-decorator] # Numba ships no types
def _one_thread_an_element(x: Any, out: Any) -> None:
    """Reads along rows, writes along columns."""
    column, row = cuda.grid(2)
    if row < x.shape[0] and column < x.shape[1]:
        out[column, row] = x[row, column]


def naive_transpose(x: Any) -> Any:
    """The transposed matrix, without shared memory."""
    rows, columns = x.shape
    out = empty((columns, rows), "float32")
    _one_thread_an_element[(-(-columns // TILE), -(-rows // TILE)), (TILE, TILE)](x, out)
    return out


@cuda.jit  # type: ignore[untyped-decorator]
def _one_thread_each(a: Any, b: Any, c: Any) -> None:
    """One thread an output: coalesced, and without shared memory."""
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        added = float32(0)
        for k in range(a.shape[1]):
            added += a[row, k] * b[k, column]
        c[row, column] = added


def naive_matmul(a: Any, b: Any) -> Any:
    """The product, each of its elements read from global memory by a thread of its own."""
    c = empty((a.shape[0], b.shape[1]), "float32")
    width, height = MATMUL_BLOCK
    _one_thread_each[(-(-c.shape[1] // width), -(-c.shape[0] // height)), MATMUL_BLOCK](a, b, c)
    return c


TRANSPOSE = Comparison(
    name=f"{__name__}:TRANSPOSE", workload=f"{WORKLOADS}:TRANSPOSE", reference=naive_transpose, void=20.0
)
"""`transpose_tiled` against the kernel without shared memory; sizes `rows`, `columns`.

On an H200, 16384 × 16128: a copy takes 0.51 ms, the naive kernel 3.95, a tile without padding 2.37, a padded one 1.59
to 0.70 (`grader prove`, 2026-11-26).
"""

MATMUL = Comparison(name=f"{__name__}:MATMUL", workload=f"{WORKLOADS}:MATMUL", reference=naive_matmul, void=40.0)
"""`matmul_tiled` against the kernel without shared memory; sizes `rows`, `inner`, `columns`.

Warp tiling in CUDA C++ is eleven times as fast on an RTX A6000 (siboehm/SGEMM_CUDA, `data/sgemm_steps.csv`).
"""
