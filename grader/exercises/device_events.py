"""What the profiler records of work on the device, for readings: the events of a trace, with few keys.

For the `take` of a `Confrontation`; nothing here is imported without a GPU, or by a judge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from gpulab.chapters.profiling.traces import trace_events
from grader.exercises.confront import Absent

KEYS = ("ph", "cat", "name", "pid", "tid", "ts", "dur")
TraceEvent = dict[str, Any]


def traced(work: Callable[[], Any], warm_ups: int = 1) -> tuple[Any, list[TraceEvent]]:
    """The profiler after some work on the device and on the CPU, and all events of its trace.

    Args:
        work: what is recorded; it is waited for.
        warm_ups: calls before, which load kernels and allocate.

    Raises:
        Absent: the profiler records nothing of the device here.
    """
    for _ in range(warm_ups):
        work()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        work()
        torch.cuda.synchronize()
    events = trace_events(profiler)
    if not any(one.get("cat") in ("kernel", "gpu_memcpy") for one in events):
        raise Absent("the profiler records neither kernels nor copies of this GPU")
    return profiler, events


def timed(events: list[TraceEvent]) -> list[TraceEvent]:
    """The events with a duration, in the order of their starts, without what readings have no use for."""
    found = [{key: one.get(key, "") for key in KEYS} for one in events if one["ph"] == "X"]
    return sorted(found, key=lambda one: one["ts"])
