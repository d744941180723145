"""What the transfers chapter's functions are given when they are timed or compared on a GPU; see
`gpulab.measuring.speedup`."""

from __future__ import annotations

import math
from typing import Any

import torch

from gpulab.measuring.devices import device, has_gpu, synchronize
from gpulab.measuring.speedup import Workload, projection

LATE_CYCLES = 100_000_000
"""Of the kernel that `to_host` has to wait for: 50 ms at 2 GHz."""
SAMPLED = 997
"""One element of so many is looked at when a result has to be seen at once."""


def _batches(seed: int, count: int, elements: int, work_rounds: int) -> tuple[list[torch.Tensor], int]:
    """Batches of random float32 in pinned memory, and the rounds."""
    generator = torch.Generator(device=device()).manual_seed(seed)
    made = [torch.empty(elements, pin_memory=has_gpu()) for _ in range(count)]
    for batch in made:
        batch.copy_(torch.rand(elements, generator=generator, device=device()))
    synchronize()
    return made, work_rounds


def _late(seed: int, elements: int) -> tuple[torch.Tensor]:
    """Numbers on the device that come into being when a slow kernel is over, long after this has returned."""
    values = torch.rand(elements, generator=torch.Generator(device=device()).manual_seed(seed), device=device())
    x = torch.full_like(values, -1.0)
    synchronize()
    if has_gpu():
        torch.cuda._sleep(LATE_CYCLES)  # type: ignore[no-untyped-call] # torch's own tests use it: a kernel that only takes time
    return (x.copy_(values),)


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


BATCHES = Workload(inputs=_batches, project=on_host)
"""Batches and rounds; sizes `count`, `elements`, `work_rounds`."""

BATCHES_AT_ONCE = Workload(inputs=_batches, project=on_host, keep=_sampled)
"""The same; what is in the result at the moment when the function returns, every so many elements."""

LATE = Workload(inputs=_late, project=on_host, keep=_sampled)
"""A tensor behind a slow kernel; what is in the result at the moment when the function returns.

Size `elements`: so many that the copy takes longer than looking does, or waiting for the kernel alone would do.
"""

PINNED = Workload(inputs=_late, keep=_whether_pinned)
"""The same; whether the result is in pinned memory."""
