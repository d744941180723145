"""What `cudnn.benchmark` gains a convolution and costs a first call: measured on a GPU, not at all without one.

The chapter's other looks at a step are `profiling.hunt`'s.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from gpulab.measuring.devices import has_gpu
from gpulab.measuring.timing import Timing, measure

DEVICE, TYPE = "cuda", "float16"
NOT_MEASURED = (
    "Not measured: cuDNN is a library for GPUs, and there is none here. What the paragraph above says was not checked "
    "on this machine."
)


@dataclass(frozen=True)
class Choice:
    """One convolution, with cuDNN's own guess of an algorithm or with the one that it has tried out."""

    benchmark: bool
    first_ms: float
    """Of the first call with this shape: trying out is in it."""
    later: Timing

    def __str__(self) -> str:
        return f"cudnn.benchmark = {self.benchmark!s:5}: first call {self.first_ms:7.1f} ms, then {self.later}"


def compare(shape: tuple[int, int, int, int] = (64, 64, 56, 56)) -> list[Choice]:
    """The same convolution without and with `cudnn.benchmark`, in this order; an empty list where there is no GPU.

    Args:
        shape: of the pictures, float16: number, channels, height, width. The kernel is 3 × 3, channels stay.
    """
    if not has_gpu():
        return []
    import torch

    kind = getattr(torch, TYPE)
    pictures = torch.randn(*shape, device=DEVICE, dtype=kind)
    layer: Any = torch.nn.Conv2d(shape[1], shape[1], 3, padding=1).to(DEVICE, kind)
    _milliseconds(lambda: layer(pictures[:1]))  # loads the library: that is not what is to be measured
    found, before = [], torch.backends.cudnn.benchmark
    try:
        for benchmark in (False, True):
            torch.backends.cudnn.benchmark = benchmark
            first_ms = _milliseconds(lambda: layer(pictures))
            found.append(Choice(benchmark, first_ms, measure(layer, pictures, runs=15, on=DEVICE)))
    finally:
        torch.backends.cudnn.benchmark = before
    return found


def report() -> list[Choice]:
    """Prints the comparison, or that nothing was compared; gives it, without and with the switch."""
    found = compare()
    for choice in found:
        print(choice)
    if not found:
        print(NOT_MEASURED)
    return found


def _milliseconds(function: Any) -> float:
    """One call, waited for."""
    import torch

    torch.cuda.synchronize()
    started = time.perf_counter()
    with torch.no_grad():
        function()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - started)
