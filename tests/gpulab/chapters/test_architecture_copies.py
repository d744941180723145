"""The GPU on which the visible test of `copy_bandwidth` measures, and the mistakes that it names."""

from __future__ import annotations

import statistics
import time

import pytest
import torch

from gpulab import virtual_gpu
from gpulab.chapters.architecture.practice import CopyGPU

BYTES = 100_000


def timed(
    gpu: CopyGPU, runs: int = 1, warm: int = 1, wait: bool = True, bare: bool = True, measurements: int = 3
) -> float:
    """GB/s, read and written, median of several measurements: each of `runs` copies between two looks at the clock."""
    seconds = []
    with virtual_gpu.running(gpu):
        source = torch.ones(BYTES, dtype=torch.uint8, device="cuda")
        target = torch.empty_like(source)
        for _ in range(warm):
            target.copy_(source)
        for _ in range(measurements):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(runs):
                target.copy_(source if bare else torch.ones_like(source))
            if wait:
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - begin)
    return 2 * BYTES / statistics.median(seconds) / 1e9


@pytest.mark.parametrize("faster", [1.0, 2.2])
def test_copies_run_at_its_rate(faster: float) -> None:
    gpu = CopyGPU(faster)
    answer = timed(gpu)
    gpu.require(answer, BYTES)
    assert answer == pytest.approx(0.74 * faster, rel=0.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"wait": False}, "Not synchronized"),
        ({"runs": 3}, "several runs together"),
        ({"warm": 0, "measurements": 1}, "A cold first copy"),
        ({"measurements": 2}, "Fewer than three measurements: one slow run spoils a mean"),
        ({"warm": 3, "measurements": 1}, "is right here, but not reliable. Fewer than three measurements"),
        (
            {"bare": False, "measurements": 1},
            "More than the copy is timed: the allocation and the creation of the data",
        ),
    ],
)
def test_how_a_copy_was_measured_is_named(options: dict[str, int], words: str) -> None:
    gpu = CopyGPU()
    answer = timed(gpu, **options)
    with pytest.raises(AssertionError, match=words):
        gpu.require(answer, BYTES)


@pytest.mark.parametrize(
    ("factor", "words"),
    [(0.5, "one direction"), (1e3, "MB/s"), (1e9, "bytes per second"), (0.9313, "GiB"), (8.0, "bits")],
)
def test_what_was_counted_is_named(factor: float, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        CopyGPU().require(0.74 * factor, BYTES)


def test_memory_that_was_freed_costs_nothing_the_second_time() -> None:
    gpu = CopyGPU()
    with virtual_gpu.running(gpu):
        source = torch.ones(BYTES, dtype=torch.uint8, device="cuda")
        seconds = []
        for _ in range(6):
            begin = time.perf_counter()
            copy = source.clone()
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - begin)
            del copy
    gpu.require(2 * BYTES / sorted(seconds)[2] / 1e9, BYTES)


def test_a_figure_from_a_datasheet_was_not_measured() -> None:
    with pytest.raises(AssertionError, match="was it measured"):
        CopyGPU().require(4800.0, BYTES)
