"""Makes a GPU ready before the first process of a submission starts: in there it is too late for some of it.

- `/dev/nvidia-uvm` is made when CUDA is first initialized, and a confined process can make no device file.
- The first process that loads cuBLAS and cuDNN reads a gigabyte from disk, which no call of a student's has time for.
- Without a process that has it open, the driver shuts a GPU down; the next process waits seconds for it.

None of this initializes CUDA in the process that asks for it.
"""

from __future__ import annotations

import contextlib
import functools
import subprocess
import sys
import time

from gpulab.doctor import gpu_troubles, hardware
from grader.model.course import CourseError

FIRST_USE = """
import torch
x = torch.ones(64, 64, device="cuda")
(x @ x).sum().item()
torch.nn.functional.conv2d(x[None, None], x[None, None, :3, :3]).sum().item()
"""
"""Initializes CUDA, and loads what is slow to load from a cold disk."""
SECONDS = 180.0
"""For that, on a slow disk."""


class FirstUse:
    """A process, not confined, that uses the GPU once and ends. What it meets is for the doctor to tell."""

    def __init__(self) -> None:
        self._until = time.monotonic() + SECONDS
        quiet = subprocess.DEVNULL
        command = [sys.executable, "-P", "-c", FIRST_USE]
        self._process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)

    def wait(self) -> None:
        """Returns when it has ended; it is killed when it takes too long."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, self._until - time.monotonic()))
            return
        self._process.kill()
        self._process.wait()


@functools.cache
def begun() -> FirstUse | None:
    """The first use of the GPU for this process, begun with the first call; None without a GPU."""
    if not hardware.gpus():
        return None
    hold()
    return FirstUse()


def hold() -> None:
    """Keeps the driver's management library and with it every visible GPU open, until this process ends."""
    import pynvml

    with contextlib.suppress(pynvml.NVMLError):
        pynvml.nvmlInit()  # counted: who opens it after us and closes it again leaves it open
        for index in range(pynvml.nvmlDeviceGetCount()):
            pynvml.nvmlDeviceGetHandleByIndex(index)


def refuse_exclusive() -> None:
    """Raises where a GPU is for one process at a time.

    Raises:
        CourseError: grading would fail: a submission's own processes would keep each other from the GPU.
    """
    for gpu in hardware.gpus():
        if gpu.compute_mode:
            what = f"is in compute mode {gpu.compute_mode!r}, and the processes of a submission share the GPU"
            raise CourseError(gpu.name, what, f"{gpu_troubles.SHARE} {gpu_troubles.WITHOUT}")
