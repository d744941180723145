"""Readings of this machine's own offloading: copies, launches, and work, each alone and one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.exercises.architecture.rates import FLOPS_OF_A_STEP, FMA_CU, THREADS
from grader.exercises.architecture.unguarded_launches import host_seconds, launcher

SIZES = (512, 2048, 128, 1024, 64, 256, 32)
"""Of the square matrices that are multiplied, in no order."""


def stations(nbytes: int = 64_000_000, work_ms: float = 10.0) -> dict[str, Any]:
    """Rates of the link, of arithmetic and of launches, and seconds that five jobs took that are made of these.

    Args:
        nbytes: of a copy.
        work_ms: of the longest kernel.
    """
    import numpy as np
    import torch

    from gpulab import device, has_gpu
    from grader.exercises.on_gpu import attribute, median_ms

    blocks = 4 * attribute("MULTIPROCESSOR_COUNT")
    host = torch.zeros(nbytes, dtype=torch.uint8, pin_memory=has_gpu())
    there = torch.zeros(nbytes, dtype=torch.uint8, device=device())
    out = torch.empty(blocks * THREADS, device=device())
    cycles, ns = torch.zeros((2, blocks), dtype=torch.int64, device=device())
    start = launcher(FMA_CU, "multiply_add")

    def work(steps: int) -> None:
        start(blocks, THREADS, np.float32(0), np.int32(steps), out, cycles, ns)

    def flops(steps: int) -> int:
        return blocks * THREADS * steps * FLOPS_OF_A_STEP

    steps = max(10, int(64 * work_ms / median_ms(lambda: work(64))))
    launch_s, half = host_seconds(lambda: work(0)), nbytes // 2
    inward = half / host_seconds(lambda: there[:half].copy_(host[:half])) / 1e9
    outward = half / host_seconds(lambda: host[:half].copy_(there[:half])) / 1e9
    gflops = flops(steps // 2) / median_ms(lambda: work(steps // 2)) / 1e6
    jobs: dict[str, tuple[bool, bool, int, float]] = {  # name → copies in, copies out, steps, GB/s
        "copy in": (True, False, 1, inward),
        "copy out": (False, True, 1, outward),
        "copy in and out": (True, True, 1, 2 / (1 / inward + 1 / outward)),
        "compute": (False, False, steps, inward),
        "launch": (False, False, 1, inward),
    }
    found = []
    for name, (goes, comes, count, link) in jobs.items():

        def job(goes: bool = goes, comes: bool = comes, count: int = count) -> None:
            if goes:
                there.copy_(host)
            work(count)
            if comes:
                host.copy_(there)

        given = {
            "bytes_in": nbytes * goes, "bytes_out": nbytes * comes, "flops": flops(count), "link_gbs": link,
            "gpu_gflops": gflops, "launch_us": 1e6 * launch_s,
        }  # fmt: skip
        found.append([name, given, host_seconds(job)])
    return {"jobs": found}


def crossing(sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """Seconds of square matrix products on the CPU, and on the GPU with the copies there and back."""
    import torch

    from gpulab import device

    def both(size: int) -> tuple[float, float]:
        a, b = torch.rand(2, size, size)
        work: tuple[Callable[[], Any], ...] = (
            lambda: torch.mm(a, b),
            lambda: torch.mm(a.to(device()), b.to(device())).cpu(),
        )
        on_cpu, on_gpu = (host_seconds(one, rounds=7, warm_ups=2) for one in work)
        return on_cpu, on_gpu

    times = [both(size) for size in sizes]
    return {"sizes": list(sizes), "cpu_seconds": [cpu for cpu, _ in times], "gpu_seconds": [gpu for _, gpu in times]}
