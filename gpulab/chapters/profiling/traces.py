"""Traces of the profiling chapter: read from the profiler, or made up by a simulation of a CPU that orders and a GPU
that works.

A trace is a list of events as the profiler exports them (`traceEvents` of the Chrome format; `ts` and `dur` in µs).
What to read from one is the exercises' business, the five planted faults are `profiling.hunt`'s.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpulab.chapters.profiling import tools as _quiet  # noqa: F401 - before the first profile: it silences the recorder

Event = dict[str, Any]

LAUNCH_US, LATENCY_US = 7.0, 3.0
"""What an order costs the CPU, and how long it is on its way: usual figures for PyTorch, not measured here."""


def trace_events(profiler: Any) -> list[Event]:
    """The events that a `torch.profiler.profile` has recorded, after its `with` block."""
    with tempfile.TemporaryDirectory(prefix="gpulab-trace-") as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events: list[Event] = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return events


@dataclass(frozen=True)
class Prepare:
    """The CPU is busy with something that no profiler knows, for so long: decoding a batch, say."""

    us: float


@dataclass(frozen=True)
class Kernel:
    """The CPU orders a kernel that lasts so long."""

    name: str
    us: float
    operator: str = "aten::op"


@dataclass(frozen=True)
class Copy:
    """The CPU orders a copy to the GPU; from pageable memory it carries the bytes itself, and waits."""

    us: float
    pinned: bool


@dataclass(frozen=True)
class Wait:
    """The CPU wants a value: it waits until the GPU has done everything that was ordered."""


@dataclass(frozen=True)
class Marked:
    """The CPU does these things inside a `record_function` of that name."""

    name: str
    actions: tuple[Action, ...]


Action = Prepare | Kernel | Copy | Wait | Marked


class _Two:
    """A CPU and a GPU with one queue between them; both clocks in µs."""

    def __init__(self) -> None:
        self.cpu_us = self.gpu_us = 0.0
        self.events: list[Event] = [
            {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0.0, "args": {"name": "python"}},
            {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": 0.0, "args": {"name": "GPU 0"}},
        ]

    def on_cpu(self, cat: str, name: str, us: float) -> None:
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": self.cpu_us, "dur": us})
        self.cpu_us += us

    def on_gpu(self, cat: str, name: str, us: float) -> None:
        start = max(self.gpu_us, self.cpu_us + LATENCY_US)
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": start, "dur": us})
        self.gpu_us = start + us

    def wait(self, name: str) -> None:
        self.on_cpu("cuda_runtime", name, max(1.0, self.gpu_us + LATENCY_US - self.cpu_us))

    def do(self, action: Action) -> None:
        match action:
            case Prepare(us=us):
                self.cpu_us += us
            case Marked(name=name, actions=actions):
                begun = self.cpu_us
                for inner in actions:
                    self.do(inner)
                self.cpu_us, until = begun, self.cpu_us
                self.on_cpu("user_annotation", name, until - begun)
            case Kernel(name=name, us=us, operator=operator):
                self.on_cpu("cpu_op", operator, LAUNCH_US * 0.6)
                self.on_cpu("cuda_runtime", "cudaLaunchKernel", LAUNCH_US * 0.4)
                self.on_gpu("kernel", name, us)
            case Copy(us=us, pinned=True):
                self.on_cpu("cuda_runtime", "cudaMemcpyAsync", LAUNCH_US)
                self.on_gpu("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", us)
            case Copy(us=us):
                self.on_gpu("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", us)
                self.wait("cudaMemcpyAsync")
            case Wait():
                self.wait("cudaStreamSynchronize")


def simulate(actions: Sequence[Action]) -> list[Event]:
    """The trace of a program that does these things one after the other, and waits for the GPU at its end."""
    two = _Two()
    for action in actions:
        two.do(action)
    two.wait("cudaDeviceSynchronize")
    return two.events


def small_trace() -> list[Event]:
    """Five kernels in two streams, two of them at once, a copy and a little of what else is in a trace; made up."""
    two = _Two()
    for cat, name, stream, start, us in (
        ("kernel", "gemm", 7, 20.0, 30.0),
        ("kernel", "ncclDevKernel_AllReduce", 20, 35.0, 40.0),
        ("kernel", "relu", 7, 52.0, 6.0),
        ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 13, 80.0, 15.0),
        ("kernel", "relu", 7, 100.0, 8.0),
        ("kernel", "gemm", 7, 110.0, 30.0),
    ):
        two.events.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": stream, "ts": start, "dur": us})
    two.on_cpu("cpu_op", "aten::linear", 60.0)
    two.events.append(
        {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 12.0, "s": "t"}
    )
    two.cpu_us = 130.0
    two.on_cpu("cuda_runtime", "cudaDeviceSynchronize", 20.0)
    return two.events


def window(events: Sequence[Event]) -> tuple[float, float]:
    """From the first event with a duration to the end of the last, µs."""
    timed = [event for event in events if event["ph"] == "X"]
    return min(event["ts"] for event in timed), max(event["ts"] + event["dur"] for event in timed)
