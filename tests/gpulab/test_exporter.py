"""`python -m gpulab.exporter`: with a stand-in for NVML, and against nvidia-smi where there is one."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_up_nvml import Library
from needed_prometheus import need_prometheus

from gpulab import exporter, table
from gpulab.tables import data_folder
from grader.exercises.profiling.pages import Page, read_page


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
    library = Library(driver=False)
    assert exporter.page(library).splitlines()[-1] == "gpulab_gpus 0.0"
    assert "Driver Not Loaded" in exporter.missing(library)
    assert "grader doctor" in exporter.missing(library)


def test_a_gpu_that_is_lost_takes_no_others_figures_with_it() -> None:
    """And keeps the others' numbers: GPU 1 does not become GPU 0."""
    page = read_page(exporter.page(Library(lost=0)))
    assert values(page, "gpulab_gpu_utilization_ratio") == {"1": 0.97}
    assert page.values["gpulab_gpus", frozenset()] == 1.0
    assert exporter.missing(Library(lost=0)) == ""


def test_a_driver_that_shows_no_gpu_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    monkeypatch.setattr(library, "nvmlDeviceGetCount", lambda: 0, raising=False)
    assert "shows no GPU" in exporter.missing(library)


def test_a_driver_that_goes_away_leaves_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server lives for months; a restarted driver must not end it."""
    library = Library()

    def gone() -> int:
        raise library.NVMLError("Unknown Error")

    for name in ("nvmlDeviceGetCount", "nvmlShutdown"):
        monkeypatch.setattr(library, name, gone, raising=False)
    assert exporter.page(library).splitlines()[-1] == "gpulab_gpus 0.0"


def test_its_names_please_the_checker() -> None:
    """Base units, counters that end in `_total`, a HELP for each: Prometheus' conventions."""
    need_prometheus()
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=exporter.page(Library()), capture_output=True, text=True, timeout=20
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_command_serves_its_page_on_loopback() -> None:
    with started("--port", "0") as address:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(address, timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain")
            assert ("gpulab_gpus", frozenset()) in read_page(answer.read().decode()).values


def test_a_port_that_is_taken_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert exporter.main(["--port", str(port)]) == 2
    told = capsys.readouterr().err
    assert f"Cannot listen on 127.0.0.1:{port}" in told
    assert "Choose another port with --port" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--address", "203.0.113.7"], "This machine has no such address"),
        (["--address", "no.such.host.invalid"], "This machine has no such address"),
    ],
)
def test_an_address_of_another_machine_is_told(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exporter.main([*arguments, "--port", "0"]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("port", ["70000", "-1", "http", "9401.0", ""])
def test_what_is_no_port_is_told(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        exporter.main([f"--port={port}"])
    assert ended.value.code == 2
    assert "is no port: a number from 0 to 65535" in capsys.readouterr().err


def test_once_prints_the_page_and_says_what_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page on stdout is valid on its own; the reason goes to stderr."""
    monkeypatch.setitem(sys.modules, "pynvml", Library(driver=False))
    assert exporter.main(["--once"]) == 0
    told = capsys.readouterr()
    assert read_page(told.out).values == {("gpulab_gpus", frozenset()): 0.0}
    assert told.err.startswith("No NVIDIA driver answers (Driver Not Loaded)")


@pytest.mark.parametrize("name", ["dashboard_dcgm", "dashboard_gpulab"])
def test_dashboards_ask_for_metrics_that_there_are(name: str) -> None:
    known = {row["metric"] for row in table("dcgm_metrics")}
    known |= {one.name + ("_total" if one.counter else "") for one in exporter.METRICS}
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
