"""What the CUDA chapter compiles for its own experiments: a strided read for the GPU, an unguarded loop for the CPU.

`cuda_basics` decides what runs where, and times it.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, float32, njit

import gpulab.numpy_names  # noqa: F401 # before a kernel compiles


@cuda.jit  # type: ignore[untyped-decorator]
def read_strided(x: Any, out: Any, elements: int, stride: int) -> None:
    """Reads x[0], x[stride], x[2 · stride] …, neighboring threads next to each other in that series.

    Args:
        x: float32, none of them negative, `elements` · `stride` of them.
        out: one element; written only if the sum is negative, which it never is, and the compiler cannot know that.
        elements: how many are read.
        stride: in elements.
    """
    total = float32(0)
    for index in range(cuda.grid(1), elements, cuda.gridsize(1)):
        total += x[index * stride]
    if total < float32(0):
        out[0] = total


@njit(boundscheck=False)  # type: ignore[untyped-decorator]
def double_all(x: Any, threads: int) -> None:
    """Doubles x[0] to x[threads - 1], whether they belong to x or not; the caller sees to it that they are its own."""
    for i in range(threads):
        x[i] = 2 * x[i]
