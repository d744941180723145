"""How the exercises on profiling and monitoring are checked on the GPU: traces recorded there, and its own metrics.

`grader.exercises.confront` says how these are used; `profiling.built_steps` makes the steps of `bottleneck` and `mfu`.
"""

from __future__ import annotations

import math
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from gpulab import check
from gpulab.chapters.profiling.rendered import compare
from grader.exercises.confront import Absent, Confrontation, Unusable
from grader.exercises.profiling import built_steps
from grader.exercises.profiling.pages import read_page

TraceEvent = dict[str, Any]

# ----------------------------------------------------------------------------------- parse_metrics and render_metrics


def take_figures(nvml: Any = None) -> dict[str, Any]:
    """One page of this machine's exporter, and the samples that it was made of.

    Args:
        nvml: as for `gpulab.exporter.registry`.

    Raises:
        Absent: the driver answers no questions.
    """
    from prometheus_client import CollectorRegistry, generate_latest

    from gpulab import exporter

    families = list(exporter.registry(nvml).collect())

    class Visit:
        def collect(self) -> Any:
            return families

    once = CollectorRegistry()
    once.register(Visit())
    samples: list[dict[str, Any]] = [
        {"name": one.name, "type": family.type, "help": family.documentation, "labels": one.labels, "value": one.value}
        for family in families
        for one in family.samples
    ]
    if not any("gpu" in one["labels"] for one in samples):
        raise Absent("NVML shows no GPU")
    return {"page": generate_latest(once).decode(), "samples": samples}


def _samples(readings: dict[str, Any]) -> list[dict[str, Any]]:
    samples: list[dict[str, Any]] = readings["samples"]
    if not samples or not all(math.isfinite(one["value"]) and one["value"] >= 0 for one in samples):
        raise Unusable("a metric of a GPU is below zero, or not finite")
    return samples


def _check_parsed(answer: Any, readings: dict[str, Any]) -> None:
    expected: dict[int, dict[str, float]] = defaultdict(dict)
    for one in _samples(readings):
        if "gpu" in one["labels"]:
            expected[int(one["labels"]["gpu"])][one["name"]] = one["value"]
    lines = readings["page"].count("\n")
    what = f"the page of this machine's own exporter, {lines} lines, {len(expected)} GPUs"
    check.equal(answer(readings["page"]), dict(expected), what)


def _check_rendered(answer: Any, readings: dict[str, Any]) -> None:
    samples = list(_samples(readings))
    random.Random(7).shuffle(samples)  # those of a metric need not follow one another
    compare(answer, samples, f"{len(samples)} metrics of this machine's GPUs, as NVML reports them", read_page)


# ---------------------------------------------------------------------------------- gpu_idle_fraction and top_kernels

KEPT_MARKS = 6
"""Events without a duration that stay in a reading."""
AGREES = 0.1
"""How far CUDA events and the trace may differ about the time in which kernels ran."""


def _shuffled(events: Sequence[TraceEvent]) -> list[TraceEvent]:
    """The events with a duration, and some without, in no particular order."""
    from grader.exercises.device_events import timed

    marks = [{key: one.get(key) for key in ("ph", "name", "pid", "tid")} for one in events if one["ph"] == "M"]
    found = timed(list(events)) + marks[:KEPT_MARKS]
    random.Random(7).shuffle(found)
    return found


def _take_idle() -> dict[str, Any]:
    """A trace with a kernel inside another, a copy, and pauses; and how long kernels ran by CUDA events, ms."""
    import torch
    from torch.profiler import record_function

    from grader.exercises.device_events import traced

    long, short = (torch.cuda.Stream() for _ in range(2))  # type: ignore[no-untyped-call]
    host = torch.zeros(1 << 23, pin_memory=True)
    marks: list[Any] = []

    def sleep(stream: Any, cycles: int) -> None:
        with torch.cuda.stream(stream):
            marks.append(torch.cuda.Event(enable_timing=True))  # type: ignore[no-untyped-call]
            marks[-1].record()
            torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]
            marks.append(torch.cuda.Event(enable_timing=True))  # type: ignore[no-untyped-call]
            marks[-1].record()

    def work() -> None:
        marks.clear()
        with record_function("input"):
            time.sleep(0.004)
        sleep(long, 20_000_000)
        sleep(short, 5_000_000)
        torch.cuda.synchronize()
        host.to("cuda", non_blocking=True)
        torch.cuda.synchronize()
        sleep(long, 8_000_000)
        torch.cuda.synchronize()
        with record_function("output"):
            time.sleep(0.003)

    _, events = traced(work)
    outer, _, last = (marks[at].elapsed_time(marks[at + 1]) for at in (0, 2, 4))
    return {"events": _shuffled(events), "busy_ms": outer + last}


def _check_idle(answer: Any, readings: dict[str, Any]) -> None:
    events = readings["events"]
    spans = [(one["ts"], one["ts"] + one["dur"]) for one in events if one["ph"] == "X"]
    busy, window = built_steps.busy_us(events), max(stop for _, stop in spans) - min(start for start, _ in spans)
    if abs(busy / 1e3 - readings["busy_ms"]) > AGREES * readings["busy_ms"]:
        by_events = f"{readings['busy_ms']:.3g} ms by CUDA events"
        raise Unusable(f"kernels ran for {busy / 1e3:.3g} ms by the trace, and for {by_events}")
    what = f"a trace just taken on this GPU, {window:.0f} µs with kernels in {busy:.0f} µs"
    check.close(answer(events), 1 - busy / window, what, rtol=1e-6)


def _take_kernels() -> dict[str, Any]:
    """A trace of a few steps of a small network, and PyTorch's own totals by kernel, µs."""
    import torch

    from grader.exercises.device_events import traced

    layers = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 10)).to("cuda")
    x, labels = torch.randn(256, 512, device="cuda"), torch.zeros(256, dtype=torch.int64, device="cuda")

    def work() -> None:
        loss = torch.nn.functional.cross_entropy(layers(x), labels)
        loss.backward()  # type: ignore[no-untyped-call]

    profiler, events = traced(work, warm_ups=3)
    names = {one["name"] for one in events if one.get("cat") == "kernel"}
    averages = {one.key: one.self_device_time_total for one in profiler.key_averages() if one.key in names}
    return {"events": _shuffled(events), "totals_us": averages}


def _check_kernels(answer: Any, readings: dict[str, Any]) -> None:
    total: dict[str, float] = defaultdict(float)
    for one in readings["events"]:
        if one["ph"] == "X" and one["cat"] == "kernel":
            total[one["name"]] += one["dur"]
    told = readings["totals_us"]
    if set(told) != set(total) or any(abs(told[name] - us) > 0.01 * us + 0.1 for name, us in total.items()):
        raise Unusable("PyTorch's own totals by kernel are not those of the trace")
    ranked = sorted(total.items(), key=lambda one: (-one[1], one[0]))
    for n in (1, 3, len(ranked) + 1):
        found = check.as_python(answer(readings["events"], n))
        what = f"the top {n} of a trace just taken on this GPU, {len(ranked)} kernel names"
        check.equal([pair[0] for pair in found], [name for name, _ in ranked[:n]], f"{what}: the names")
        check.close([pair[1] for pair in found], [us for _, us in ranked[:n]], f"{what}: the totals, µs", rtol=1e-6)


CONFRONTATIONS = (
    Confrontation(
        "parse_metrics",
        "A page of this machine's own exporter is parsed, and the values are compared with those that NVML reported.",
        take_figures,
        _check_parsed,
    ),
    Confrontation(
        "render_metrics",
        "Values that NVML reports are rendered, and must be the same when they are read back.",
        take_figures,
        _check_rendered,
    ),
    Confrontation(
        "gpu_idle_fraction",
        "The idle share is compared with that of CUDA events, in a new trace with overlapping kernels and pauses.",
        _take_idle,
        _check_idle,
    ),
    Confrontation(
        "top_kernels",
        "The ranking is compared with PyTorch's own totals, for a new trace of a network's training step.",
        _take_kernels,
        _check_kernels,
    ),
    Confrontation(
        "bottleneck",
        "Answers are compared with four timed and traced steps, limited by input, launches, compute, or memory.",
        built_steps.take,
        built_steps.check_bottleneck,
    ),
    Confrontation(
        "mfu",
        "Utilization is compared with that of timed matrix products, given this card's peak in its datasheet.",
        built_steps.take_products,
        built_steps.check_mfu,
    ),
)
ON_DEVICE = {
    "profile_step": (
        "a step of ResNet-18 is profiled; its kernels, launches, and peak memory are compared with the grader's own.",
        'check.within(answer["kernels"], kernels',
    ),
    "SLOW_LOOP": (
        "the loop runs there once more; its losses must be the same, and its trace must not show the faults.",
        'SLOW_LOOP_DEVICE="cuda"',
    ),
}
NONE: dict[str, str] = {}
