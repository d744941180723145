"""Kernels in CUDA C++ for readings, launched without the guards and the waiting of `gpulab.cuda_cpp.run`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

KernelLaunch = Callable[..., None]
"""(blocks, threads per block, arguments …) puts a launch on torch's stream; arguments are tensors and NumPy scalars."""


def launcher(source: str, name: str) -> KernelLaunch:
    """What launches a kernel, compiled for this machine's GPU.

    Args:
        source: CUDA C++.
        name: of the kernel, which is declared `extern "C"`.
    """
    import torch
    from cuda.core import Device, LaunchConfig, launch

    from gpulab.cuda_cpp import gpu_kernel

    kernel = gpu_kernel(source, name)
    device = Device(torch.cuda.current_device())

    def start(blocks: int, threads: int, *arguments: Any) -> None:
        passed = [one.data_ptr() if isinstance(one, torch.Tensor) else one for one in arguments]
        device.set_current()
        launch(device.default_stream, LaunchConfig(grid=blocks, block=threads), kernel, *passed)

    return start


def host_seconds(work: Callable[[], Any], rounds: int = 20, warm_ups: int = 3) -> float:
    """Median seconds from the call of `work` to the end of everything that it put on the GPU, by the host's clock."""
    import statistics
    import time

    from gpulab.measuring.devices import synchronize

    found = []
    for place in range(warm_ups + rounds):
        synchronize()
        start = time.perf_counter()
        work()
        synchronize()
        if place >= warm_ups:
            found.append(time.perf_counter() - start)
    return statistics.median(found)
