"""What chapter 02's kernels are timed against on a GPU; see `gpulab.contest`."""

from __future__ import annotations

from typing import Any

from numba import cuda, float32

from gpulab.contest import Contest
from gpulab.device import device_array, empty, has_gpu

MATMUL_BLOCK = (16, 16)


def _random(shape: tuple[int, ...], seed: int) -> Any:
    """Device array of float32 in [0, 1); moving zeros would be quicker than moving data."""
    import torch

    where = "cuda" if has_gpu() else "cpu"
    numbers = torch.rand(shape, generator=torch.Generator(device=where).manual_seed(seed), device=where)
    return numbers if has_gpu() else device_array(numbers)


def _matrix(seed: int, rows: int, columns: int) -> tuple[Any]:
    """One matrix."""
    return (_random((rows, columns), seed),)


def _factors(seed: int, rows: int, inner: int, columns: int) -> tuple[Any, Any]:
    """Two matrices that can be multiplied."""
    return _random((rows, inner), seed), _random((inner, columns), seed ^ 1)


def copied(matrix: Any) -> Any:
    """A copy of the matrix, every byte read and written once, seen from the other side."""
    import torch

    return torch.as_tensor(matrix).clone().T


def bilinear(output: Any, seed: int) -> list[float]:
    """Extents, norm and uᵀ·output·v for random u and v: needs every element, and no copy of a transposed view.

    Args:
        output: matrix on the device.
        seed: of u and v.
    """
    import torch

    matrix = torch.as_tensor(output, device="cuda" if has_gpu() else "cpu")
    rows, columns = matrix.shape
    generator = torch.Generator(device=matrix.device).manual_seed(seed)
    u = torch.randn(rows, generator=generator, device=matrix.device)
    v = torch.randn(columns, generator=generator, device=matrix.device)
    return [float(rows), float(columns), float(torch.linalg.norm(matrix)), float(u @ (matrix @ v))]


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


TRANSPOSE = Contest(inputs=_matrix, reference=copied, probe=bilinear)
"""`transpose_tiled` against a copy of the same bytes; sizes `rows`, `columns`."""

MATMUL = Contest(inputs=_factors, reference=naive_matmul, probe=bilinear)
"""`matmul_tiled` against the kernel without shared memory; sizes `rows`, `inner`, `columns`."""
