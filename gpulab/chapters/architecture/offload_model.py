"""Measures what the host reaches, for the architecture chapter's comparison with GPUs. `offload_pictures` draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpulab.measuring.devices import device_name
from gpulab.measuring.once import once
from gpulab.measuring.timing import measure

LAUNCH_US = 10.0
"""From the host's call to the kernel's first instruction, and back: the usual order of magnitude, for models."""
HOST_COPY_BYTES = 1 << 27
HOST_MATRIX = 1024
PCIE_GBS = {"T4": 12.0, "A100 80GB": 25.0, "H200": 55.0}
"""What pinned copies reach over PCIe 3, 4 and 5 with 16 lanes, which is what these GPUs have."""


@dataclass(frozen=True)
class HostRates:
    """What the CPU of this machine reaches, also where there is a GPU."""

    device: str
    memory_gbs: float
    """Read + written, of a large copy."""
    peak_gflops: float
    """Of a float32 matrix product."""


@once
def host_rates() -> HostRates:
    """Measures the CPU's side of the bargain: a copy of `HOST_COPY_BYTES`, a product of `HOST_MATRIX` rows."""
    import torch

    generator = torch.Generator().manual_seed(7)
    source = torch.randint(256, (HOST_COPY_BYTES,), dtype=torch.uint8, generator=generator)
    copying = measure(torch.ones_like(source).copy_, source, runs=15, on="cpu", at_most_s=1.0)
    first, second = (torch.rand(HOST_MATRIX, HOST_MATRIX, generator=generator) for _ in range(2))
    product = torch.empty_like(first)
    multiplying = measure(lambda: torch.mm(first, second, out=product), runs=9, on="cpu", at_most_s=0.4)
    memory_gbs = 2 * HOST_COPY_BYTES / copying.median_ms / 1e6
    return HostRates(device_name("cpu"), memory_gbs, 2 * HOST_MATRIX**3 / multiplying.median_ms / 1e6)


def _host_seconds(work: Callable[[], object]) -> float:
    """By the processor's clock: the launch and the wait are what the host has to pay, so they count."""
    return measure(work, runs=9, on="cpu", at_most_s=0.2).median_ms / 1e3
