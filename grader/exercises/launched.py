"""Whose fault it is that a script failed on the GPU: its author's, or the device's, which costs no points."""

from __future__ import annotations

import re

from gpulab.ranks.launch import Run

_DEVICE = re.compile(
    r"CUDA (?:error|out of memory|driver|initialization|call)|CUDA GPUs|CUDA-capable|cuDNN|CUDNN_|CUBLAS_"
)
"""What PyTorch says of a device that does not work; of tensors on different devices, it says "cuda:0 and cpu"."""


def failed_by_device(run: Run) -> bool:
    """Whether a launch failed in a way that says nothing about its script: an error of the device, or out of time.

    The same script has run on the CPU before: what hangs, hangs there. On a device, the first use takes seconds.
    """
    return bool(run.problem) and ("still ran" in run.problem or any(_DEVICE.search(one.output) for one in run.ranks))
