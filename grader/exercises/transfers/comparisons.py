"""What the transfers chapter's functions are compared with, and what overlap could give at best; see
`gpulab.measuring.speedup`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from gpulab.measuring.devices import device, has_gpu
from gpulab.measuring.speedup import Comparison
from gpulab.streams import work

WORKLOADS = "gpulab.chapters.transfers.workloads"
HIDDEN = 1.25
"""Compute over both copies of a batch: so much that two streams can hide all copies but the first and the last."""


@dataclass(frozen=True)
class Stages:
    """What one batch costs on this GPU, each stage alone."""

    in_ms: float
    work_ms: float
    out_ms: float
    rounds: int
    """Of `work`: so many that compute takes longer than both copies."""

    def ideal(self, batches: int) -> float:
        """The serial loop's time over that of a perfect overlap, in which only the first way in and the last way out
        are left to see."""
        serial_ms = batches * (self.in_ms + self.work_ms + self.out_ms)
        return serial_ms / (self.in_ms + batches * self.work_ms + self.out_ms)


def serial(batches: list[torch.Tensor], rounds: int) -> torch.Tensor:
    """One batch after another, one step after another; into pinned memory, as it should be."""
    results = torch.empty(len(batches), *batches[0].shape, pin_memory=has_gpu())
    for number, batch in enumerate(batches):
        results[number].copy_(work(batch.to(device()), rounds))
    return results


def _waited(x: torch.Tensor) -> torch.Tensor:
    host = torch.empty(x.shape, pin_memory=has_gpu())
    return host.copy_(x)


def stages(elements: int) -> Stages:
    """Measures a batch of float32 on this machine's GPU, and chooses the rounds.

    Args:
        elements: of a batch.
    """
    host, there = _pinned(elements), torch.rand(elements, device=device())
    in_ms = _median_ms(lambda: there.copy_(host, non_blocking=True))
    out_ms = _median_ms(lambda: host.copy_(there, non_blocking=True))
    round_ms = _median_ms(lambda: work(there, 64)) / 64
    rounds = math.ceil(HIDDEN * (in_ms + out_ms) / round_ms)
    return Stages(in_ms, _median_ms(lambda: work(there, rounds)), out_ms, rounds)


def _pinned(elements: int) -> torch.Tensor:
    """A batch of random numbers in pinned memory; pageable where there is no GPU."""
    host = torch.empty(elements, pin_memory=has_gpu())
    return host.copy_(torch.rand(elements, device=device()))


def event() -> Any:
    """A CUDA event with a time."""
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call] # torch has no types there


def _median_ms(run: Callable[[], Any]) -> float:
    times_ms: list[float] = []
    for _ in range(13):
        start, end = event(), event()
        torch.cuda.synchronize()
        start.record()
        run()
        end.record()
        end.synchronize()
        times_ms.append(start.elapsed_time(end))
    return statistics.median(times_ms[2:])


OVERLAP = Comparison(name=f"{__name__}:OVERLAP", workload=f"{WORKLOADS}:BATCHES", reference=serial)
"""`overlapped` against the serial loop; sizes `count`, `elements`, `work_rounds`."""

AT_ONCE = Comparison(name=f"{__name__}:AT_ONCE", workload=f"{WORKLOADS}:BATCHES_AT_ONCE", reference=serial)
"""What `overlapped` has in its result at the moment when it returns, every so many elements; the same sizes."""

LATE = Comparison(name=f"{__name__}:LATE", workload=f"{WORKLOADS}:LATE", reference=_waited)
"""What `to_host` has in its result at the moment when it returns, every so many elements, behind a slow kernel.

Size `elements`.
"""

PINNED = Comparison(name=f"{__name__}:PINNED", workload=f"{WORKLOADS}:PINNED", reference=_waited)
"""Whether `to_host` gives pinned memory; size `elements`."""
