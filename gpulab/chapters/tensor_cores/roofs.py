"""Measures one linear layer at growing batches, under the roofs of the machine that it runs on.

The picture is `tensor_cores.roofs_pictures`. Which products are compute-bound is the student's business: their
`is_compute_bound` is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from gpulab.chapters.tensor_cores.clock import in_turns
from gpulab.measuring import machine
from gpulab.measuring.devices import device, device_name, has_gpu
from gpulab.measuring.once import once
from gpulab.measuring.timing import measure, one_thread
from gpulab.tables import gpu_row

WIDTHS = {"cuda": 8192, "cpu": 4096}
"""in_features = out_features: weights of 128 MiB and of 64 MiB, more than a cache near the units holds."""

BATCHES = {"cuda": (1, 8, 32, 128, 256, 512, 2048), "cpu": (1, 2, 4, 16, 64)}
CPU_MATRIX = 1024
ROUNDS = 2
"""How often each batch has its turn."""
READ_BYTES = {"cuda": 1 << 30, "cpu": 1 << 27}
TYPES = ("float32", "tfloat32", "bfloat16", "float8")
ELEMENT_BYTES = {"float32": 4, "tfloat32": 4, "bfloat16": 2, "float16": 2, "float8": 1}


@dataclass(frozen=True)
class Dot:
    """A product of one layer with one batch."""

    batch: int
    intensity: float
    """FLOP/byte, each matrix moved once."""
    tflops: float
    compute_bound: bool
    """By the student's function."""


@dataclass(frozen=True)
class Roofs:
    """What a machine can do at best, and what one layer gets out of it."""

    name: str
    """Whose figures: `measured on …`, `recorded on …` or `datasheet of …`."""
    bandwidth_gbs: float
    peaks: dict[str, float]
    """Type → TFLOPS."""
    dtype: str
    """Of the layer."""
    width: int
    dots: tuple[Dot, ...]


Judge = Callable[[int, int, int, dict[str, Any], str], bool]
"""The student's `is_compute_bound(m, n, k, gpu, dtype)`."""


def intensity(batch: int, width: int, dtype: str) -> float:
    """FLOP/byte of (batch × width) · (width × width), each matrix moved once; 2 FLOP for each multiply-add."""
    return 2 * batch * width * width / (ELEMENT_BYTES[dtype] * (2 * batch * width + width * width))


def promised(is_compute_bound: Judge, batches: Sequence[int] = (1, 16, 128, 256, 2048)) -> Roofs:
    """The roofs of a recorded GPU, else of an H200 by its datasheet; a layer of 8192 × 8192 lies on them."""
    row = dict(gpu_row("H200"))
    peaks = {name: float(row[f"{name}_tflops"]) for name in TYPES}
    name, bandwidth = "datasheet of the H200", float(row["bandwidth_gbs"])
    recording = machine.recorded_gpu()
    if recording is not None:
        name, bandwidth = f"recorded on {recording.device}, {recording.date}", recording.copy_gbs
        rates_of = recording.matmul_gflops
        kinds = TYPES if "bfloat16" in rates_of else (*TYPES, "float16")  # Volta and Turing have no bfloat16
        peaks = {kind: rates_of[kind] / 1e3 for kind in kinds if kind in rates_of}
    dtype = next(kind for kind in ("bfloat16", "float16", "float32") if kind in peaks)
    rates = {batch: min(peaks[dtype], intensity(batch, 8192, dtype) * bandwidth / 1e3) for batch in batches}
    return _roofs(name, bandwidth, peaks, dtype, 8192, rates, is_compute_bound)


@dataclass(frozen=True)
class _Rates:
    """What `measured` found."""

    name: str
    bandwidth_gbs: float
    peaks: dict[str, float]
    """Type → TFLOPS."""
    dtype: str
    width: int
    by_batch: dict[int, float]
    """Batch → TFLOPS of the layer."""


def measured(is_compute_bound: Judge) -> Roofs:
    """This machine's roofs, and the rates of one layer at growing batches: bfloat16 on a GPU, float32 on a CPU core.

    Args:
        is_compute_bound: the student's.
    """
    found = _measured()
    return _roofs(
        found.name, found.bandwidth_gbs, found.peaks, found.dtype, found.width, found.by_batch, is_compute_bound
    )


@once
def _measured() -> _Rates:
    import torch

    where = device()
    width, batches = WIDTHS[where.type], BATCHES[where.type]
    generator = torch.Generator(device=where).manual_seed(7)
    # Volta and Turing have tensor cores, but no bfloat16 on them.
    kind = "float32" if not has_gpu() else "bfloat16" if torch.cuda.get_device_capability() >= (8, 0) else "float16"
    dtype = getattr(torch, kind)
    weight = torch.randn(width, width, device=where, generator=generator).to(dtype)
    inputs = {batch: torch.randn(batch, width, device=where, generator=generator).to(dtype) for batch in batches}
    timings = in_turns({batch: partial(torch.nn.functional.linear, x, weight) for batch, x in inputs.items()}, ROUNDS)
    rates = {batch: 2e-9 * batch * width**2 / timing.median_ms for batch, timing in timings.items()}
    nbytes = READ_BYTES[where.type]
    source = torch.ones(nbytes // 4, device=where)
    with nullcontext() if has_gpu() else one_thread():
        if has_gpu():
            ceilings = machine.ceilings().matmul_gflops
            peaks = {name: ceilings[name] / 1e3 for name in ("float32", "tfloat32", kind) if name in ceilings}
        else:
            pair = (torch.randn(CPU_MATRIX, CPU_MATRIX, generator=generator) for _ in range(2))
            multiplying = measure(torch.mm, *pair, runs=9, on="cpu", at_most_s=1.0)
            peaks = {"float32": 2 * CPU_MATRIX**3 / (multiplying.median_ms * 1e9)}
        # By a sum or a copy, whichever is faster: a thin product hardly writes.
        summing = measure(torch.sum, source, runs=7, on=where.type, at_most_s=0.3)
        copying = measure(torch.empty_like(source).copy_, source, runs=7, on=where.type, at_most_s=0.3)
    bandwidth = max(nbytes / summing.median_ms, 2 * nbytes / copying.median_ms) / 1e6
    # A roof is the best that anybody has seen: what the layer itself reached belongs to it.
    peaks[kind] = max(peaks[kind], *rates.values())
    bandwidth = max(bandwidth, 1e3 * rates[1] / intensity(1, width, kind))
    cores = "" if has_gpu() else ", one core"
    return _Rates(f"measured on {device_name()}{cores}", bandwidth, peaks, kind, width, rates)


def _roofs(
    name: str,
    bandwidth: float,
    peaks: dict[str, float],
    dtype: str,
    width: int,
    rates: dict[int, float],
    is_compute_bound: Judge,
) -> Roofs:
    gpu: dict[str, Any] = {"gpu": name, "bandwidth_gbs": bandwidth}
    for kind, peak in peaks.items():
        gpu |= {f"{kind}_tflops": peak, f"{kind}_sparse_tflops": None}
    dots = tuple(
        Dot(batch, intensity(batch, width, dtype), rate, bool(is_compute_bound(batch, width, width, dict(gpu), dtype)))
        for batch, rate in rates.items()
    )
    return Roofs(name, bandwidth, peaks, dtype, width, dots)
