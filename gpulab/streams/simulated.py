"""torch.cuda's streams and events without a GPU, under their own names: what they are asked goes to a `Simulation`."""

from __future__ import annotations

import time
from typing import Any

import torch

from gpulab.streams.race_detector import Clock, join
from gpulab.streams.simulation import Queue, Simulation

POLL_MS = 0.01
"""What a question costs the host."""


class Event:
    """A mark in a stream, as `torch.cuda.Event`."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        self.clock: Clock = {}
        self.at_ms = self.host_s = 0.0

    def record(self, stream: Stream | None = None) -> None:
        """Marks everything that the stream has been given so far."""
        stream = stream or current_stream()
        SIMULATION.note("record", self, stream)
        self.clock, self.at_ms = dict(stream.clock), max(stream.ready_ms, SIMULATION.host_ms)
        self.host_s = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Has the stream wait for the mark; no mark, no wait."""
        (stream or current_stream()).wait_event(self)

    def synchronize(self) -> None:
        """Has the host wait for the mark."""
        SIMULATION.note("synchronize", self)
        SIMULATION.host_waits(self.clock, self.at_ms)

    def query(self) -> bool:
        """Whether it is over. Asking takes the host's time, so who asks again and again sees the end."""
        SIMULATION.note("query", self)
        SIMULATION.host_ms += POLL_MS
        if SIMULATION.host_ms >= self.at_ms:
            SIMULATION.host_waits(self.clock, self.at_ms)
        return all(SIMULATION.host.get(stream, 0) >= tick for stream, tick in self.clock.items())

    def elapsed_time(self, end_event: Event) -> float:
        """Simulated milliseconds from this mark to another; the host's own if nothing was simulated in between."""
        if end_event.at_ms == self.at_ms:
            return 1e3 * (end_event.host_s - self.host_s)
        return end_event.at_ms - self.at_ms


class Stream(Queue):
    """A queue whose operations run in order, as `torch.cuda.Stream`."""

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        super().__init__()

    def wait_event(self, event: Event) -> None:
        """What comes next in this stream waits for the event's mark."""
        SIMULATION.note("wait_event", self, event)
        join(self.clock, event.clock)
        self.ready_ms = max(self.ready_ms, event.at_ms)

    def wait_stream(self, stream: Stream) -> None:
        """What comes next in this stream waits for everything that the other has been given so far."""
        SIMULATION.note("wait_stream", self, stream)
        join(self.clock, stream.clock)
        self.ready_ms = max(self.ready_ms, stream.ready_ms)

    def record_event(self, event: Event | None = None) -> Event:
        """A mark after everything that this stream has been given so far."""
        event = event or Event()
        event.record(self)
        return event

    def synchronize(self) -> None:
        """Has the host wait for this stream."""
        SIMULATION.note("synchronize", self)
        SIMULATION.host_waits(self.clock, self.ready_ms)

    def query(self) -> bool:
        """Whether all of it is over; see `Event.query`."""
        return self.record_event().query()

    def __enter__(self) -> Stream:
        SIMULATION.enter(self)
        return self

    def __exit__(self, *error: Any) -> None:
        SIMULATION.leave()


class StreamContext:
    """Makes a stream current, as `torch.cuda.StreamContext`: what torch is asked to do in the block goes into it."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            SIMULATION.enter(self.stream)

    def __exit__(self, *error: Any) -> None:
        if self.stream is not None:
            SIMULATION.leave()


SIMULATION = Simulation(Stream())


def stream(stream: Stream | None) -> StreamContext:
    """As `torch.cuda.stream`."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """As `torch.cuda.set_stream`."""
    if stream is not None:
        SIMULATION.choose(stream)


def current_stream(device: Any = None) -> Stream:
    """The stream that torch's operations go into now."""
    return SIMULATION.now


def default_stream(device: Any = None) -> Stream:
    """The stream that torch's operations go into where none was chosen."""
    return SIMULATION.default


def record_stream(tensor: torch.Tensor, stream: Stream) -> None:
    """As `torch.Tensor.record_stream`. Here no memory is handed out again too early, so there is nothing to remember.

    Raises:
        TypeError: that is no stream.
    """
    if not isinstance(stream, Stream):
        raise TypeError(f"record_stream: the stream is a {type(stream).__name__}. It must be a torch.cuda.Stream.")


def synchronize(device: Any = None) -> None:
    """Has the host wait for every stream."""
    SIMULATION.note("synchronize")
    SIMULATION.host_waits_for_all()
