"""What the kernels of the CUDA chapters are given when they are timed on a GPU, and how their outputs are projected.

See `gpulab.measuring.speedup`. What they are compared with is not in this package.
"""

from __future__ import annotations

import math
from typing import Any

from gpulab.arrays import device_array
from gpulab.measuring.devices import has_gpu
from gpulab.measuring.speedup import Workload, in_parts


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


def moved(output: Any, seed: int) -> list[float]:
    """`bilinear`; NaN alone for a mere view in other strides, which moves nothing.

    Args:
        output: matrix on the device.
        seed: of the random vectors.
    """
    import torch

    matrix = torch.as_tensor(output, device="cuda" if has_gpu() else "cpu")
    return bilinear(matrix, seed) if matrix.is_contiguous() else [math.nan]


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


TRANSPOSE = Workload(inputs=_matrix, project=moved)
"""One matrix; sizes `rows`, `columns`."""

MATMUL = Workload(inputs=_factors, project=bilinear)
"""Two factors; sizes `rows`, `inner`, `columns`."""
