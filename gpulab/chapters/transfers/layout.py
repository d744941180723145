"""Times the two things that `.to` does besides moving: another element type, another order of the elements.

Drawing is `transfers.pictures`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from gpulab.measuring.devices import device, device_name, has_gpu
from gpulab.measuring.timing import Timing, measure, one_thread

LAYOUTS = {"channels first": torch.contiguous_format, "channels last": torch.channels_last}


@dataclass(frozen=True)
class Casts:
    """A batch of pictures on its way to float32 on the GPU."""

    shape: tuple[int, ...]
    cast_ms: Timing
    """From uint8 to float32, by the CPU."""
    carry_ms: dict[str, float]
    """Element type → what the batch takes over the link."""
    link: str
    """Whose rate that is."""


def casts(shape: tuple[int, ...] = (64, 3, 224, 224)) -> Casts:
    """What casting costs the CPU, beside what carrying costs the link."""
    pictures = torch.randint(256, shape, dtype=torch.uint8)
    with one_thread():
        cast = measure_on_cpu(pictures)
    rate_gbs, link = _link()
    sizes = {"uint8": pictures.nbytes, "float32": 4 * pictures.nbytes}
    return Casts(shape, cast, {name: size / rate_gbs / 1e6 for name, size in sizes.items()}, link)


def measure_on_cpu(pictures: torch.Tensor) -> Timing:
    """The cast of a batch by one core."""
    import statistics
    import time

    pictures.float()
    times_ms = []
    for _ in range(9):
        started = time.perf_counter()
        pictures.float()
        times_ms.append(1e3 * (time.perf_counter() - started))
    lower, middle, upper = statistics.quantiles(times_ms, n=4)
    return Timing(middle, (upper - lower) / 2, len(times_ms), device_name("cpu"))


def _link() -> tuple[float, str]:
    """GB/s into the GPU: measured where there is one."""
    if not has_gpu():
        from gpulab.chapters.transfers.models import LINK_GBS

        return LINK_GBS, f"carrying at {LINK_GBS:g} GB/s, PCIe 5 × 16 by its specification"
    from gpulab.measuring import machine

    rate_gbs = machine.ceilings().h2d_gbs
    return float(rate_gbs or 0.0), f"carrying at the {rate_gbs:.3g} GB/s of pinned memory on {device_name()}"


def convolutions(batch: int = 16, channels: int = 64, side: int = 56) -> dict[str, Timing]:
    """The same convolution on the same numbers, in both orders of their elements.

    Args:
        batch: pictures.
        channels: in and out.
        side: height and width.
    """
    kind = torch.float16 if has_gpu() else torch.float32
    x = torch.randn(batch, channels, side, side, device=device(), dtype=kind)
    layer = nn.Conv2d(channels, channels, 3, padding=1).to(device(), kind)
    times = {}
    with torch.no_grad(), one_thread():
        for name, layout in LAYOUTS.items():
            there = layer.to(memory_format=layout)
            times[name] = measure(there, x.to(memory_format=layout), runs=9, at_most_s=1.0)
    return times
