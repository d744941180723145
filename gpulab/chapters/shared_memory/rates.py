"""How far the student's kernels of the CUDA chapter are from the roof: arithmetic intensity by count, speed on a GPU.

Bytes are the 32-byte sectors that the tracer counts. What the roofs are is the business of `gpulab.machine`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulab.arrays import device_array
from gpulab.chapters.shared_memory.optimization_steps import SECTOR_BYTES, Host, launches_of, sectors_of
from gpulab.measuring.devices import has_gpu
from gpulab.measuring.timing import measure


@dataclass(frozen=True)
class Program:
    """A kernel as a point under the roofline."""

    name: str
    intensity: float
    """FLOP for each byte that crosses to global memory, counted."""
    gbs: float | None
    """Those bytes per second, measured; None without a GPU."""


@dataclass(frozen=True)
class Job:
    """A host function with inputs to count on and inputs to time."""

    name: str
    function: Host
    shape: Any
    """Of the small inputs."""
    large_shape: Any
    inputs: Callable[[Any], Sequence[Any]]
    """Makes arguments of a shape."""
    flops: Callable[[Any], float]
    """Operations at a shape."""


def jobs(total: Host, transpose_tiled: Host, moving_average: Host, matmul_tiled: Host, radius: int = 3) -> list[Job]:
    """The student's functions of this half, each with small and large inputs.

    Moving an element counts as one operation for the transpose, which has no arithmetic of its own.
    """
    return [
        Job("transpose", transpose_tiled, (64, 96), (8192, 12288), _matrices, lambda s: s[0] * s[1]),
        Job("total", total, (4096,), (1 << 27,), _matrices, lambda s: s[0]),
        Job(
            "matmul, 16 × 16",
            matmul_tiled,
            (32, 64, 32),
            (2048, 2048, 2048),
            lambda s: (*_matrices(s[:2]), *_matrices(s[1:])),
            lambda s: 2.0 * s[0] * s[1] * s[2],
        ),
        Job(
            f"average, r = {radius}",
            moving_average,
            (1024,),
            (1 << 26,),
            lambda s: (*_matrices(s), radius),
            lambda s: (2.0 * radius + 1) * s[0],
        ),
    ]


def programs(found: Sequence[Job]) -> list[Program]:
    """Counts every job, and times it where there is a GPU."""
    return [_program(job) for job in found]


def _program(job: Job) -> Program:
    moved = SECTOR_BYTES * sectors_of(launches_of(job.function, *job.inputs(job.shape)))
    intensity = job.flops(job.shape) / moved
    if not has_gpu():
        return Program(job.name, intensity, None)
    timing = measure(job.function, *job.inputs(job.large_shape), runs=9, at_most_s=2.0)
    return Program(job.name, intensity, job.flops(job.large_shape) / intensity / (timing.median_ms * 1e6))


def _matrices(shape: Sequence[int]) -> tuple[Any]:
    return (device_array(np.random.default_rng(7).random(tuple(shape), np.float32)),)
