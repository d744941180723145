"""`python -m gpulab.exporter`: with a stand-in for NVML, and against nvidia-smi where there is one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpulab import exporter, table
from gpulab.chapters.profiling_metrics import Page, read_page
from gpulab.tables import data_folder


class Library:
    """NVML of a machine with two GPUs, the second of which cannot tell its power."""

    class NVMLError(Exception):
        """What NVML raises."""

    NVML_TEMPERATURE_GPU, NVML_CLOCK_SM, nvmlMemory_v2 = 0, 1, 2

    def __init__(self, driver: bool = True) -> None:
        self.driver, self.open = driver, 0

    def nvmlInit(self) -> None:
        if not self.driver:
            raise self.NVMLError("Driver Not Loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def __getattr__(self, name: str) -> Any:
        answers = {
            "nvmlDeviceGetCount": lambda: 2,
            "nvmlDeviceGetHandleByIndex": lambda gpu: gpu,
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

    def _power(self, gpu: int) -> int:
        if gpu == 1:
            raise self.NVMLError("Not Supported")
        return 412_337


def values(page: Page, metric: str) -> dict[str, float]:
    return {dict(labels)["gpu"]: value for (name, labels), value in page.values.items() if name == metric}


def test_units_are_those_that_the_names_say() -> None:
    library = Library()
    page = read_page(exporter.page(library))
    assert values(page, "gpulab_gpu_power_watts") == {"0": 412.337}
    assert values(page, "gpulab_gpu_utilization_ratio") == {"0": 0.0, "1": 0.97}
    assert values(page, "gpulab_gpu_memory_used_bytes") == {"0": 5e9, "1": 5e9}
    assert values(page, "gpulab_gpu_energy_joules_total") == {"0": 81_263_340.127, "1": 81_263_340.127}
    assert values(page, "gpulab_gpu_sm_clock_hertz") == {"0": 1.98e9, "1": 1.98e9}
    assert page.types["gpulab_gpu_energy_joules_total"] == "counter"
    assert {dict(labels).get("name") for _, labels in page.values} == {'NVIDIA "H200"', None}
    assert library.open == 0


def test_without_a_driver_the_page_says_that_there_are_no_gpus() -> None:
    assert exporter.page(Library(driver=False)).splitlines()[-1] == "gpulab_gpus 0.0"


def test_the_command_serves_its_page_on_loopback() -> None:
    with started("--port", "0") as address:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(address, timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain")
            assert ("gpulab_gpus", frozenset()) in read_page(answer.read().decode()).values


def test_a_port_that_is_taken_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with started("--port", "0") as address:
        port = address.rpartition(":")[2].partition("/")[0]
        assert exporter.main(["--port", port]) == 2
    assert "Choose another port" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["dashboard_dcgm", "dashboard_gpulab"])
def test_dashboards_ask_for_metrics_that_there_are(name: str) -> None:
    known = {row["metric"] for row in table("dcgm_metrics")}
    known |= {one.name + ("_total" if one.counter else "") for one in exporter.FIGURES}
    board = json.loads((data_folder() / "monitoring" / f"{name}.json").read_text(encoding="utf-8"))
    asked = {word for text in questions(board) for word in re.findall(r"\b(?:DCGM_\w+|gpulab_\w+)\b", text)}
    assert len(asked) >= 7
    assert asked <= known


def test_the_configuration_visits_the_exporters_port() -> None:
    text = (data_folder() / "monitoring" / "prometheus.yml").read_text(encoding="utf-8")
    assert f"{exporter.ADDRESS}:{exporter.PORT}" in text


@pytest.mark.gpu
@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="no nvidia-smi on this machine")
def test_agrees_with_nvidia_smi() -> None:
    """Within 5 %, and what its rounding to MiB, W and °C costs."""
    columns = {
        "memory.used": ("gpulab_gpu_memory_used_bytes", 2**20),
        "memory.total": ("gpulab_gpu_memory_total_bytes", 2**20),
        "power.limit": ("gpulab_gpu_power_limit_watts", 1),
        "temperature.gpu": ("gpulab_gpu_temperature_celsius", 1),
    }
    page = read_page(exporter.page())
    command = ["nvidia-smi", f"--query-gpu=index,{','.join(columns)}", "--format=csv,noheader,nounits"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    for line in told.strip().splitlines():
        gpu, *cells = (cell.strip() for cell in line.split(","))
        for (metric, unit), cell in zip(columns.values(), cells, strict=True):
            assert values(page, metric)[gpu] == pytest.approx(float(cell) * unit, rel=0.05, abs=2 * unit), metric


def questions(part: Any) -> Iterator[str]:
    """Every PromQL expression of a dashboard."""
    if isinstance(part, dict):
        yield from (part["expr"],) if "expr" in part else ()
        for one in part.values():
            yield from questions(one)
    elif isinstance(part, list):
        for one in part:
            yield from questions(one)


class started:
    """The exporter as a process of its own, until the block ends; gives its address."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "gpulab.exporter", *arguments]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=Path(exporter.__file__).parents[1]
        )

    def __enter__(self) -> str:
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line.startswith("http://127.0.0.1:"), line
        return line.partition(",")[0]

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(10)
        assert self._process.stdout
        self._process.stdout.close()
