"""Counts, and on a GPU times, what kernels of the CUDA chapter's second half do to memory: the ladder, reads,
conflicts.

Counts come from `gpulab.trace` and are the same on every machine. Every kernel that is measured is passed in: the
notebook's own naive ones, and the student's. Drawing is `shared_memory.pictures`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpulab import trace
from gpulab.arrays import device_array
from gpulab.measuring.devices import has_gpu
from gpulab.measuring.timing import Ratio, race

WARP = 32
SECTOR_BYTES = 32
TIMED_SHAPE = (16384, 12288)
"""0.8 GB: larger than any cache, and long enough for the launch itself not to count."""

Host = Callable[..., Any]
"""A host function that makes its launches and returns a device array or a number."""


@dataclass(frozen=True)
class Rung:
    """What moving 32 floats costs one version of a kernel."""

    name: str
    read_sectors: float
    """32-byte sectors read for every 32 elements of the result."""
    write_sectors: float
    shared_turns: float
    """Turns of shared memory for every 32 elements: one a request, times its bank-conflict degree."""
    copy_share: Ratio | None = None
    """Rate over that of a copy of the same bytes, where it was timed: on a GPU, and if the version takes any shape."""

    @property
    def turns(self) -> float:
        """All of them together."""
        return self.read_sectors + self.write_sectors + self.shared_turns


class Ladder:
    """Versions of a transpose, from naive to padded, each counted, and timed against a copy where there is a GPU.

    A version that has changed since its last step becomes a further rung, so that the way to the final one stays
    in view.

    Args:
        shape: of the matrix on which is counted.
        timed_shape: of the one that is timed.
    """

    def __init__(self, shape: tuple[int, int] = (96, 64), timed_shape: tuple[int, int] = TIMED_SHAPE) -> None:
        self._shape, self._timed_shape = shape, timed_shape
        self.rungs: list[Rung] = []

    def step(self, name: str, transpose: Host, shape: tuple[int, int] | None = None) -> Rung:
        """Counts one version and adds it as a rung.

        Args:
            name: of the version.
            transpose: takes a matrix, returns the transposed one.
            shape: if it works for one shape only; then it is not timed.
        """
        rows, columns = shape or self._shape
        x = device_array(np.arange(rows * columns, dtype=np.float32).reshape(rows, columns))
        launches = launches_of(transpose, x)
        timed = copy_share(transpose, self._timed_shape) if has_gpu() and shape is None else None
        rung = _rung(name, launches, rows * columns, timed)
        same = [old for old in self.rungs if old.name.partition(", version ")[0] == name]
        if same and _counts(same[-1]) == _counts(rung):
            self.rungs[self.rungs.index(same[-1])] = _renamed(rung, same[-1].name)
        else:
            self.rungs.append(_renamed(rung, f"{name}, version {len(same) + 1}" if same else name))
        return self.rungs[-1]


def launches_of(function: Host, *arguments: Any) -> list[dict[str, Any]]:
    """What each launch did that a host function makes, counted in the tracer."""
    with trace.counting() as launches:
        function(*arguments)
    return launches


def _rung(name: str, launches: Sequence[Mapping[str, Any]], elements: int, timed: Ratio | None) -> Rung:
    warps = elements / WARP
    lines = [line for launch in launches for line in launch["lines"]]
    moved = {
        kind: sum(
            line["requests"] * line["sectors_per_request"]
            for line in lines
            if line["space"] == "global" and line["kind"] == kind
        )
        for kind in ("load", "store")
    }
    turns = sum(line["requests"] * line["bank_conflict_degree"] for line in lines if line["space"] == "shared")
    return Rung(name, moved["load"] / warps, moved["store"] / warps, turns / warps, timed)


def _counts(rung: Rung) -> tuple[float, float, float]:
    return rung.read_sectors, rung.write_sectors, rung.shared_turns


def _renamed(rung: Rung, name: str) -> Rung:
    return Rung(name, *_counts(rung), rung.copy_share)


def copy_share(transpose: Host, shape: tuple[int, int] = TIMED_SHAPE, runs: int = 10) -> Ratio:
    """The rate of a transpose over that of a copy of the same bytes, timed in turn on the GPU."""
    import torch

    x = torch.rand(shape, device="cuda")
    slower = race(transpose, torch.clone, (x,), runs=runs, on="cuda")
    return Ratio(1 / slower.median, slower.spread / slower.median**2, slower.runs, slower.device)


def reads_per_element(function: Host, *arguments: Any, elements: int) -> float:
    """Global reads that the launches of a host function make, for each element of its result."""
    return float(sum(launch["global_reads"] for launch in launches_of(function, *arguments))) / elements


def halo_reads(
    moving_average: Host, radii: Sequence[int] = (1, 4, 8, 16, 32), elements: int = 1024
) -> dict[int, float]:
    """Radius → global reads an element of the student's moving average."""
    x = device_array(np.random.default_rng(7).random(elements, np.float32))
    return {radius: reads_per_element(moving_average, x, radius, elements=elements) for radius in radii}


def atomics_of(function: Host, *arguments: Any) -> int:
    """Atomic operations on global memory that the launches of a host function make."""
    return int(sum(launch["global_atomics"] for launch in launches_of(function, *arguments)))


def conflict_degrees(kernel: Any, strides: Sequence[int]) -> dict[int, int]:
    """Stride → bank-conflict degree of one warp that reads a shared array with it.

    Args:
        kernel: takes a result of 32 floats and the stride; launched as one warp.
        strides: to try.
    """
    out = np.zeros(WARP, np.float32)
    return {stride: trace.run(kernel, 1, WARP, out, stride).bank_conflict_degree for stride in strides}


def product_sectors(products: Mapping[str, Host], m: int = 32, k: int = 48, n: int = 32) -> dict[str, float]:
    """Name → global sectors that a matrix product reads and writes for each element of its result."""
    numbers = np.random.default_rng(7)
    a, b = (device_array(numbers.random(shape, np.float32)) for shape in ((m, k), (k, n)))
    return {name: sectors_of(launches_of(product, a, b)) / (m * n) for name, product in products.items()}


def sectors_of(launches: Sequence[Mapping[str, Any]]) -> float:
    """All 32-byte sectors that launches ask global memory for, atomic operations included."""
    return float(
        sum(
            line["requests"] * line["sectors_per_request"]
            for launch in launches
            for line in launch["lines"]
            if line["space"] == "global"
        )
    )


def histogram_atomics(histogram: Host, bins: Sequence[int] = (4, 64, 1024), elements: int = 4096) -> dict[int, int]:
    """Bins → atomic operations on global memory that the student's histogram makes for so many random values."""
    numbers = np.random.default_rng(7)
    found = {}
    for count in bins:
        values = device_array(numbers.integers(0, count, elements).astype(np.int32))
        found[count] = atomics_of(histogram, values, count)
    return found
