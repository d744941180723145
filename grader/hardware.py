"""Which GPUs this machine shows, asked of the driver: no torch, no CUDA context, a few milliseconds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Gpu:
    """One GPU as its driver describes it."""

    name: str
    memory_mb: float
    """MB = 1e6 bytes."""
    sm_clock_mhz: int
    largest_sm_clock_mhz: int
    driver: str


def hidden() -> bool:
    """Whether the environment hides every GPU from CUDA."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1")


@lru_cache(maxsize=1)
def gpus() -> tuple[Gpu, ...]:
    """The GPUs that the driver lists; empty without a driver, or when every one is hidden."""
    if hidden():
        return ()
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    try:
        return tuple(_describe(index) for index in range(pynvml.nvmlDeviceGetCount()))
    except pynvml.NVMLError:
        return ()
    finally:
        pynvml.nvmlShutdown()


def gpu_names() -> tuple[str, ...]:
    """Names of the GPUs: a grade may depend on them."""
    return tuple(gpu.name for gpu in gpus())


def _describe(index: int) -> Gpu:
    """One GPU; clocks are 0 where the driver does not tell them (virtual GPUs)."""
    import pynvml

    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    clocks = []
    for read in (pynvml.nvmlDeviceGetClockInfo, pynvml.nvmlDeviceGetMaxClockInfo):
        try:
            clocks.append(int(read(handle, pynvml.NVML_CLOCK_SM)))
        except pynvml.NVMLError:
            clocks.append(0)
    return Gpu(
        name=str(pynvml.nvmlDeviceGetName(handle)),
        memory_mb=pynvml.nvmlDeviceGetMemoryInfo(handle).total / 1e6,
        sm_clock_mhz=clocks[0],
        largest_sm_clock_mhz=clocks[1],
        driver=str(pynvml.nvmlSystemGetDriverVersion()),
    )
