"""The bottleneck hunt of chapter 07: one training step with five planted faults, to be mended one at a time.

On a GPU every look is a real step, profiled. Without one it is a simulation that says so; what two of the faults cost
can be measured on a CPU, too. The step itself is `profiling_workload`'s, drawing the business of `profiling_pictures`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from gpulab.chapters.profiling_traces import (
    Action,
    Copy,
    Event,
    Kernel,
    Prepare,
    Wait,
    kernel_spans,
    simulate,
    trace_events,
    window,
)
from gpulab.timing import Timing, measure

FAULTS = ("input", "float32", "pageable copy", "needless sync", "tiny kernels")
"""In the order in which the story finds them."""

ON_A_CPU = ("input", "tiny kernels")
"""Those whose cost any machine can measure: the others are about a second device."""

SIMULATED = "Simulated, not measured: there is no GPU here"
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
    unknown = sorted(set(faults) - set(FAULTS))
    if unknown:
        raise ValueError(f"no fault {unknown[0]!r}. There are: {', '.join(FAULTS)}.")
    chosen = tuple(one for one in FAULTS if one in faults)
    import torch

    if torch.cuda.is_available():
        from gpulab.device import device_name

        events = _profiled(chosen)
        return Look(chosen, events, _summary(events, chosen), f"One profiled step on {device_name()}")
    events = simulate(_actions(frozenset(chosen)))
    return Look(chosen, events, _summary(events, chosen), SIMULATED)


def mended(faults: Collection[str] = FAULTS) -> dict[str, float]:
    """What a step takes, ms, with all of these faults, and after mending each in turn."""
    left = [one for one in FAULTS if one in faults]
    steps = {"all faults": look(left).step_ms}
    while left:
        fault = left.pop(0)
        steps[f"− {fault}"] = look(left).step_ms
    return steps


def on_this_cpu(runs: int = 5) -> dict[str, Timing]:
    """What a small version of the step takes on this CPU, with the faults that a CPU can have, and without."""
    from gpulab.chapters.profiling_workload import Workload

    left, steps = list(ON_A_CPU), {}
    for name in ("both faults", *(f"− {one}" for one in ON_A_CPU)):
        small = Workload(left, "cpu", rows=8192, width=64, layers=1)
        steps[name] = measure(small.step, runs=runs, on="cpu", at_most_s=1.0)
        left = left[1:]
    return steps


def _profiled(faults: tuple[str, ...]) -> list[Event]:
    """A warm step on the GPU, to its end."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    from gpulab.chapters.profiling_workload import Workload

    work = Workload(faults, "cuda", ROWS, WIDTH, LAYERS)
    for _ in range(3):
        work.step()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        work.step()
        torch.cuda.synchronize()
    # The profiler's own frame is longer than the step: it would count as idle.
    return [event for event in trace_events(profiler) if event.get("cat") not in ("Trace", "overhead")]


PICTURES, TENSORS = 64, 2 * LAYERS


def _actions(faults: frozenset[str]) -> list[Action]:
    """The step as orders. Durations are round figures for an H200: a simulation needs no better ones."""
    product_us, point_us = (680.0, 16.0) if "float32" in faults else (48.0, 8.0)
    decode = [Prepare(30_000.0 if "input" in faults else 30.0, "batch")]
    copy = Copy(6_000.0 if "pageable copy" in faults else 160.0, pinned="pageable copy" not in faults)
    actions: list[Action] = [*decode, copy]
    if "tiny kernels" in faults:
        actions += [Kernel("convert", 3.0), Kernel("subtract", 3.0), Kernel("divide", 3.0)] * PICTURES
    else:
        actions += [Kernel("convert", 12.0), Kernel("subtract", 14.0), Kernel("divide", 14.0)]
    for times, name in ((1, "forward"), (2, "backward")):
        for _ in range(LAYERS):
            actions += [Kernel(f"gemm_{name}", product_us, "aten::mm")] * times
            actions.append(Kernel("elementwise", point_us, "aten::relu"))
            if "needless sync" in faults and name == "forward":
                actions += [
                    Kernel("isnan", point_us, "aten::isnan"),
                    Kernel("any", 12.0, "aten::any"),
                    Wait(),
                    Prepare(40.0, "aten::item"),
                ]
    if "tiny kernels" in faults:
        actions += [Kernel("one_tensor", 5.0, "aten::add_")] * (2 * TENSORS)
    else:
        actions += [Kernel("multi_tensor_apply", 60.0, "aten::_foreach_add_")] * 3
    return actions


def _summary(events: list[Event], faults: tuple[str, ...]) -> dict[str, float]:
    """The pieces of a step that `bottleneck` wants, ms, with the work of its products and the GPU's ceilings."""
    first, last = window(events)
    timed = [event for event in events if event["ph"] == "X"]
    # Only the CPU's mark: the GPU has one of the same name, in another category.
    marked = [one for one in timed if one["name"] == "batch" and one["cat"] == "user_annotation"]
    loading = [(one["ts"], one["ts"] + one["dur"]) for one in marked]
    # A copy that the CPU waits for is part of waiting for the batch; in a real trace it lies inside "batch".
    copies = [(one["ts"], one["ts"] + one["dur"]) for one in timed if one["name"] == "cudaMemcpyAsync"]
    inside = [span for span in copies if not any(a <= span[0] and span[1] <= b for a, b in loading)]
    busy = sum(stop - start for start, stop in kernel_spans(events))
    gpu = _datasheet()
    kind, size = ("float32", 4) if "float32" in faults else ("bfloat16", 2)
    return {
        "step_ms": (last - first) / 1e3,
        "input_ms": sum(stop - start for start, stop in [*loading, *inside]) / 1e3,
        "communication_ms": 0.0,
        "kernel_ms": busy / 1e3,
        "flops": 3 * LAYERS * 2.0 * ROWS * WIDTH**2,
        "nbytes": 3.0 * LAYERS * size * (2 * ROWS * WIDTH + WIDTH**2),
        "peak_tflops": gpu[f"{kind}_tflops"] or gpu["float32_tflops"],
        "bandwidth_gbs": gpu["bandwidth_gbs"],
    }


def _datasheet() -> dict[str, Any]:
    """The row of this GPU in `data/gpus.csv`; an H200's where there is no GPU, or an unknown one."""
    from gpulab.device import device_name
    from gpulab.tables import gpu_row, table

    words = set(device_name().replace("-", " ").replace("80GB", " 80GB ").split())
    known = [row for row in table("gpus") if set(str(row["gpu"]).split()) <= words]
    return dict(known[-1]) if known else gpu_row("H200")
