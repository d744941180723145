"""Traces of the profiling chapter: the events that `torch.profiler` exports, and the time that they cover.

A trace is a list of events (`traceEvents` of the Chrome format; `ts` and `dur` in µs). What to read from one is the
exercises' business.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TraceEvent = dict[str, Any]


def trace_events(profiler: Any) -> list[TraceEvent]:
    """The events that a `torch.profiler.profile` has recorded, after its `with` block.

    Raises:
        RuntimeError: it has recorded nothing yet.
    """
    if getattr(profiler.profiler, "kineto_results", None) is None:
        raise RuntimeError("trace_events(profiler) needs what was recorded: call it after the with block, not inside")
    with tempfile.TemporaryDirectory(prefix="gpulab-trace-") as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events: list[TraceEvent] = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return events


def window(events: Sequence[TraceEvent]) -> tuple[float, float]:
    """From the first event with a duration to the end of the last, µs."""
    timed = [event for event in events if event["ph"] == "X"]
    return min(event["ts"] for event in timed), max(event["ts"] + event["dur"] for event in timed)
