"""What chapter 05's copies are held against on a GPU, and what overlap could give at best; see `gpulab.contest`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from gpulab.contest import Contest, projection
from gpulab.device import device, has_gpu, synchronize
from gpulab.streams import work

LATE_CYCLES = 100_000_000
"""Of the kernel that `to_host` has to wait for: 50 ms at 2 GHz."""
SAMPLED = 997
"""One element of so many is looked at when a result has to be seen at once."""
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


def stages(elements: int) -> Stages:
    """Measures a batch of float32 on this machine's GPU, and chooses the rounds.

    Args:
        elements: of a batch.
    """
    host, there = pinned(elements), torch.rand(elements, device=device())
    in_ms = _median_ms(lambda: there.copy_(host, non_blocking=True))
    out_ms = _median_ms(lambda: host.copy_(there, non_blocking=True))
    round_ms = _median_ms(lambda: work(there, 64)) / 64
    rounds = math.ceil(HIDDEN * (in_ms + out_ms) / round_ms)
    return Stages(in_ms, _median_ms(lambda: work(there, rounds)), out_ms, rounds)


def pinned(elements: int) -> torch.Tensor:
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


def _batches(seed: int, count: int, elements: int, rounds: int) -> tuple[list[torch.Tensor], int]:
    """Batches of random float32 in pinned memory, and the rounds."""
    generator = torch.Generator(device=device()).manual_seed(seed)
    made = [torch.empty(elements, pin_memory=has_gpu()) for _ in range(count)]
    for batch in made:
        batch.copy_(torch.rand(elements, generator=generator, device=device()))
    synchronize()
    return made, rounds


def _late(seed: int, elements: int) -> tuple[torch.Tensor]:
    """Numbers on the device that come into being when a slow kernel is over, long after this has returned."""
    values = torch.rand(elements, generator=torch.Generator(device=device()).manual_seed(seed), device=device())
    x = torch.full_like(values, -1.0)
    synchronize()
    if has_gpu():
        torch.cuda._sleep(LATE_CYCLES)  # type: ignore[no-untyped-call] # torch's own tests use it: a kernel that only takes time
    return (x.copy_(values),)


def _waited(x: torch.Tensor) -> torch.Tensor:
    host = torch.empty(x.shape, pin_memory=has_gpu())
    return host.copy_(x)


def _sampled(output: Any) -> Any:
    """Of what lies in the host's memory at this moment, every so many elements; what is on the device stays there."""
    # A copy of the whole would take longer than what is still on its way, and so arrive behind it at every element.
    tensor = torch.as_tensor(output)
    return tensor if tensor.is_cuda else tensor[..., ::SAMPLED].clone()


def _whether_pinned(output: Any) -> torch.Tensor:
    tensor = torch.as_tensor(output)
    return torch.tensor([float(tensor.is_pinned() if has_gpu() and not tensor.is_cuda else not has_gpu())])


def on_host(output: Any, seed: int) -> list[float]:
    """The projection of an output in host memory; NaN for one that is still on the device.

    Args:
        output: tensor or array.
        seed: of the projection.
    """
    if torch.as_tensor(output).is_cuda:
        return [math.nan]
    return projection(output, seed)


OVERLAP = Contest(inputs=_batches, reference=serial, probe=on_host)
"""`overlapped` against the serial loop; sizes `count`, `elements`, `rounds`."""

AT_ONCE = Contest(inputs=_batches, reference=serial, probe=on_host, keep=_sampled)
"""What `overlapped` has in its result at the moment when it returns, every so many elements; the same sizes."""

LATE = Contest(inputs=_late, reference=_waited, probe=on_host, keep=_sampled)
"""What `to_host` has in its result at the moment when it returns, every so many elements, behind a slow kernel.

Size `elements`: so many that the copy takes longer than looking does, or who waits for the kernel alone gets by.
"""

PINNED = Contest(inputs=_late, reference=_waited, keep=_whether_pinned)
"""Whether `to_host` gives pinned memory; size `elements`."""
