"""Records who works when while a function moves batches through the device: by CUDA events, or in the simulation.

Any function of (batches, rounds) will do: copies are noticed as torch is asked for them, work tells by itself. Drawing
is `transfers.pictures`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from gpulab import streams
from gpulab.figures.shapes import Span
from gpulab.measuring.devices import device, device_name, has_gpu
from gpulab.measuring.once import once
from gpulab.measuring.timing import measure, one_thread
from gpulab.streams.simulated import LINK_GBS, MEMORY_GBS, SIMULATION

LANES = {"in": "copy in", "work": "compute", "kernel": "compute", "out": "copy out"}
COUNT = 6
"""Batches of the demonstration."""

Overlapped = Callable[[list[torch.Tensor], int], Any]


@dataclass(frozen=True)
class Course:
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


def demonstration() -> tuple[list[torch.Tensor], int]:
    """Batches, and rounds of work that take a little longer than both copies of a batch."""
    elements, rounds = (1 << 23, _rounds()) if has_gpu() else (1 << 18, 20)
    return [_pinned(elements) for _ in range(COUNT)], rounds


@once
def _rounds() -> int:
    """So many that the work on a batch of the demonstration takes a quarter longer than both copies, on this GPU."""
    host, there = _pinned(1 << 23), torch.rand(1 << 23, device="cuda")
    copies = measure(lambda: (there.copy_(host, non_blocking=True), host.copy_(there, non_blocking=True)), runs=11)
    return math.ceil(1.25 * copies.median_ms / (measure(streams.work, there, 64, runs=11).median_ms / 64))


def _pinned(elements: int) -> torch.Tensor:
    """A batch of random numbers in pinned memory; pageable where there is no GPU."""
    host = torch.empty(elements, pin_memory=has_gpu())
    return host.copy_(torch.rand(elements, device=device()))


def event() -> Any:
    """A CUDA event with a time."""
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call] # torch has no types there


def recorded(function: Overlapped, batches: list[torch.Tensor], rounds: int) -> Course:
    """Runs it once, after a warm-up, and says who worked when."""
    return _by_events(function, batches, rounds) if has_gpu() else _simulated(function, batches, rounds)


def outcome(function: Overlapped) -> str:
    """What comes of a function like `overlapped`: `"right"`, `"wrong"` or `"error"`; says in a line what happened."""
    batches, rounds = demonstration()
    right = torch.stack([streams.work(batch.to(device()), rounds).cpu() for batch in batches])
    try:
        answer = function(batches, rounds)
    except streams.Race as race:
        print(race)
        return "error"
    if not isinstance(answer, torch.Tensor) or answer.shape != right.shape:
        print(f"That is no tensor of {tuple(right.shape)}")
        return "wrong"
    rows = sum(not torch.equal(mine, theirs) for mine, theirs in zip(answer.cpu(), right, strict=True))
    print(f"{rows} of {len(batches)} results are wrong, and nobody said a word" if rows else "All results are right")
    return "wrong" if rows else "right"


def _simulated(function: Overlapped, batches: list[torch.Tensor], rounds: int) -> Course:
    streams.synchronize()
    before, SIMULATION.log = SIMULATION.log, []
    try:
        with one_thread(), streams.stream(streams.current_stream()):
            function(batches, rounds)
            streams.synchronize()
        log = SIMULATION.log
    finally:
        SIMULATION.log = before
    if not log:
        raise ValueError("Nothing was put into a stream: is there work(…) in your function?")
    first = min(one.start_ms for one in log)
    spans = _numbered([(one.kind, one.start_ms - first, one.stop_ms - first) for one in log])
    return Course(
        spans,
        f"SIMULATED, not measured: your program's order, pinned copies at {LINK_GBS:g} GB/s, kernels at "
        f"{MEMORY_GBS:g} GB/s (datasheets of PCIe 5 and H200)",
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


def _by_events(function: Overlapped, batches: list[torch.Tensor], rounds: int) -> Course:
    for _ in range(2):
        function(batches, rounds)  # pinned memory and the device's are handed out once, and kept
    torch.cuda.synchronize()
    recorder = _Recorder()
    with recorder, streams.watched(recorder):
        function(batches, rounds)
    torch.cuda.synchronize()
    if not recorder.found:
        raise ValueError("Nothing went to the GPU: is there work(…) in your function?")
    base = recorder.found[0][1]
    found = [(kind, base.elapsed_time(start), base.elapsed_time(end)) for kind, start, end in recorder.found]
    return Course(_numbered(found), f"Measured on {device_name()}: CUDA events around each operation, one run")


def profiled(function: Overlapped, batches: list[torch.Tensor], rounds: int) -> Course:
    """The same from `torch.profiler`, which asks the GPU itself; only on a GPU."""
    from torch.autograd import DeviceType  # type: ignore[attr-defined] # it is there, and documented
    from torch.profiler import ProfilerActivity, profile

    function(batches, rounds)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        function(batches, rounds)
        torch.cuda.synchronize()
    seen = [one for one in profiler.events() if one.device_type == DeviceType.CUDA]
    if not seen:
        raise ValueError("The profiler saw nothing on the GPU: it may lack the permission (CUPTI).")
    begin = min(one.time_range.start for one in seen)
    pieces = []
    for one in seen:
        kind = "in" if "HtoD" in one.name else "out" if "DtoH" in one.name else "work"
        times = (one.time_range.start, one.time_range.end)
        pieces.append((kind, *((at - begin) / 1e3 for at in times)))
    return Course(_numbered(_joined(pieces)), f"Measured on {device_name()} by torch.profiler, one run")


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
