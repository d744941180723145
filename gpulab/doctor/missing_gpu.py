"""Why there is no GPU where there should be one, in two sentences, for the first page of a chapter."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

from gpulab.doctor import gpu_troubles
from gpulab.doctor.hosts import this_host

DEVICES = ("nvidia0", "nvidiactl", "dxg")
"""Device files that only a driver makes; `dxg` is WSL's."""


def why_no_gpu(
    environment: Mapping[str, str], devices: Path = Path("/dev"), proc: Path = Path("/proc/driver/nvidia")
) -> str:
    """The reason and the remedy where a GPU should be usable and is not; empty where none is expected.

    Called when torch sees no GPU.

    Args:
        environment: the process's variables.
        devices: the folder of device files.
        proc: where a loaded NVIDIA driver shows itself, also in a container that was not given its GPUs.
    """
    if any((devices / name).exists() for name in DEVICES):
        doctor = 'Run "python -m gpulab.doctor" in a terminal: it says what to do.'
        return f"This machine has an NVIDIA GPU that PyTorch cannot use: {_said_by_torch(environment)}. {doctor}"
    if proc.exists():
        return f"The machine has one, but {gpu_troubles.NO_DEVICES.found}. {gpu_troubles.NO_DEVICES.remedy}"
    host = this_host(environment)
    return f"{host.name} runs this notebook without a GPU. {host.gpu}" if host else ""


def _said_by_torch(environment: Mapping[str, str]) -> str:
    """PyTorch's own message, without a period at the end."""
    import torch

    if environment.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return f'CUDA_VISIBLE_DEVICES is set to "{environment["CUDA_VISIBLE_DEVICES"]}", which hides it'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.cuda.init()  # type: ignore[no-untyped-call]
        except Exception as error:  # whatever the driver or the build says
            return " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return "it finds no device"
