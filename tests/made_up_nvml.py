"""A made-up NVML: what the exporter asks, answered for a machine with two GPUs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class Library:
    """NVML of a machine with two GPUs, the second of which cannot tell its power."""

    class NVMLError(Exception):
        """What NVML raises."""

    NVML_TEMPERATURE_GPU, NVML_CLOCK_SM, nvmlMemory_v2 = 0, 1, 2

    def __init__(self, driver: bool = True, lost: int | None = None) -> None:
        self.driver, self.lost, self.open = driver, lost, 0

    def nvmlInit(self) -> None:
        if not self.driver:
            raise self.NVMLError("Driver Not Loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def __getattr__(self, name: str) -> Any:
        answers = {
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlDeviceGetHandleByIndex": self._handle,
            "nvmlDeviceGetUUID": lambda gpu: f"GPU-{gpu}",
            "nvmlDeviceGetName": lambda gpu: b'NVIDIA "H200"',
            "nvmlDeviceGetUtilizationRates": lambda gpu: SimpleNamespace(gpu=97 * gpu, memory=3),
            "nvmlDeviceGetMemoryInfo": lambda gpu, version=None: SimpleNamespace(used=5 * 10**9, total=141 * 10**9),
            "nvmlDeviceGetPowerUsage": self._power,
            "nvmlDeviceGetEnforcedPowerLimit": lambda gpu: 700_000,
            "nvmlDeviceGetTotalEnergyConsumption": lambda gpu: 81_263_340_127,
            "nvmlDeviceGetTemperature": lambda gpu, sensor: 41,
            "nvmlDeviceGetClockInfo": lambda gpu, clock: 1980,
            "nvmlDeviceGetComputeRunningProcesses": lambda gpu: [object()] * 3,
        }
        if name not in answers:
            raise AttributeError(name)
        return answers[name]

    def _handle(self, gpu: int) -> int:
        if gpu == self.lost:
            raise self.NVMLError("GPU is lost")
        return gpu

    def _power(self, gpu: int) -> int:
        if gpu == 1:
            raise self.NVMLError("Not Supported")
        return 412_337
