"""A GPU is made ready before the first submission, and one that processes cannot share is refused. NVML is made up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pynvml
import pytest
from courses import NAME, make_course
from minikey import make_key, with_test

from gpulab.doctor import gpu_troubles, hardware, looks
from gpulab.doctor.hardware import Gpu
from grader.batch.batch import grade_class
from grader.judging.session import grade
from grader.machine import doctor, gpu_memory, gpu_ready
from grader.model.course import CourseError
from grader.model.submission import from_answers
from grader.processes import client, fork_server
from grader.sandbox import gpu

H200 = Gpu("NVIDIA H200", 143_000.0, 1980, 1980, "580.95")


@pytest.fixture(autouse=True)
def begun() -> Iterator[None]:
    gpu_ready.begun.cache_clear()
    yield
    gpu_ready.begun.cache_clear()


@pytest.fixture
def a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "gpus", lambda: (H200,))
    monkeypatch.setattr(gpu_ready, "hold", lambda: None)


@pytest.mark.usefixtures("a_gpu")
def test_the_gpu_is_used_before_anything_is_confined(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Once for all fork servers of a process."""
    used = tmp_path / "used"
    code = f"import time; time.sleep(2.0); open({str(used)!r}, 'a').write('x')"
    monkeypatch.setattr(gpu_ready, "FIRST_USE", code)
    for _ in range(2):
        client.SubmissionServer(fork_server.LIGHT_MODULES).close()
        assert used.read_text() == "x"


@pytest.mark.usefixtures("a_gpu")
def test_a_first_use_that_hangs_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_ready, "FIRST_USE", "import time; time.sleep(300)")
    monkeypatch.setattr(gpu_ready, "SECONDS", 0.5)
    started = time.monotonic()
    first = gpu_ready.begun()
    assert first is not None
    first.wait()
    assert time.monotonic() - started < 10
    assert first._process.returncode == -9


def test_without_a_gpu_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "gpus", lambda: ())
    assert gpu_ready.begun() is None


def test_the_driver_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that uses the driver in between, and closes it again."""
    opened: list[int] = []
    touched: list[int] = []
    answers: dict[str, Any] = {
        "nvmlInit": lambda: opened.append(1),
        "nvmlShutdown": opened.pop,
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": lambda index: touched.append(index) or index,
        "nvmlDeviceGetComputeRunningProcesses": lambda index: [],
    }
    for name, answer in answers.items():
        monkeypatch.setattr(pynvml, name, answer)
    monkeypatch.setattr(hardware, "gpus", lambda: (H200,))
    monkeypatch.setattr(gpu_ready, "FIRST_USE", "")
    first = gpu_ready.begun()
    assert first is not None
    first.wait()
    assert touched == [0, 1]
    gpu_memory.used_bytes()
    assert opened == [1]


def test_a_gpu_for_one_process_at_a_time_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A submission's own processes would keep each other from it: its rows would fail by chance."""
    monkeypatch.setattr(hardware, "gpus", lambda: (replace(H200, compute_mode="exclusive process"),))
    course = make_course(tmp_path)
    with pytest.raises(CourseError, match=r"'exclusive process'.*sudo nvidia-smi -c 0.*CUDA_VISIBLE_DEVICES"):
        grade_class(course, course.chapter(NAME), course.submitted, key=make_key(), slots=1)
    (row,) = (one for one in looks._gpus() if one.what == "GPU 0")
    assert (row.state, "compute mode exclusive process" in row.found) == ("bad", True)
    assert gpu_troubles.SHARE in row.remedy
    monkeypatch.setattr(hardware, "gpus", lambda: (H200,))
    gpu_ready.refuse_exclusive()
    assert [one.state for one in looks._gpus() if one.what == "GPU 0"] == ["good"]


@pytest.mark.parametrize("order", ["", "FASTEST_FIRST"])
def test_student_and_judge_number_gpus_alike(monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    """By the bus, as NVML does, where nobody says otherwise."""
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    if order:
        monkeypatch.setenv("CUDA_DEVICE_ORDER", order)
    shown = "import os\nprint(os.environ['CUDA_DEVICE_ORDER'])"
    key = with_test("import os\nassert not double(1), os.environ['CUDA_DEVICE_ORDER']")
    submission = from_answers(key, {"double": f"{shown}\ndef double(x):\n    return 2 * x"})
    parent = client.SubmissionServer(fork_server.LIGHT_MODULES)
    try:
        only = frozenset({"double_test"})
        result = grade(submission, key, student="s", seed=1, only=only, parent=parent)
    finally:
        parent.close()
    (cell,) = result.cells
    assert result.outputs["double"][0]["text"].strip() == cell.message == (order or "PCI_BUS_ID")


@pytest.mark.usefixtures("a_gpu")
@pytest.mark.parametrize(
    ("there", "says"),
    [
        ({"nvidiactl": 0o666, "nvidia0": 0o666, "nvidia-uvm": 0o666}, ""),
        ({"nvidiactl": 0o666, "nvidia0": 0o666}, "nvidia-modprobe -c 0 -u"),
        ({"dxg": 0o666}, ""),
    ],
)
def test_the_doctor_names_a_missing_device(
    there: dict[str, int], says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(gpu, "DEVICES", tmp_path)
    monkeypatch.setattr(gpu_ready, "FIRST_USE", "")
    for name, mode in there.items():
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    (row,) = doctor._gpu_files()
    assert (row.state, says in row.remedy) == ("bad" if says else "good", True)


@pytest.mark.usefixtures("a_gpu")
def test_the_doctor_names_devices_that_students_cannot_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "device_files", lambda: ("/dev/nvidia-uvm", "/dev/nvidia0", "/dev/nvidiactl"))
    monkeypatch.setattr(gpu, "closed", lambda: ("/dev/nvidia0",))
    monkeypatch.setattr(gpu_ready, "FIRST_USE", "")
    monkeypatch.setattr(doctor.os, "getuid", lambda: 0)
    (row,) = doctor._gpu_files()
    assert row.state == "bad"
    assert "/dev/nvidia0" in row.found
    assert "NVreg_DeviceFileMode=0666" in row.remedy
    monkeypatch.setattr(doctor.os, "getuid", lambda: 1000)  # the student's process is then as this user is
    assert [one.state for one in doctor._gpu_files()] == ["good"]
