"""Which GPUs this machine shows, asked of the driver: no torch, no CUDA context, a few milliseconds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gpulab.doctor import gpu_troubles
from gpulab.doctor.gpu_troubles import Trouble

PCI_ORDER = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
"""For the environment of processes, where nothing else is said there: CUDA then numbers GPUs as NVML does."""


@dataclass(frozen=True)
class Gpu:
    """One GPU as its driver describes it."""

    name: str
    memory_mb: float
    """MB = 1e6 bytes."""
    sm_clock_mhz: int
    largest_sm_clock_mhz: int
    driver: str
    compute_mode: str = ""
    """`"exclusive process"`, or another mode in which processes cannot share it; empty where they can."""


def hidden() -> bool:
    """Whether the environment hides every GPU from CUDA."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1")


@lru_cache(maxsize=1)
def gpus() -> tuple[Gpu, ...]:
    """The GPUs that CUDA programs started from here may use, the first one first; empty without a driver.

    Numbers in CUDA_VISIBLE_DEVICES are taken in the order of the PCI bus, which is CUDA's own where all GPUs are of one
    kind, or where CUDA_DEVICE_ORDER says so.
    """
    if hidden():
        return ()
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    try:
        return tuple(map(_describe, _visible(os.environ.get("CUDA_VISIBLE_DEVICES"))))
    except pynvml.NVMLError:
        return ()
    finally:
        pynvml.nvmlShutdown()


def trouble() -> Trouble | None:
    """Why there are no GPUs to be used; None when there are some."""
    if gpus():
        return None
    if (veiled := gpu_troubles.hidden()) is not None:
        return veiled
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        code = int(error.value)
        return gpu_troubles.without_devices(
            library=code != pynvml.NVML_ERROR_LIBRARY_NOT_FOUND
        ) or gpu_troubles.of_code(code)
    try:
        gpus.cache_clear()
        count = pynvml.nvmlDeviceGetCount()
        for index in range(count):
            pynvml.nvmlDeviceGetHandleByIndex(index)
    except pynvml.NVMLError as error:
        return gpu_troubles.of_code(int(error.value))
    finally:
        pynvml.nvmlShutdown()
    return gpu_troubles.without_devices(library=True) or gpu_troubles.NO_DRIVER


def gpu_names() -> tuple[str, ...]:
    """Names of the GPUs: a grade may depend on them."""
    return tuple(gpu.name for gpu in gpus())


def device_name() -> str:
    """What a result was computed on: the first GPU's name, or `cpu`."""
    return next(iter(gpu_names()), "cpu")


def _visible(shown: str | None) -> list[Any]:
    """NVML's handles of the GPUs that CUDA_VISIBLE_DEVICES shows; all of them when it is not set.

    As CUDA reads it: numbers, or beginnings of unique ids; after the first entry that fits nothing, the rest is void.
    """
    import pynvml

    handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
    if shown is None:
        return handles
    chosen: list[Any] = []
    for entry in map(str.strip, shown.split(",")):
        if entry.isdecimal():
            fitting = handles[int(entry) : int(entry) + 1]
        elif entry.startswith("MIG-"):
            fitting = [pynvml.nvmlDeviceGetHandleByUUID(entry)]
        else:
            fitting = [one for one in handles if entry and str(pynvml.nvmlDeviceGetUUID(one)).startswith(entry)]
        if len(fitting) != 1:
            break
        chosen += fitting
    return chosen


def _describe(handle: Any) -> Gpu:
    """One GPU; clocks are 0 where the driver does not tell them (virtual GPUs)."""
    import pynvml

    clocks = []
    for read in (pynvml.nvmlDeviceGetClockInfo, pynvml.nvmlDeviceGetMaxClockInfo):
        try:
            clocks.append(int(read(handle, pynvml.NVML_CLOCK_SM)))
        except pynvml.NVMLError:
            clocks.append(0)
    try:
        mode = gpu_troubles.EXCLUSIVE.get(int(pynvml.nvmlDeviceGetComputeMode(handle)), "")
    except pynvml.NVMLError:  # under WSL
        mode = ""
    return Gpu(
        name=str(pynvml.nvmlDeviceGetName(handle)),
        memory_mb=pynvml.nvmlDeviceGetMemoryInfo(handle).total / 1e6,
        sm_clock_mhz=clocks[0],
        largest_sm_clock_mhz=clocks[1],
        driver=str(pynvml.nvmlSystemGetDriverVersion()),
        compute_mode=mode,
    )
