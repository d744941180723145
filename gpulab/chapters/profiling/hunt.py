"""The bottleneck hunt of the profiling chapter: one training step with five planted faults, to be fixed one at a time.

On a GPU every look is a real step, profiled. Without one it is a simulation that says so; what two of the faults cost
can be measured on a CPU, too. The step itself is `profiling.workload`'s, drawing that of `profiling.timelines`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from gpulab.chapters.profiling.orders import orders
from gpulab.chapters.profiling.traces import Event, simulate, trace_events, window
from gpulab.measuring.devices import device_name, has_gpu
from gpulab.measuring.timing import Timing, measure

FAULTS = ("input", "float32", "pageable copy", "needless sync", "tiny kernels")
"""In the order in which the story finds them."""

ON_A_CPU = ("input", "tiny kernels")
"""Those whose cost any machine can measure: the others are about a second device."""

SIMULATED = "Simulated, not measured: there is no GPU here"
DEVICE = "cuda"
STEPS = 9
ROWS, WIDTH, LAYERS = 4096, 2048, 12
"""Of the step on a GPU, and of the simulated one."""


@dataclass(frozen=True)
class Look:
    """What one look at a step shows."""

    faults: tuple[str, ...]
    events: list[Event]
    summary: dict[str, float]
    """As `bottleneck` takes it."""
    source: str
    """Where it is from, for the line under a figure."""

    @property
    def step_ms(self) -> float:
        """From the first event to the end of the last."""
        return self.summary["step_ms"]


def look(faults: Collection[str]) -> Look:
    """A step with these of the faults in it: profiled on the GPU, or simulated where there is none.

    Raises:
        ValueError: there is no such fault.
    """
    chosen = _chosen(faults)
    if not has_gpu():
        events = simulate(orders(frozenset(chosen), LAYERS))
        return Look(chosen, events, _summary(events, chosen), SIMULATED)
    events = _profiled(chosen)
    return Look(chosen, events, _summary(events, chosen), f"One profiled step on {device_name()}")


def _chosen(faults: Collection[str]) -> tuple[str, ...]:
    """The faults in the story's order, if there are such."""
    unknown = sorted(set(faults) - set(FAULTS))
    if unknown:
        raise ValueError(f"no fault {unknown[0]!r}. There are: {', '.join(FAULTS)}.")
    return tuple(one for one in FAULTS if one in faults)


def took(faults: Collection[str]) -> float | Timing:
    """What a step with these of the faults takes: measured on the GPU, without a profiler, or simulated; ms.

    Each step is waited for, as a training does that prints its loss.
    """
    if not has_gpu():
        return look(faults).step_ms
    import torch

    from gpulab.chapters.profiling.workload import Workload

    work = Workload(_chosen(faults), DEVICE, ROWS, WIDTH, LAYERS)

    def step() -> None:
        work.step()
        torch.cuda.synchronize()

    return replace(measure(step, runs=STEPS, on="cpu", at_most_s=5.0), device=device_name())


def how_timed() -> str:
    """Where the times of `took` are from, for the line under a figure."""
    return f"Measured on {device_name()} without the profiler, {STEPS} steps each" if has_gpu() else SIMULATED


def fixed(faults: Collection[str] = FAULTS) -> dict[str, float | Timing]:
    """What a step takes with all of these faults, and after fixing each in turn; as `took` has it."""
    left = [one for one in FAULTS if one in faults]
    steps = {"all faults": took(left)}
    while left:
        fault = left.pop(0)
        steps[f"− {fault}"] = took(left)
    return steps


def milliseconds(step: float | Timing) -> float:
    """Of what `took` gives, the number."""
    return step.median_ms if isinstance(step, Timing) else step


def on_this_cpu(rounds: int = 25) -> dict[str, Timing]:
    """What a small version of the step takes on this CPU, with the faults that a CPU can have, and without.

    The versions take turns, so that a slow moment of the machine hits all of them.
    """
    import torch

    from gpulab.chapters.profiling.workload import Workload

    names = ("both faults", *(f"− {one}" for one in ON_A_CPU))
    works = [Workload(ON_A_CPU[fixed:], "cpu", rows=8192, width=64, layers=1) for fixed in range(len(names))]
    samples: list[list[float]] = [[] for _ in works]
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)  # several, and a busy machine: they would wait for each other
        for turn in range(rounds + 2):
            for work, taken in zip(works, samples, strict=True):
                started = time.perf_counter()
                work.step()
                if turn >= 2:  # the first are warm-up
                    taken.append(1e3 * (time.perf_counter() - started))
    finally:
        torch.set_num_threads(threads)
    found = {}
    for name, taken in zip(names, samples, strict=True):
        low, middle, high = statistics.quantiles(taken, n=4)
        found[name] = Timing(middle, (high - low) / 2, rounds, device_name("cpu"))
    return found


def _profiled(faults: tuple[str, ...]) -> list[Event]:
    """A warm step on the GPU, to its end."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    from gpulab.chapters.profiling.workload import Workload

    work = Workload(faults, DEVICE, ROWS, WIDTH, LAYERS)
    for _ in range(3):
        work.step()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        work.step()
        torch.cuda.synchronize()
    # The profiler's own frame is longer than the step: it would count as idle.
    return [event for event in trace_events(profiler) if event.get("cat") not in ("Trace", "overhead")]


def _summary(events: list[Event], faults: tuple[str, ...]) -> dict[str, float]:
    """The pieces of a step that `bottleneck` wants, ms, with the work of its products and the GPU's ceilings."""
    first, last = window(events)
    timed = [event for event in events if event["ph"] == "X"]
    # Only the CPU's mark, with the copy that it waits for: the GPU has one of the same name, in another category.
    loading = sum(one["dur"] for one in timed if one["name"] == "batch" and one["cat"] == "user_annotation")
    busy = sum(one["dur"] for one in timed if one["cat"] == "kernel")  # of one stream: no two run at once
    gpu = _datasheet()
    kind, size = ("float32", 4) if "float32" in faults else ("bfloat16", 2)
    return {
        "step_ms": (last - first) / 1e3,
        "input_ms": loading / 1e3,
        "communication_ms": 0.0,
        "kernel_ms": busy / 1e3,
        "flops": 3 * LAYERS * 2.0 * ROWS * WIDTH**2,
        "nbytes": 3.0 * LAYERS * size * (2 * ROWS * WIDTH + WIDTH**2),
        "peak_tflops": gpu[f"{kind}_tflops"] or gpu["float32_tflops"],
        "bandwidth_gbs": gpu["bandwidth_gbs"],
    }


def _datasheet() -> dict[str, Any]:
    """The row of this GPU in `data/gpus.csv`; an H200's where there is no GPU, or an unknown one."""
    from gpulab.tables import gpu_row, table

    words = set(device_name().replace("-", " ").replace("80GB", " 80GB ").split())
    known = [row for row in table("gpus") if set(str(row["gpu"]).split()) <= words]
    return dict(known[-1]) if known else gpu_row("H200")
