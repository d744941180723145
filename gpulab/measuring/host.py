"""`this_machine`: what a notebook runs on, and why there is no GPU where there should be one."""

from __future__ import annotations

import os
import platform
import sys

from gpulab.doctor.missing_gpu import why_no_gpu
from gpulab.measuring.devices import device_name, has_gpu


def this_machine() -> None:
    """Prints the processor, Python and its lock, and the GPU; where a GPU cannot be used, the reason and the remedy."""
    switched_on = getattr(sys, "_is_gil_enabled", lambda: True)()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"CPU      {device_name('cpu')}, {cores} of {os.cpu_count()} cores for this process")
    print(f"Python   {platform.python_version()}, global interpreter lock {'on' if switched_on else 'off'}")
    if has_gpu():
        import torch

        of_gpu = torch.cuda.get_device_properties(0)
        resident = of_gpu.multi_processor_count * of_gpu.max_threads_per_multi_processor
        capability = f"compute capability {of_gpu.major}.{of_gpu.minor}"
        print(f"GPU      {of_gpu.name}, {of_gpu.total_memory / 1e9:.0f} GB, {capability}")
        print(f"         {of_gpu.multi_processor_count} SMs, {resident:,} threads resident at once")
        return
    print(f"GPU      {no_gpu('none here: every exercise works, and points that only a GPU can give stay pending')}")


def no_gpu(text: str) -> str:
    """What a chapter says without a GPU; where there should be one, the reason and the remedy on a second line."""
    reason = why_no_gpu(os.environ)
    return f"{text}\n         {reason}" if reason else text
