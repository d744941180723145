"""What the CUDA chapter's kernels are timed against on a GPU; see `gpulab.measuring.speedup`."""

from __future__ import annotations

from typing import Any

from numba import cuda, float32

from gpulab.arrays import empty
from gpulab.measuring.speedup import Comparison, projections_agree

WORKLOADS = "gpulab.chapters.shared_memory.workloads"
MATMUL_BLOCK = (16, 16)
TILE = 32
LARGEST_SIDE = 16384
"""Of a matrix to transpose: 1 GB of float32 is far beyond any cache, and nine of them need 9.7 GB."""
TOLERANCE = 1e-4
"""Of a projection, in norms: moved elements keep their value, only the projection itself is rounded."""


def transposed_side(memory_bytes: float) -> int:
    """Extent of the largest matrix that `transpose_tiled` is timed with, in whole tiles, on a card with this memory.

    Four matrices, their transposed ones and one that is being drawn are there on both sides, with room to spare.
    """
    return int(min(LARGEST_SIDE, (memory_bytes / 160) ** 0.5)) // TILE * TILE


def copied(matrix: Any) -> Any:
    """A copy of the matrix: every byte read and written once, nothing moved to another place."""
    import torch

    return torch.as_tensor(matrix).clone()


def crosswise(answer: list[float], expected: list[float]) -> bool:
    """Whether one is the transposed of the other, by what `lengthwise` says of both."""
    if len(answer) != len(expected) or answer[:2] != expected[1::-1]:
        return False
    return projections_agree(answer[2:], expected[2:], TOLERANCE)


@cuda.jit  # type: ignore[untyped-decorator] # Numba ships no types
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
    name=f"{__name__}:TRANSPOSE", workload=f"{WORKLOADS}:TRANSPOSE", reference=copied, agree=crosswise
)
"""`transpose_tiled` against a copy of the same bytes; sizes `rows`, `columns`, which must differ."""

MATMUL = Comparison(name=f"{__name__}:MATMUL", workload=f"{WORKLOADS}:MATMUL", reference=naive_matmul)
"""`matmul_tiled` against the kernel without shared memory; sizes `rows`, `inner`, `columns`."""
