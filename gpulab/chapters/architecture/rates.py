"""Measures what the architecture chapter shows of memory and arithmetic: one read, one copy, the roofline, the first
run.

Trips between host and GPU are in `offload_model`, drawing is in `rates_pictures`.
"""

from __future__ import annotations

import statistics
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpulab.measuring.devices import device, device_name, has_gpu, synchronize
from gpulab.measuring.once import once
from gpulab.measuring.timing import measure, one_thread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KIB = 1024
READ_SIZES = tuple(KIB << doublings for doublings in range(4, 18))
COPY_SIZES = tuple(KIB << doublings for doublings in range(18))
VECTOR_ELEMENTS = {"cpu": 1 << 24, "cuda": 1 << 28}
"""Of the vectors under the roofline: enough to leave the caches."""
LARGEST_MATRIX = {"cpu": 1024, "cuda": 8192}
"""Rows of the largest one under the roofline: as many as a second allows."""
FIRST_BYTES, FIRST_RUNS = 64_000_000, 40
"""Of the copies that are timed from the very first."""


@dataclass(frozen=True)
class ReadTime:
    """One random read of 8 bytes from a table of this size: alone, and as one of many whose places are known."""

    nbytes: int
    chase_ns: float
    """Each read needs the result of the one before it."""
    gather_ns: float
    """All places are known beforehand."""


@dataclass(frozen=True)
class CopyRate:
    """A copy within the device's memory."""

    nbytes: int
    """Size of the source."""
    gbs: float
    """Read + written."""
    microseconds: float


@dataclass(frozen=True)
class Point:
    """A program under a roofline."""

    name: str
    intensity: float
    """FLOP per byte, each array moved once."""
    gflops: float


@dataclass(frozen=True)
class Roofline:
    """Measured programs, and the two roofs that the same device showed."""

    points: list[Point]
    memory_gbs: float
    """The fastest traffic measured: of a copy, a sum or a vector addition."""
    peak_gflops: float
    """The fastest float32 arithmetic measured: of a matrix product."""
    device: str

    @property
    def ridge(self) -> float:
        """FLOP per byte at which the roofs meet."""
        return self.peak_gflops / self.memory_gbs


@dataclass(frozen=True)
class FirstCopies:
    """Copies of the same bytes to the same place, in the order in which they ran."""

    milliseconds: list[float]
    nbytes: int
    device: str

    @property
    def median_ms(self) -> float:
        """Median of all but the first."""
        return statistics.median(self.milliseconds[1:])


def read_times(sizes: Sequence[int] = READ_SIZES) -> list[ReadTime]:
    """Times chased and gathered reads from tables of these sizes (bytes, powers of two) on one CPU core."""
    return [_read_time(nbytes) for nbytes in sizes]


def one_cycle(count: int) -> NDArray[np.int64]:
    """A table in which each entry names the next place, through all places and back, in no order that hardware guesses.

    A linear congruential generator with full period (Hull and Dobell, 1962).

    Args:
        count: entries; a power of two, 8 at least.
    """
    import numpy as np

    multiplier, increment = 0x5851F42D4C957F2D % count // 8 * 8 + 5, 0x14057B7EF767814F % count | 1
    return (np.arange(count, dtype=np.int64) * multiplier + increment) & (count - 1)


def _read_time(nbytes: int, steps: int = 5_000, runs: int = 21) -> ReadTime:
    import numpy as np

    following = one_cycle(nbytes // 8)
    chained, place = array("q", following.tobytes()), 0
    chases = []
    for _ in range(runs):  # each run goes on where the last one stopped: places not seen before
        start = time.perf_counter()
        for _ in range(steps):
            place = chained[place]
        chases.append((time.perf_counter() - start) / steps)
    places = np.random.default_rng(7).integers(0, len(following), 1 << 17)
    result = np.empty_like(places)
    gathering = measure(lambda: np.take(following, places, out=result, mode="clip"), runs=9, on="cpu")
    return ReadTime(nbytes, statistics.median(chases) * 1e9, gathering.median_ms * 1e6 / len(places))


def chase_ratio(reads: Sequence[ReadTime]) -> float:
    """How many times longer a step takes in the largest table than in the smallest."""
    return reads[-1].chase_ns / reads[0].chase_ns


def reads_in_flight(reads: Sequence[ReadTime]) -> float:
    """Little's law on one core: the latency that the largest table adds, over the time between two known reads."""
    return (reads[-1].chase_ns - reads[0].chase_ns) / reads[-1].gather_ns


@once
def copy_rates() -> list[CopyRate]:
    """Times copies of `COPY_SIZES` bytes within the device's memory; on a CPU by one core."""
    import torch

    rates = []
    with one_thread():
        for nbytes in COPY_SIZES:
            source = torch.ones(nbytes, dtype=torch.uint8, device=device())
            timing = measure(torch.empty_like(source).copy_, source, runs=9, at_most_s=0.15)
            rates.append(CopyRate(nbytes, 2 * nbytes / (timing.median_ms * 1e6), timing.median_ms * 1e3))
    return rates


@once
def roofline() -> Roofline:
    """A vector addition, a sum and square matrix products, all float32, with the roofs that the same device shows.

    Measured on the GPU, or on one core of the CPU.
    """
    import torch

    where = device()
    generator = torch.Generator(device=where).manual_seed(7)
    count, most = VECTOR_ELEMENTS[where.type], LARGEST_MATRIX[where.type]
    left, right = (torch.rand(count, device=where, generator=generator) for _ in range(2))
    result = torch.empty_like(left)
    with one_thread():
        streams = [
            Point("vector addition", 1 / 12, count / _seconds(lambda: torch.add(left, right, out=result)) / 1e9),
            Point("sum", 1 / 4, count / _seconds(lambda: left.sum()) / 1e9),
        ]
        copy_gbs = 8 * count / _seconds(lambda: result.copy_(left)) / 1e9
        products = []
        for size in (1 << doublings for doublings in range(3, most.bit_length())):
            first, second = (torch.rand(size, size, device=where, generator=generator) for _ in range(2))
            product = torch.empty_like(first)
            seconds = _seconds(lambda: torch.mm(first, second, out=product))  # noqa: B023 - called at once
            products.append(Point(f"{size}²", size / 6, 2 * size**3 / seconds / 1e9))
    memory_gbs = max([copy_gbs, *(stream.gflops / stream.intensity for stream in streams)])
    points = streams + products
    return Roofline(points, memory_gbs, max(point.gflops for point in points), worker())


def worker() -> str:
    """What a copy or a product of this module is measured on: the GPU, or one core of the CPU."""
    return device_name() if has_gpu() else f"one core of {device_name('cpu').rsplit(',', 1)[0]}"


def _seconds(work: Callable[[], object]) -> float:
    return measure(work, runs=9, at_most_s=0.4).median_ms / 1e3


@once
def first_copies() -> FirstCopies:
    """Times every copy from the very first, into memory that nobody has touched since the allocator handed it out."""
    import torch

    source = torch.ones(FIRST_BYTES, dtype=torch.uint8, device=device())
    if has_gpu():
        torch.cuda.empty_cache()
    target = torch.empty_like(source)
    milliseconds = []
    for _ in range(FIRST_RUNS):
        synchronize()
        start = time.perf_counter()
        target.copy_(source)
        synchronize()
        milliseconds.append((time.perf_counter() - start) * 1e3)
    return FirstCopies(milliseconds, FIRST_BYTES, device_name())
