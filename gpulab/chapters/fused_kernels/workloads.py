"""What the chapter's kernels are given when they are timed on a GPU; see `gpulab.measuring.speedup`."""

from __future__ import annotations

from typing import Any

import torch

from gpulab.measuring.devices import device
from gpulab.measuring.speedup import Workload


def _normal(shape: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Random normal numbers on the device."""
    generator = torch.Generator(device=device()).manual_seed(seed)
    return torch.randn(shape, generator=generator, device=device()).to(dtype)


def _matrix(seed: int, rows: int, width: int) -> tuple[torch.Tensor]:
    return (_normal((rows, width), seed),)


def _normed(seed: int, rows: int, width: int) -> tuple[Any, ...]:
    return _normal((rows, width), seed, torch.float16), _normal((width,), seed ^ 1), _normal((width,), seed ^ 2), 1e-5


def _factors(seed: int, rows: int, inner: int, columns: int) -> tuple[torch.Tensor, ...]:
    a, b = _normal((rows, inner), seed, torch.float16), _normal((inner, columns), seed ^ 1, torch.float16)
    return a, b, _normal((columns,), seed ^ 2)


def _attention(seed: int, heads: int, length: int, width: int) -> tuple[torch.Tensor, ...]:
    return tuple(_normal((heads, length, width), seed ^ which) for which in range(3))


ROWS = Workload(inputs=_matrix)
"""A float32 matrix; sizes `rows`, `width`."""

NORMED = Workload(inputs=_normed)
"""float16 rows, float32 weight and bias, eps; sizes `rows`, `width`."""

FACTORS = Workload(inputs=_factors)
"""Two float16 factors and a float32 bias; sizes `rows`, `inner`, `columns`."""

HEADS = Workload(inputs=_attention)
"""Queries, keys and values in float32; sizes `heads`, `length`, `width`."""
