"""Where the course's code runs: the first CUDA device, or the CPU where there is none.

Arrays on the device are torch CUDA tensors, or NumPy arrays without a GPU. torch is imported when a function needs it,
not before. Timing is up to `timing`, the device's speed `machine`'s.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpulab.check.outcomes import Undecided
from gpulab.measuring import validating

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray


class NeedsGPU(Undecided):
    """This cell can only be decided on a GPU: its points are pending, neither earned nor lost."""

    verdict = "needs a GPU"


class NeedsPart(NeedsGPU):
    """There is a GPU, but this machine lacks something else that this cell needs, such as a second GPU."""

    cause = "this machine lacks a part"


def device() -> torch.device:
    """The device that measurements run on: `cuda` where torch sees a GPU, else `cpu`."""
    import torch

    return torch.device("cuda" if has_gpu() else "cpu")


def has_gpu() -> bool:
    """Whether torch sees a CUDA device here."""
    import torch

    with warnings.catch_warnings():
        # An outdated or half-installed driver makes torch warn; for us it is simply no GPU. The doctor says more.
        warnings.simplefilter("ignore")
        return bool(torch.cuda.is_available())


def device_name(on: str | None = None) -> str:
    """The label of a number measured on the device: `NVIDIA H200`, or the CPU's model and usable cores.

    Args:
        on: `"cuda"` or `"cpu"`; the course's device when left out.
    """
    if (on or device().type) == "cuda":
        import torch

        return str(torch.cuda.get_device_name())
    return _cpu_name()


@functools.cache
def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    # "Intel(R) Xeon(R) CPU @ 2.20GHz": marks and the nominal clock say nothing about a measurement.
    model = re.sub(r"\((R|TM|r|tm)\)|\bCPU\b|@.*|\bProcessor\b", " ", models[0] if models else platform.processor())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return f"{' '.join(model.split()) or platform.machine() or 'CPU'}, {cores} core{'s' if cores > 1 else ''}"


def needs_gpu(points: str = "") -> None:
    """Stops a test cell where there is no GPU, so that its points stay pending.

    Args:
        points: what is pending, such as `"3 points"`; only for the message.

    Raises:
        NeedsGPU: there is no CUDA device.
    """
    if not has_gpu():
        pending = f"{points} {'is' if points == '1 point' else 'are'}" if points else "these points are"
        if validating.skips():
            print(f"Waiting for a GPU: {pending} pending, not lost. The rest of this cell is not run here.")
            return
        raise NeedsGPU(f"No GPU here: {pending} pending, not lost. This says nothing about your answer.")


def synchronize() -> None:
    """Waits until the GPU has finished all work given to it so far; does nothing without one."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()


def to_numpy(array: Any) -> NDArray[np.generic]:
    """A copy of a device array, tensor or sequence as a NumPy array in host memory; waits for the device."""
    import numpy as np

    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        tensor = array.detach().cpu().resolve_conj()
        # NumPy has no bfloat16 and no float8: float32 holds both exactly.
        narrow = tensor.is_floating_point() and tensor.dtype not in (torch.float16, torch.float32, torch.float64)
        result: NDArray[np.generic] = np.array((tensor.float() if narrow else tensor).numpy())
        return result
    if hasattr(array, "copy_to_host"):  # Numba's device arrays
        return np.asarray(array.copy_to_host())
    return np.array(array)


if validating.here() and not has_gpu():
    validating.install()
