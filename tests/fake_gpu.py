"""A stand-in for a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class FakeGPU:
    """A GPU with a clock that only its own work moves, and a log of what was asked of it, in order.

    It stands in for what torch would need a driver for; tensors stay on the CPU.
    """

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.pending_ms = 0.0
        self.log: list[str] = []

    def work(self, milliseconds: float) -> Callable[..., None]:
        """A function that launches work of this length and returns at once."""

        def launch(*_: Any) -> None:
            self.log.append("launch")
            self.pending_ms += milliseconds

        return launch

    def synchronize(self) -> None:
        self.log.append("synchronize")
        self.now_ms += self.pending_ms
        self.pending_ms = 0.0

    def event(self, enable_timing: bool = False) -> Event:
        assert enable_timing
        return Event(self)


class Event:
    """Is reached when everything launched before it is over."""

    def __init__(self, gpu: FakeGPU) -> None:
        self.gpu = gpu
        self.at_ms = float("nan")

    def record(self) -> None:
        self.gpu.log.append("record")
        self.at_ms = self.gpu.now_ms + self.gpu.pending_ms

    def elapsed_time(self, other: Event) -> float:
        assert not self.gpu.pending_ms, "read before the GPU was done"
        return other.at_ms - self.at_ms
