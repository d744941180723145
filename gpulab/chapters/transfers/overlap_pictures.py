"""Draws who works when while batches go through the device."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from gpulab.chapters.transfers.overlap import LANES, Overlapped, OverlapRun, profiled, recorded
from gpulab.figures import plot
from gpulab.figures.shapes import Span


def draw_overlap(
    one_by_one: Overlapped,
    overlapped: Overlapped,
    batches: list[torch.Tensor],
    rounds: int,
    pipeline_ms: Callable[..., float],
) -> None:
    """Traces the serial loop and the student's, and draws both timelines in the same scale."""
    serial, yours = (recorded(function, batches, rounds) for function in (one_by_one, overlapped))
    stages = [serial.stage_ms(stage) for stage in dict.fromkeys(LANES.values())]
    ideal = pipeline_ms(len(batches), *stages, 2)
    title = f"{len(batches)} batches: {_ms(serial.total_ms)} one by one, {_ms(yours.total_ms)} yours"
    note = f"{yours.note}.\nBy your pipeline_ms, from the serial stages, two copy engines: {_ms(ideal)}"
    plot.timeline([*_named("one by one", serial), *_named("yours", yours)], title=title, note=note)


def draw_profile(events: Iterable[Any]) -> None:
    """A timeline of what the profiler saw; `events` are those of a `torch.profiler.profile`."""
    found = profiled(events)
    plot.timeline(found.spans, title=f"What the GPU itself reports: {_ms(found.total_ms)}", note=found.note)


def _named(who: str, course: OverlapRun) -> list[Span]:
    return [
        Span(f"{who}: {span.lane}", span.start, span.stop, span.label.rpartition(" ")[2], span.kind)
        for span in course.spans
    ]


def _ms(value: float) -> str:
    return f"{plot.number(value)} ms"
