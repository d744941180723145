"""What chapter 02's kernels are timed against on a GPU; see `gpulab.contest`."""

from __future__ import annotations

import math
from typing import Any

from numba import cuda, float32

from gpulab.contest import Contest, in_parts, projections_agree
from gpulab.device import device_array, empty, has_gpu

MATMUL_BLOCK = (16, 16)
TOLERANCE = 1e-4
"""Of a projection, in norms: moved elements keep their value, only the projection itself is rounded."""


def _random(shape: tuple[int, ...], seed: int) -> Any:
    """Device array of float32 in [-0.5, 0.5); moving zeros would be quicker than moving data.

    Around zero: of factors that are all positive, 16-bit units give a product that is right to 1 part in 20 000.
    """
    import torch

    where = "cuda" if has_gpu() else "cpu"
    numbers = torch.rand(shape, generator=torch.Generator(device=where).manual_seed(seed), device=where) - 0.5
    return numbers if has_gpu() else device_array(numbers)


def _matrix(seed: int, rows: int, columns: int) -> tuple[Any]:
    """One matrix."""
    return (_random((rows, columns), seed),)


def _factors(seed: int, rows: int, inner: int, columns: int) -> tuple[Any, Any]:
    """Two matrices that can be multiplied."""
    return _random((rows, inner), seed), _random((inner, columns), seed ^ 1)


def copied(matrix: Any) -> Any:
    """A copy of the matrix: every byte read and written once, nothing moved to another place."""
    import torch

    return torch.as_tensor(matrix).clone()


def lengthwise(output: Any, seed: int) -> list[float]:
    """Extents, norm and parts of uᵀ·output·v, by the longer side: the same for a matrix and its transposed one.

    Args:
        output: matrix on the device; extents that are equal would not tell which way it lies.
        seed: of u and v.

    Returns:
        NaN alone for a mere view in other strides, which moves nothing.
    """
    import torch

    matrix = torch.as_tensor(output, device="cuda" if has_gpu() else "cpu")
    if not matrix.is_contiguous():
        return [math.nan]
    rows, columns = matrix.shape
    tall = matrix if rows > columns else matrix.T
    return [float(rows), float(columns), float(torch.linalg.vector_norm(matrix)), *_projected(tall, seed)]


def crosswise(answer: list[float], expected: list[float]) -> bool:
    """Whether one is the transposed of the other, by what `lengthwise` says of both."""
    if len(answer) != len(expected) or answer[:2] != expected[1::-1]:
        return False
    return projections_agree(answer[2:], expected[2:], TOLERANCE)


def bilinear(output: Any, seed: int) -> list[float]:
    """Extents, norm and parts of uᵀ·output·v for random u and v: needs every element, and no copy of a transposed view.

    Args:
        output: matrix on the device.
        seed: of u and v.
    """
    import torch

    matrix = torch.as_tensor(output, device="cuda" if has_gpu() else "cpu")
    rows, columns = matrix.shape
    return [float(rows), float(columns), float(torch.linalg.vector_norm(matrix)), *_projected(matrix, seed)]


def _projected(matrix: Any, seed: int) -> list[float]:
    """uᵀ·matrix·v, in parts by rows."""
    import torch

    generator = torch.Generator(device=matrix.device).manual_seed(seed)
    u, v = (torch.randn(extent, generator=generator, device=matrix.device) for extent in matrix.shape)
    return list(map(float, in_parts(u * (matrix @ v))))


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


TRANSPOSE = Contest(inputs=_matrix, reference=copied, probe=lengthwise, agree=crosswise)
"""`transpose_tiled` against a copy of the same bytes; sizes `rows`, `columns`, which must differ."""

MATMUL = Contest(inputs=_factors, reference=naive_matmul, probe=bilinear)
"""`matmul_tiled` against the kernel without shared memory; sizes `rows`, `inner`, `columns`."""
