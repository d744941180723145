"""Finds the layers of software between a program and a GPU on this machine, for the end of the architecture chapter.

Only what a student needs to see which layer is missing; whether an instructor's machine can grade is another matter.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import warnings
from dataclasses import dataclass

MISSING = "none"


@dataclass(frozen=True)
class Layer:
    """One layer, from the program down to the hardware."""

    name: str
    found: str
    """Its version, or `none`."""
    role: str
    """What it is for, a few words."""


def software_stack() -> list[Layer]:
    """The layers of this machine, the program on top; asking needs no GPU and changes nothing."""
    import torch

    gpus, driver, served = _driver()
    return [
        Layer("Python", f"{platform.python_version()}, {_environment()}", "runs your program"),
        Layer("PyTorch", str(torch.__version__), "the library you call"),
        Layer("cuDNN", _cudnn(), "convolutions, recurrent layers, attention; came with PyTorch"),
        Layer("CUDA runtime", torch.version.cuda or MISSING, "talks to the driver; came with PyTorch"),
        Layer("CUDA toolkit (nvcc)", _nvcc(), "compiles kernels; PyTorch runs without it"),
        Layer("newest CUDA for this driver", served, "has to be no older than the runtime"),
        Layer("driver", driver, "belongs to the machine, not to your environment"),
        Layer("GPU", gpus, "the hardware"),
    ]


def _environment() -> str:
    if sys.prefix != sys.base_prefix:
        return "in a virtual environment"
    return "in a conda environment" if "conda" in sys.version else "of the system"


def _cudnn() -> str:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without a GPU some versions warn on being asked
        version: int | None = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
    return cudnn_version(version) if version else MISSING


def cudnn_version(number: int) -> str:
    """91002 is 9.10.2; up to version 8 it was 8902 for 8.9.2."""
    major, rest = divmod(number, 10_000) if number >= 90_000 else divmod(number, 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def _nvcc() -> str:
    path = shutil.which("nvcc")
    if path is None:
        return MISSING
    try:
        shown = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return "there, but does not start"
    release = re.search(r"release ([\d.]+)", shown)
    return release.group(1) if release else "there, of unknown version"


def _driver() -> tuple[str, str, str]:
    """Names of the GPUs, version of the driver, newest CUDA that it serves: as the management library tells."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return MISSING, MISSING, MISSING
    try:
        names = [
            _text(pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(i)))
            for i in range(pynvml.nvmlDeviceGetCount())
        ]
        served = pynvml.nvmlSystemGetCudaDriverVersion()
        return (
            ", ".join(names) or MISSING,
            _text(pynvml.nvmlSystemGetDriverVersion()),
            f"{served // 1000}.{served % 1000 // 10}",
        )
    except pynvml.NVMLError as error:
        return "cannot be asked", f"there, but says: {error}", MISSING
    finally:
        pynvml.nvmlShutdown()


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
