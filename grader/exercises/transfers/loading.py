"""`loader_settings` and the GPU: a DataLoader that feeds steps on the device, and what pinned memory does to a copy."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from gpulab import check
from grader.exercises.confront import Unusable

ReadingValues = dict[str, Any]

SAMPLE_S = 0.004
BATCH = 8
STEPS_PER_BATCH = 2.5
"""A batch's work over the step: 2.5 workers are needed, so 3."""
MOST_WORKERS = 4
BATCHES = 24
KEEPS_UP = 1.12
"""From step to step, over the step itself, up to which the loader keeps up; with one worker too few it is 1.25."""
CORES = 16
SLOW_CYCLES = 60_000_000
"""Of the kernel that a copy waits behind: 30 ms at 2 GHz."""


class Samples:
    """A data set whose samples take their time, and no core's."""

    def __len__(self) -> int:
        return BATCH * BATCHES

    def __getitem__(self, index: int) -> Any:
        import torch

        time.sleep(SAMPLE_S)
        return torch.full((1000,), float(index))


def step_to_step_ms(workers: int, pinned: bool, step: Callable[[Any], Any]) -> float:
    """The mean time from one step to the next, of the later half of an epoch."""
    from torch.utils.data import DataLoader

    stamps = []
    for batch in DataLoader(Samples(), BATCH, num_workers=workers, pin_memory=pinned):  # type: ignore[arg-type]
        step(batch)
        stamps.append(time.perf_counter())
    later = stamps[BATCHES // 2 :]
    return 1e3 * (later[-1] - later[0]) / (len(later) - 1)


def sample_ms() -> float:
    """What one sample takes."""
    samples = Samples()
    samples[0]  # imports torch
    start = time.perf_counter()
    for index in range(20):
        samples[index]
    return 1e3 * (time.perf_counter() - start) / 20


def take() -> ReadingValues:
    """From step to step with one to four workers, each step on the device; and what pinning does to a copy's line."""
    import torch

    from grader.exercises.on_gpu import median_ms

    cycles_per_ms = 5_000_000 / median_ms(lambda: torch.cuda._sleep(5_000_000))  # type: ignore[no-untyped-call]
    sample = sample_ms()
    cycles = int(sample * BATCH / STEPS_PER_BATCH * cycles_per_ms)

    def step(batch: torch.Tensor) -> None:
        batch.to("cuda", non_blocking=True)
        torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]
        torch.cuda.synchronize()

    def line_ms(host: torch.Tensor) -> float:
        torch.cuda.synchronize()
        torch.cuda._sleep(SLOW_CYCLES)  # type: ignore[no-untyped-call]
        start = time.perf_counter()
        host.to("cuda", non_blocking=True)
        taken = 1e3 * (time.perf_counter() - start)
        torch.cuda.synchronize()
        return taken

    batch, steps = torch.zeros(BATCH, 1000, pin_memory=True), []
    for _ in range(10):
        start = time.perf_counter()
        step(batch)
        steps.append(1e3 * (time.perf_counter() - start))
    large = torch.zeros(1 << 24)
    hosts = {"pageable": large, "pinned": large.pin_memory()}
    lines = {name: min(line_ms(host) for _ in range(3)) for name, host in hosts.items()}
    taken = {str(workers): step_to_step_ms(workers, True, step) for workers in range(1, MOST_WORKERS + 1)}
    alone = {"sample_ms": sample, "batch_size": BATCH, "step_ms": statistics.median(steps)}
    return alone | {"step_to_step_ms": taken, "line_ms": lines}


def check_answer(answer: Any, readings: ReadingValues) -> None:
    """Passes if the answer is the number of workers that kept up here, and pins.

    Raises:
        WrongAnswer: it does not.
        Unusable: the times do not tell how many workers suffice, or a pinned copy waited.
    """
    step, taken, lines = readings["step_ms"], readings["step_to_step_ms"], readings["line_ms"]
    enough = [int(workers) for workers, ms in taken.items() if ms <= KEEPS_UP * step]
    needed = min(enough, default=0)
    if needed < 2 or taken[str(needed - 1)] < (KEEPS_UP + 0.03) * step:
        raise Unusable(f"steps of {step:.3g} ms in {taken}: nothing tells how many workers suffice")
    if lines["pinned"] > lines["pageable"] / 2:
        raise Unusable(f"a pinned copy's line took {lines['pinned']:.3g} ms, a pageable one's {lines['pageable']:.3g}")
    given = readings["sample_ms"], readings["batch_size"], step, CORES
    found = check.as_python(answer(*given))
    how = f"{given[0]:.3g} ms per sample, batches of {given[1]}, steps of {step:.3g} ms on this GPU"
    fewer = " and ".join(f"{taken[str(workers)]:.3g} ms with {workers}" for workers in (needed - 1, needed))
    check.equal(found["num_workers"], needed, f"num_workers, {how}; {fewer}")
    waits = f"a copy's line took {lines['pinned']:.3g} ms from pinned memory, {lines['pageable']:.3g} ms from pageable"
    check.equal(found["pin_memory"], True, f"pin_memory; behind a kernel of this GPU, {waits}")
