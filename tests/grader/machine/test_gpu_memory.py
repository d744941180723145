"""A submission that takes too much of the GPU's memory is ended, and nobody else is. NVML's answers are made up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pynvml
import pytest
from minikey import RIGHT, make_key

from gpulab.doctor import hardware
from gpulab.doctor.hardware import Gpu
from grader.judging.session import grade
from grader.machine import gpu_memory
from grader.model.limits import Limits
from grader.model.results import Verdict
from grader.model.submission import from_answers

SLEEPER = "import subprocess, sys; print(subprocess.Popen(['sleep', '60']).pid, flush=True); sys.stdin.read()"
HELD: list[dict[int, int | None]] = []
"""What each GPU's processes hold, as the driver says."""


@pytest.fixture(autouse=True)
def driver(monkeypatch: pytest.MonkeyPatch) -> None:
    HELD[:] = [{}, {}]
    answers = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: len(HELD),
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetComputeRunningProcesses": lambda index: [
            SimpleNamespace(pid=pid, usedGpuMemory=size) for pid, size in HELD[index].items()
        ],
    }
    for name, answer in answers.items():
        monkeypatch.setattr(pynvml, name, answer)
    monkeypatch.setattr(hardware, "gpus", lambda: (Gpu("NVIDIA H200", 150_000.0, 1980, 1980, "580.65"),))


@pytest.fixture
def family() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process, and the id of its child."""
    with subprocess.Popen(
        [sys.executable, "-c", SLEEPER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        yield parent, child
        parent.kill()
        subprocess.run(["kill", "-9", str(child)], stderr=subprocess.DEVNULL)


def test_what_its_children_hold_on_all_gpus_counts(family: tuple[subprocess.Popen[str], int]) -> None:
    parent, child = family
    watch = gpu_memory.MemoryWatchdog()
    guard = watch.add((parent.pid,), 1000)
    HELD[:] = [{parent.pid: 400, 1: 10**12}, {child: 600, parent.pid: None}]
    watch.look()
    assert not guard.exceeded
    HELD[1][child] = 601
    watch.look()
    assert guard.exceeded
    assert parent.wait(5) == -9
    watch.remove(guard)  # or its thread would go on asking for what other tests hold


def test_whoever_is_no_longer_watched_is_left_alone(family: tuple[subprocess.Popen[str], int]) -> None:
    parent, _ = family
    watch = gpu_memory.MemoryWatchdog()
    watch.remove(watch.add((parent.pid,), 1000))
    HELD[0][parent.pid] = 10**12
    watch.look()
    assert parent.poll() is None


def test_a_driver_that_does_not_answer_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*arguments: object) -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_GPU_IS_LOST)

    monkeypatch.setattr(pynvml, "nvmlDeviceGetCount", lost)
    assert gpu_memory.used_bytes() == {}


def test_without_a_gpu_nothing_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "gpus", lambda: ())
    watch = gpu_memory.MemoryWatchdog()
    watch.add((1,), 1)
    assert watch._thread is None


def test_a_submission_is_told_which_limit_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cell is lost, the notebook's other cells are not."""

    def used_bytes() -> dict[int, int]:
        """Each process called `sleep 61` holds 9 GB."""
        found = {}
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if path.read_bytes() == b"sleep\x0061\x00":
                    found[int(path.parent.name)] = 9_000_000_000
        return found

    monkeypatch.setattr(gpu_memory, "used_bytes", used_bytes)
    monkeypatch.setattr(gpu_memory, "SECONDS", 0.1)
    key = make_key()
    code = "import subprocess\n\ndef double(x):\n    subprocess.run(['sleep', '61'])\n    return 2 * x"
    greedy = from_answers(key, {**RIGHT, "double": code})
    result = grade(greedy, key, student="x", seed=1, limits=Limits(gpu_memory_bytes=8_000_000_000))
    cells = {cell.grade_id: cell for cell in result.cells}
    assert cells["double_test"].verdict is Verdict.CRASHED
    assert "used more of the GPU's memory than a submission may (8000 MB)" in cells["double_test"].message
    assert cells["SHARES_test"].verdict is Verdict.PASSED
    assert result.usage.restarts == 1
