"""What the first half of the architecture chapter measures and models: additions, pipelines, a warp scheduler,
divergence.

Drawing is `architecture.pictures`, races of processes and threads are `architecture.workers`. Answers to the exercises
are not here: where a model needs one, it is the student's own function, passed in.
"""

from __future__ import annotations

import math
import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from gpulab.chapters.architecture.workers import cores
from gpulab.measuring.devices import device_name, has_gpu
from gpulab.measuring.timing import Timing, measure

WARP = 32
CHEAP, DEAR = 0, 1
CYCLES = {CHEAP: 10, DEAR: 90}
"""The two branches of the divergence experiment, in cycles of the model."""
EXPENSIVE_THREADS = 32
THREADS = 1024


@dataclass(frozen=True)
class Addition:
    """What one addition costs when many of them are done in a certain way."""

    way: str
    median_ns: float
    spread_ns: float
    runs: int
    device: str


@dataclass(frozen=True)
class Scene:
    """How long a scene takes on separate vertex and pixel units, and on as many units that can do both."""

    name: str
    vertex_work: float
    pixel_work: float
    separate_ms: float
    unified_ms: float
    busy: float
    """Share of the separate units' time that is spent working."""


@dataclass(frozen=True)
class Divergence:
    """Cost of 1024 threads, 32 of them on the expensive branch, by the number of warps that share these 32."""

    warps_touched: tuple[int, ...]
    model_cycles: tuple[int, ...]
    """By the student's own `divergent_cycles`."""
    timings: tuple[Timing, ...]
    """The same on a GPU, as many copies as fill it; empty without one."""
    note: str
    """Why there are no timings; empty where there are."""

    @property
    def scattered_over_gathered(self) -> float:
        """Last entry over first: measured where a kernel ran, else the model's."""
        if self.timings:
            return self.timings[-1].median_ms / self.timings[0].median_ms
        return self.model_cycles[-1] / self.model_cycles[0]


def this_machine() -> None:
    """Prints what this notebook runs on: the processor, Python and its lock, and the GPU if there is one."""
    switched_on = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"CPU      {device_name('cpu')}, {cores()} of {os.cpu_count()} cores for this process")
    print(f"Python   {platform.python_version()}, global interpreter lock {'on' if switched_on else 'off'}")
    if not has_gpu():
        print("GPU      none here: every exercise works, and points that only a GPU can give stay pending")
        return
    import torch

    of_gpu = torch.cuda.get_device_properties(0)
    resident = of_gpu.multi_processor_count * of_gpu.max_threads_per_multi_processor
    capability = f"compute capability {of_gpu.major}.{of_gpu.minor}"
    print(f"GPU      {of_gpu.name}, {of_gpu.total_memory / 1e9:.0f} GB, {capability}")
    print(f"         {of_gpu.multi_processor_count} SMs, {resident:,} threads resident at once")


def additions(count: int = 65_536, runs: int = 15, rounds: int = 3) -> list[Addition]:
    """Times float32 additions on one CPU core: in a Python loop, each waiting for the one before, and independent ones.

    Then independent ones of integers of 64 to 8 bits in arrays of the same size in bytes. All arrays stay in the core's
    own caches (256 KiB each).

    Args:
        count: float32 elements of an array; the others have as many bytes.
        runs: of which the median is taken.
        rounds: of which the least disturbed one is kept for each way, that with the smallest median.
    """
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        ways = _ways(count)
        found = [
            {way: _one_way(way, function, elements, runs) for way, (elements, function) in ways.items()}
            for _ in range(rounds)
        ]
    finally:
        torch.set_num_threads(before)
    return [min((one[way] for one in found), key=lambda row: row.median_ns) for way in ways]


def _ways(count: int) -> dict[str, tuple[int, Callable[[], object]]]:
    """Way → how many additions one call makes, and the call."""
    import numpy
    import torch

    numbers = torch.rand(count, generator=torch.Generator().manual_seed(7))
    others, result = numbers.clone(), torch.empty_like(numbers)
    boxed = numbers.tolist()
    ways: dict[str, tuple[int, Callable[[], object]]] = {
        "Python loop": (count, lambda: _loop(boxed)),
        "each waits for the last": (count, lambda: torch.cumsum(numbers, 0, out=result)),
        "none waits": (count, lambda: torch.add(numbers, others, out=result)),
    }
    for bits in (64, 32, 16, 8):  # NumPy: torch's add multiplies by a factor as well, which is slow in 64 bits
        whole = numpy.ones(count * 32 // bits, f"int{bits}")
        ways[f"int{bits}"] = (whole.size, partial(numpy.add, whole, whole, out=whole.copy()))
    return ways


def _loop(numbers: list[float]) -> float:
    total = 0.0
    for number in numbers:
        total += number
    return total


def _one_way(way: str, function: Callable[[], object], count: int, runs: int) -> Addition:
    timing = measure(function, runs=runs, on="cpu")
    return Addition(way, timing.median_ms * 1e6 / count, timing.spread_ms * 1e6 / count, timing.runs, timing.device)


def scenes(vertex_units: int = 8, pixel_units: int = 24, work: float = 320.0) -> list[Scene]:
    """A model of three scenes with the same work in all: how long on separate units, how long on unified ones.

    Args:
        vertex_units: units that can only transform corners; 8 and 24 are a GeForce 7900 GTX of 2006.
        pixel_units: units that can only colour pixels.
        work: of one scene, in unit-milliseconds.
    """
    rows = []
    for name, share in (("a bare wall", 0.05), ("a street", 0.25), ("a field of grass", 0.7)):
        vertex, pixel = work * share, work * (1 - share)
        separate = max(vertex / vertex_units, pixel / pixel_units)
        units = vertex_units + pixel_units
        rows.append(Scene(name, vertex, pixel, separate, work / units, work / (separate * units)))
    return rows


def schedule(warps: int, wait_cycles: int, horizon: int) -> list[list[str]]:
    """A model of one warp scheduler: each warp issues an instruction, then waits for its result.

    Every cycle the scheduler issues for one warp that is ready, the one that has been so for longest.

    Returns:
        For each warp one word a cycle: `"issue"`, `"wait"` or `"ready"` (it could have, but it was another's turn).
    """
    ready_at = [0] * warps
    rows: list[list[str]] = [[] for _ in range(warps)]
    for cycle in range(horizon):
        able = [warp for warp in range(warps) if ready_at[warp] <= cycle]
        chosen = min(able, key=lambda warp: (ready_at[warp], warp), default=None)
        for warp in range(warps):
            rows[warp].append("issue" if warp == chosen else "ready" if warp in able else "wait")
        if chosen is not None:
            ready_at[chosen] = cycle + 1 + wait_cycles
    return rows


def layout(warps_touched: int) -> list[int]:
    """The branch of each of 1024 threads, the 32 expensive ones spread evenly over this many warps (1, 2, 4 … 32)."""
    in_each = EXPENSIVE_THREADS // warps_touched
    return [DEAR if thread // WARP < warps_touched and thread % WARP < in_each else CHEAP for thread in range(THREADS)]


def divergence_sweep(
    divergent_cycles: Callable[[list[int], dict[int, int]], int], warps_touched: Sequence[int] = (1, 2, 4, 8, 16, 32)
) -> Divergence:
    """What 32 expensive threads among 1024 cost, by how many warps they sit in.

    Args:
        divergent_cycles: the student's own; it gives the model's cycles.
        warps_touched: how many of the 32 warps hold expensive threads; divisors of 32.
    """
    cycles = tuple(int(divergent_cycles(layout(touched), dict(CYCLES))) for touched in warps_touched)
    if not has_gpu():
        return Divergence(tuple(warps_touched), cycles, (), "no GPU here")
    try:
        from gpulab.chapters.architecture.kernel import diverge
    except ImportError as error:
        return Divergence(tuple(warps_touched), cycles, (), f"no kernel ran, {error.name} is not installed")
    timings = tuple(_timed_on_gpu(diverge, touched) for touched in warps_touched)
    return Divergence(tuple(warps_touched), cycles, timings, "")


def _timed_on_gpu(kernel: Any, warps_touched: int) -> Timing:
    import torch

    block = 64
    # Two warps a block: a slow warp keeps only one other's place on the SM. About 50 full loads of the whole GPU.
    of_gpu = torch.cuda.get_device_properties(0)
    resident = of_gpu.multi_processor_count * of_gpu.max_threads_per_multi_processor
    threads = math.ceil(50 * resident / THREADS) * THREADS
    result = torch.zeros(threads, device="cuda")
    in_each = EXPENSIVE_THREADS // warps_touched

    def launch() -> None:
        kernel[threads // block, block](result, warps_touched, in_each, 20)

    return measure(launch, on="cuda")
