"""Six kernels whose memory traffic is known by hand, to hold the tracer's counts against a profiler's.

Run as a program, launches each of them once on the GPU: what Nsight Compute is given to look at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, float32

import gpulab.numpy_names  # noqa: F401 # a GPU's own image may have a newer NumPy than ours

TILE = 32
PADDED = TILE + 1


@cuda.jit  # type: ignore[untyped-decorator] # Numba ships no types
def prove_copy(x: Any, out: Any) -> None:
    """4 sectors per request, both ways."""
    row, column = cuda.blockIdx.y * TILE + cuda.threadIdx.y, cuda.blockIdx.x * TILE + cuda.threadIdx.x
    out[row, column] = x[row, column]


@cuda.jit  # type: ignore[untyped-decorator]
def prove_stride2(x: Any, out: Any) -> None:
    """Reads every second element of the row: 8 sectors per request."""
    row, column = cuda.blockIdx.y * TILE + cuda.threadIdx.y, cuda.blockIdx.x * TILE + cuda.threadIdx.x
    out[row, column] = x[row, (2 * column) % x.shape[1]]


@cuda.jit  # type: ignore[untyped-decorator]
def prove_transpose_naive(x: Any, out: Any) -> None:
    """Reads along rows, writes along columns: 4 and 32 sectors per request."""
    row, column = cuda.blockIdx.y * TILE + cuda.threadIdx.y, cuda.blockIdx.x * TILE + cuda.threadIdx.x
    out[column, row] = x[row, column]


@cuda.jit  # type: ignore[untyped-decorator]
def prove_transpose_tile(x: Any, out: Any) -> None:
    """Through shared memory without padding: 4 sectors both ways, and 32 lanes on one bank."""
    tile = cuda.shared.array((TILE, TILE), float32)
    row, column = cuda.blockIdx.y * TILE + cuda.threadIdx.y, cuda.blockIdx.x * TILE + cuda.threadIdx.x
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[row, column]
    cuda.syncthreads()
    row, column = cuda.blockIdx.x * TILE + cuda.threadIdx.y, cuda.blockIdx.y * TILE + cuda.threadIdx.x
    out[row, column] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


@cuda.jit  # type: ignore[untyped-decorator]
def prove_transpose_padded(x: Any, out: Any) -> None:
    """The same with a column more: no conflict."""
    tile = cuda.shared.array((TILE, PADDED), float32)
    row, column = cuda.blockIdx.y * TILE + cuda.threadIdx.y, cuda.blockIdx.x * TILE + cuda.threadIdx.x
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[row, column]
    cuda.syncthreads()
    row, column = cuda.blockIdx.x * TILE + cuda.threadIdx.y, cuda.blockIdx.y * TILE + cuda.threadIdx.x
    out[row, column] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


@cuda.jit  # type: ignore[untyped-decorator]
def prove_tree_sum(x: Any, out: Any) -> None:
    """A tree reduction of each row's 32 elements through shared memory, one write per row."""
    parts = cuda.shared.array((TILE, TILE), float32)
    y, lane = cuda.threadIdx.y, cuda.threadIdx.x
    parts[y, lane] = x[cuda.blockIdx.y * TILE + y, cuda.blockIdx.x * TILE + lane]
    cuda.syncthreads()
    step = TILE // 2
    while step > 0:
        if lane < step:
            parts[y, lane] += parts[y, lane + step]
        cuda.syncthreads()
        step //= 2
    if lane == 0:
        out[cuda.blockIdx.x, cuda.blockIdx.y * TILE + y] = parts[y, 0]


KERNELS = (
    prove_copy,
    prove_stride2,
    prove_transpose_naive,
    prove_transpose_tile,
    prove_transpose_padded,
    prove_tree_sum,
)


def arguments(side: int) -> tuple[Any, Any]:
    """A square matrix of random numbers and one for the result; `side` is a multiple of 32."""
    return np.random.default_rng(7).random((side, side), np.float32), np.zeros((side, side), np.float32)


def launch(side: int = 1024) -> None:
    """Every kernel once, on the GPU."""
    x, out = (cuda.to_device(array) for array in arguments(side))
    for kernel in KERNELS:
        kernel[(side // TILE, side // TILE), (TILE, TILE)](x, out)
    cuda.synchronize()


if __name__ == "__main__":
    launch()
