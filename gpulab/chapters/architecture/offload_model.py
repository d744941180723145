"""Measures and models trips between host and GPU for the architecture chapter: the stations of a job, and who wins at
which size.

A model takes its rates from `data/gpus.csv` and says so; everything else is measured on this machine. Drawing is
`architecture.offload_pictures`. Answers to the exercises are not here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpulab.measuring.devices import device_name, has_gpu, synchronize
from gpulab.measuring.once import once
from gpulab.measuring.timing import measure

LAUNCH_US = 10.0
"""From the host's call to the kernel's first instruction, and back: the usual order of magnitude, for models."""
HOST_COPY_BYTES = 1 << 27
HOST_MATRIX = 1024
PCIE_GBS = {"T4": 12.0, "A100 80GB": 25.0, "H200": 55.0}
"""What pinned copies reach over PCIe 3, 4 and 5 with 16 lanes, which is what these GPUs have."""


@dataclass(frozen=True)
class Lifetime:
    """The four stations of a job that lies in the host's memory, in ms."""

    job: str
    copy_in_ms: float
    launch_ms: float
    compute_ms: float
    copy_out_ms: float
    origin: str
    """Where the figures come from: a model over a datasheet, or the device that they were measured on."""

    @property
    def stations_ms(self) -> tuple[float, float, float, float]:
        """Copy in, launch, compute, copy out."""
        return self.copy_in_ms, self.launch_ms, self.compute_ms, self.copy_out_ms

    @property
    def compute_share(self) -> float:
        """Share of the whole time in which the GPU computes."""
        return self.compute_ms / sum(self.stations_ms)


@dataclass(frozen=True)
class Race:
    """The same job in two places over its size, medians in seconds."""

    sizes: list[int]
    home_seconds: list[float]
    away_seconds: list[float]
    """With the data already there."""
    round_trip_seconds: list[float]
    """With the data brought there and back."""
    home: str
    away: str


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


def lifetimes(gpu: dict[str, Any], link_gbs: float) -> list[Lifetime]:
    """A model of three float32 jobs on a GPU by its datasheet, one station after the other.

    Args:
        gpu: a row of `data/gpus.csv`.
        link_gbs: what the copies reach.
    """
    origin = f"Model: {gpu['gpu']} by its datasheet, {link_gbs:g} GB/s link, {LAUNCH_US:g} µs launch"
    jobs = [("add 2 vectors of 64 million", 512e6, 256e6, 64e6)]
    jobs += [(f"multiply {n}² matrices", 8.0 * n**2, 4.0 * n**2, 2.0 * n**3) for n in (1024, 8192)]
    return [
        Lifetime(
            job,
            bytes_in / link_gbs / 1e6,
            LAUNCH_US / 1e3,
            max(flops / gpu["fp32_tflops"] / 1e9, (bytes_in + bytes_out) / gpu["bandwidth_gbs"] / 1e6),
            bytes_out / link_gbs / 1e6,
            origin,
        )
        for job, bytes_in, bytes_out, flops in jobs
    ]


def measured_lifetimes() -> list[Lifetime]:
    """The jobs of `lifetimes`, measured on this machine's GPU, the host's arrays in pinned memory."""
    import torch

    def stations(job: str, shape: tuple[int, ...], compute: Callable[[Any, Any], Any]) -> Lifetime:
        hosts = [torch.rand(shape).pin_memory() for _ in range(2)]
        inputs = [torch.empty(shape, device="cuda") for _ in hosts]
        result = compute(*inputs)
        home = torch.empty(shape).pin_memory()
        copy_in = measure(lambda: [there.copy_(here) for there, here in zip(inputs, hosts, strict=True)], runs=5)
        work = measure(lambda: compute(*inputs), runs=5)
        copy_out = measure(lambda: home.copy_(result), runs=5)
        return Lifetime(
            job,
            copy_in.median_ms,
            launch_ms,
            work.median_ms,
            copy_out.median_ms,
            f"Measured on {device_name()}, host arrays in pinned memory",
        )

    tiny = torch.zeros(1, device="cuda")

    def launch_and_wait() -> None:
        tiny.add_(1)
        synchronize()

    launch_ms = measure(launch_and_wait, on="cpu").median_ms
    return [
        stations("add 2 vectors of 64 million", (64_000_000,), torch.add),
        stations("multiply 1024² matrices", (1024, 1024), torch.mm),
        stations("multiply 8192² matrices", (8192, 8192), torch.mm),
    ]


def race_by_size(decades: int | None = None) -> Race:
    """x³ − 2x + 1 for all x: the CPU against the GPU where there is one, else a Python loop against NumPy.

    Args:
        decades: sizes go up to half of ten to this power; as far as some seconds allow when left out.
    """
    seconds_at = _against_gpu if has_gpu() else _against_numpy
    sizes = [step * 10**decade for decade in range(decades or (7 if has_gpu() else 5)) for step in (1, 2, 5)]
    rows = [seconds_at(size) for size in sizes]
    home, away = (device_name("cpu"), device_name("cuda")) if has_gpu() else ("Python loop", "NumPy")
    return Race(sizes, [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows], home, away)


def _against_numpy(size: int) -> tuple[float, float, float]:
    import numpy as np

    listed = [number / size for number in range(size)]
    there = np.array(listed)
    return (
        _host_seconds(lambda: [x * x * x - 2 * x + 1 for x in listed]),
        _host_seconds(lambda: there * there * there - 2 * there + 1),
        _host_seconds(lambda: ((x := np.array(listed)) * x * x - 2 * x + 1).tolist()),
    )


def _against_gpu(size: int) -> tuple[float, float, float]:
    import torch

    here = torch.rand(size, generator=torch.Generator().manual_seed(7))
    there = here.to("cuda")

    def on_the_gpu() -> None:
        there * there * there - 2 * there + 1
        synchronize()

    return (
        _host_seconds(lambda: here * here * here - 2 * here + 1),
        _host_seconds(on_the_gpu),
        _host_seconds(lambda: ((x := here.to("cuda")) * x * x - 2 * x + 1).cpu()),
    )


def _host_seconds(work: Callable[[], object]) -> float:
    """By the processor's clock: the launch and the wait are what the host has to pay, so they count."""
    return measure(work, runs=9, on="cpu", at_most_s=0.2).median_ms / 1e3
