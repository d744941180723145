"""Records who works when while a function moves batches through the device: by CUDA events, or in the simulation.

Any function of (batches, rounds) will do: copies are noticed as torch is asked for them, work tells by itself. Drawing
is `transfers.pictures`.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from gpulab import streams
from gpulab.figures.shapes import Span
from gpulab.measuring.devices import device_name, has_gpu
from gpulab.measuring.timing import one_thread
from gpulab.streams.simulation import LINK_GBS, MEMORY_GBS

LANES = {"in": "copy in", "work": "compute", "kernel": "compute", "out": "copy out"}

Overlapped = Callable[[list[torch.Tensor], int], Any]


@dataclass(frozen=True)
class OverlapRun:
    """How a run went."""

    spans: tuple[Span, ...]
    """In ms from the first start."""
    note: str
    """Where the times are from."""

    @property
    def total_ms(self) -> float:
        """From the first start to the last end."""
        return max(span.stop for span in self.spans)

    def stage_ms(self, stage: str) -> float:
        """Median of `"copy in"`, `"compute"` or `"copy out"`; 0 where there is none."""
        lasts = [span.stop - span.start for span in self.spans if span.lane == stage]
        return statistics.median(lasts) if lasts else 0.0


def why_serial(operations: Sequence[dict[str, Any]]) -> str:
    """What keeps simulated operations, in their order of issue, from overlapping, in a sentence."""
    works = [one for one in operations if one["kind"] == "work"]
    runs = [number for number, _ in itertools.groupby(one["stream"] for one in works)]
    if len({one["stream"] for one in operations}) == 1:
        return "Everything is in one stream, where each operation waits for the one before: use two or more."
    if len(works) > len(runs) == len(set(runs)) > 1:
        return "All work of one stream is issued before that of the other: let the batches alternate."
    arrived = max((one["stop_ms"] for one in operations if one["kind"] == "in"), default=0.0)
    if works and works[0]["start_ms"] >= arrived:
        return "The first work waits until all batches are there: it needs only its own."
    return (
        "Does something make each batch wait for the one before? The CPU waits at synchronize(), at .cpu(), and at a"
        " copy without non_blocking=True; a stream waits at wait_stream() and wait_event()."
    )


def share_hidden(operations: Sequence[dict[str, Any]]) -> float:
    """The share of the copies' time in which the device works as well, from 0 to 1."""
    copies, works = (
        [(one["start_ms"], one["stop_ms"]) for one in operations if one["kind"] in kinds]
        for kinds in (("in", "out"), ("work",))
    )
    hidden = sum(max(0.0, min(ends, stops) - max(begins, starts)) for begins, ends in copies for starts, stops in works)
    copied = sum(ends - begins for begins, ends in copies)
    return hidden / copied if copied else 0.0


def event() -> Any:
    """A CUDA event with a time."""
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call] # torch has no types there


def recorded(function: Overlapped, batches: list[torch.Tensor], rounds: int) -> OverlapRun:
    """Runs it once, after a warm-up, and says who worked when."""
    return _by_events(function, batches, rounds) if has_gpu() else _simulated(function, batches, rounds)


def _simulated(function: Overlapped, batches: list[torch.Tensor], rounds: int) -> OverlapRun:
    with one_thread(), streams.timeline() as log:
        function(batches, rounds)
    if not log:
        raise ValueError("Nothing was put into a stream: does your function call work(…)?")
    first = min(one["start_ms"] for one in log)
    spans = _numbered([(one["kind"], one["start_ms"] - first, one["stop_ms"] - first) for one in log])
    return OverlapRun(
        spans,
        f"SIMULATED, not measured: your program's order, pinned copies at {LINK_GBS:g} GB/s, kernels at "
        f"{MEMORY_GBS:,.0f} GB/s (datasheets of PCIe 5 and H200)",
    )


def _numbered(found: list[tuple[str, float, float]]) -> tuple[Span, ...]:
    """Spans with a number each, by engine; those of kernels that are not `work` have none."""
    counts: dict[str, int] = {}
    spans = []
    for kind, start, stop in found:
        number = counts[kind] = counts.get(kind, -1) + 1
        spans.append(Span(LANES[kind], start, stop, f"{kind} {number}" if kind != "kernel" else "", kind))
    order = list(dict.fromkeys(LANES.values()))
    return tuple(sorted(spans, key=lambda span: order.index(span.lane)))


class _Recorder(TorchFunctionMode):
    """Puts a CUDA event before and after each copy between the memories, and each `work`."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, torch.cuda.Event, torch.cuda.Event]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name not in ("copy_", "to", "cpu", "cuda"):
            return func(*args, **(kwargs or {}))
        with self._around() as events:
            result = func(*args, **(kwargs or {}))
        source = args[1] if name == "copy_" and len(args) > 1 else (kwargs or {}).get("src", args[0])
        if isinstance(result, torch.Tensor) and result.is_cuda != source.is_cuda:
            self.found.append(("in" if result.is_cuda else "out", *events))
        return result

    def kernel(self, label: str, batch: torch.Tensor, moved: float, run: Callable[[], Any]) -> Any:
        """See `gpulab.streams.Watcher`."""
        with self._around() as events, torch._C.DisableTorchFunction():
            result = run()
        self.found.append((label, *events))
        return result

    @contextmanager
    def _around(self) -> Iterator[tuple[torch.cuda.Event, torch.cuda.Event]]:
        start, end = event(), event()
        start.record()
        yield start, end
        end.record()


def _by_events(function: Overlapped, batches: list[torch.Tensor], rounds: int) -> OverlapRun:
    for _ in range(2):
        function(batches, rounds)  # pinned memory and the device's are handed out once, and kept
    torch.cuda.synchronize()
    recorder = _Recorder()
    with recorder, streams.watched(recorder):
        function(batches, rounds)
    torch.cuda.synchronize()
    if not recorder.found:
        raise ValueError("Nothing went to the GPU: does your function call work(…)?")
    base = recorder.found[0][1]
    found = [(kind, base.elapsed_time(start), base.elapsed_time(end)) for kind, start, end in recorder.found]
    return OverlapRun(_numbered(found), f"Measured on {device_name()}: CUDA events around each operation, one run")


def profiled(events: Iterable[Any]) -> OverlapRun:
    """The same from the events of a `torch.profiler.profile`, which asks the GPU itself.

    Raises:
        ValueError: there is nothing of a GPU in them.
    """
    from torch.autograd import DeviceType  # type: ignore[attr-defined] # it is there, and documented

    seen = [one for one in events if one.device_type == DeviceType.CUDA]
    if not seen:
        raise ValueError("The profiler saw nothing on the GPU: it may lack the permission (CUPTI).")
    begin = min(one.time_range.start for one in seen)
    pieces = []
    for one in seen:
        kind = "in" if "HtoD" in one.name else "out" if "DtoH" in one.name else "work"
        times = (one.time_range.start, one.time_range.end)
        pieces.append((kind, *((at - begin) / 1e3 for at in times)))
    return OverlapRun(_numbered(_joined(pieces)), f"Measured on {device_name()} by torch.profiler, one run")


def _joined(pieces: list[tuple[str, float, float]], gap_ms: float = 0.02) -> list[tuple[str, float, float]]:
    """Pieces of one kind that nearly touch become one: the many small kernels of one `work`."""
    joined: list[tuple[str, float, float]] = []
    last: dict[str, int] = {}
    for kind, start, stop in sorted(pieces, key=lambda piece: piece[1]):
        if kind == "work" and kind in last and start - joined[last[kind]][2] < gap_ms:
            joined[last[kind]] = (kind, joined[last[kind]][1], max(stop, joined[last[kind]][2]))
            continue
        last[kind] = len(joined)
        joined.append((kind, start, stop))
    return joined
