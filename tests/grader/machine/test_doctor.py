"""The doctor finds what is wrong with a machine, says what to do about it, and never falls ill itself."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pynvml
import pytest
from recorded_class import small_course

from grader.machine import doctor, gpu_troubles, hardware
from grader.machine.doctor import Row
from grader.model.course import Course
from grader.sandbox import Tier, cgroups, probe


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """What the driver said is remembered between calls."""
    hardware.gpus.cache_clear()
    yield
    hardware.gpus.cache_clear()


def row(rows: Iterator[Row] | list[Row], what: str) -> Row:
    return next(one for one in rows if one.what == what)


def test_all_is_looked_at_and_every_lack_has_a_remedy(tmp_path: Path) -> None:
    course, _ = small_course(tmp_path)
    rows = doctor.examine(course)
    things = "Python system torch Numba NVRTC nvcc kernel sandbox course work/ gradebook"
    assert set(things.split()) <= {one.what for one in rows}
    assert [one for one in rows if one.state != "good" and not one.remedy] == []
    assert [one for one in rows if one.state == "bad"] == []
    assert "answers ok" in row(rows, "kernel").found
    assert not course.work.exists()  # looking changes nothing


def test_no_gpu_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (found,) = doctor._gpus()
    assert (found.state, found.found) == ("fair", "none: CUDA_VISIBLE_DEVICES= shows none")
    assert "stay pending" in found.remedy


def test_a_numba_that_does_not_fit_numba_cuda_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    """None stands for a module that Python refuses to import."""
    monkeypatch.setitem(sys.modules, "numba.cuda", None)
    (found,) = doctor._numba()
    assert found.state == "bad"
    assert "numba.cuda" in found.found
    assert "--upgrade numba" in found.remedy


def test_no_nvcc_is_fine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = doctor._nvcc()
    assert (found.state, found.found) == ("fair", "not there")
    assert "NVRTC" in found.remedy


def test_a_broken_nvcc_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "nvcc").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "nvcc").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = doctor._nvcc()
    assert found.state == "fair"
    assert "does not run" in found.found


def test_a_missing_kernel_is_red(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A kernel spec whose interpreter is gone."""
    folder = tmp_path / "kernels" / "python3"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text('{"argv": ["/nowhere/python"], "display_name": "gone", "language": "python"}')
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setattr("jupyter_client.kernelspec.NATIVE_KERNEL_NAME", "another")
    (found,) = doctor._kernel()
    assert found.state == "bad"
    assert "does not start" in found.found


@pytest.mark.parametrize(
    ("refused", "state", "found"),
    [
        ({}, "good", "tier 2 (namespaces)"),
        ({Tier.NAMESPACES: "unshare: EPERM"}, "fair", "tier 1 (files), not 2 (namespaces): unshare: EPERM"),
        (
            {Tier.NAMESPACES: "unshare: EPERM", Tier.FILES: "no Landlock"},
            "fair",
            "tier 0 (limits), not 2 (namespaces): unshare: EPERM; 1 (files): no Landlock",
        ),
    ],
)
def test_the_sandbox_is_told_with_the_reason_why_it_is_no_better(
    monkeypatch: pytest.MonkeyPatch, refused: dict[Tier, str], state: str, found: str
) -> None:
    monkeypatch.setattr(probe, "refusals", lambda: refused)
    told = row(doctor._sandbox(), "sandbox")
    assert (told.state, told.found) == (state, found)
    assert bool(told.remedy) is (state == "fair")


def test_a_machine_without_control_groups_is_told_what_that_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "parents", lambda: None)
    told = row(doctor._sandbox(), "memory limit")
    assert told.state == "fair"
    assert "use up the memory" in told.remedy


def test_outside_a_course_is_red() -> None:
    (found,) = doctor._folders(None)
    assert found.state == "bad"
    assert "nbgrader_config.py" in found.remedy


def test_a_full_disk_is_red_before_grading(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = doctor.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda place: usage._replace(free=1_000_000))
    course, _ = small_course(tmp_path)
    assert row(doctor._folders(course), "work/").state == "bad"


def test_a_damaged_gradebook_is_red(tmp_path: Path) -> None:
    course = Course(tmp_path)
    course.work.mkdir()
    course.gradebook.write_bytes(b"not a database, but long enough to be taken for one" * 40)
    (found,) = doctor._gradebook(course)
    assert found.state == "bad"
    assert "grade the class again" in found.remedy


def test_a_gradebook_that_is_damaged_in_one_place_is_red(tmp_path: Path) -> None:
    """Its students can still be counted; what lies further back is gone."""
    course = Course(tmp_path)
    course.work.mkdir()
    with closing(sqlite3.connect(course.gradebook)) as book:
        book.executescript("CREATE TABLE student (id); CREATE TABLE grade (id); CREATE INDEX by_id ON grade (id);")
        book.executemany("INSERT INTO grade VALUES (?)", [(f"grade {number:050}",) for number in range(500)])
        book.commit()
    (found,) = doctor._gradebook(course)
    assert found.state == "good"
    data = bytearray(course.gradebook.read_bytes())
    data[-12_000:] = bytes(12_000)
    course.gradebook.write_bytes(data)
    (found,) = doctor._gradebook(course)
    assert (found.state, "damaged" in found.found or "cannot be read" in found.found) == ("bad", True)


def test_a_look_that_fails_is_a_red_row_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[Row]:
        raise RuntimeError("first line\nsecond line")
        yield

    for name in ("_torch", "_nvrtc", "_nvcc", "_kernel", "_gpus", "_system", "_sandbox"):
        monkeypatch.setattr(doctor, name, broken)
    rows = doctor.examine(None)
    assert row(rows, "broken").found == "RuntimeError: first line"
    assert row(rows, "broken").state == "bad"
    assert row(rows, "Python").state == "good"


def test_kernels_are_really_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three packages that import and do not fit together are a red row, not a green one."""
    assert [one.state for one in doctor._numba()] == ["good"]
    assert [one.state for one in doctor._nvrtc()] == ["good"]
    monkeypatch.setattr(doctor, "ARCHITECTURE", (1, 0))  # nobody compiles for it any more
    (numba,), (nvrtc,) = doctor._numba(), doctor._nvrtc()
    assert (numba.state, nvrtc.state) == ("bad", "bad")
    assert "a kernel does not compile" in numba.found
    assert "a kernel does not compile" in nvrtc.found
    assert all("pip install --upgrade" in one.remedy for one in (numba, nvrtc))


# ------------------------------------------------------------------------------------------- troubles with a GPU


def an_h200(driver: str = "580.65.06") -> hardware.Gpu:
    return hardware.Gpu("NVIDIA H200", 150_000.0, 345, 1980, driver)


@pytest.mark.parametrize(
    ("code", "says", "advises", "state"),
    [
        (12, "no NVIDIA driver answers", "stay pending", "fair"),
        (9, "not loaded", "modprobe nvidia", "bad"),
        (18, "two versions", "restart the machine", "bad"),
        (4, "refuses this user", "/dev/nvidia", "bad"),
        (15, "fallen off the bus", "Xid", "bad"),
        (16, "waits for a reset", "--gpu-reset", "bad"),
        (999, "NVML error 999", "nvidia-smi", "bad"),
    ],
)
def test_what_the_driver_refuses_is_named(
    monkeypatch: pytest.MonkeyPatch, code: int, says: str, advises: str, state: str
) -> None:
    def refuse() -> None:
        raise pynvml.NVMLError(code)

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(pynvml, "nvmlInit", refuse)
    monkeypatch.setattr(gpu_troubles, "without_devices", lambda library: None)
    (found,) = doctor._gpus()
    assert (found.what, found.state) == ("GPU", state)
    assert says in found.found
    assert advises in found.remedy


def test_a_container_without_devices_is_told_how_to_get_them(tmp_path: Path) -> None:
    """The host's driver shows itself, no device does: it was started without --gpus all."""
    proc, dev = tmp_path / "proc", tmp_path / "dev"
    dev.mkdir()
    assert gpu_troubles.without_devices(library=False, proc=proc, dev=dev) is None
    proc.mkdir()
    found = gpu_troubles.without_devices(library=False, proc=proc, dev=dev)
    assert found is not None
    assert "--gpus all" in found.remedy
    (dev / "nvidia0").touch()
    assert gpu_troubles.without_devices(library=True, proc=proc, dev=dev) is None


def test_a_driver_that_is_too_old_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "gpus", lambda: (an_h200("535.161.07"),))
    found = row(doctor._gpus(), "driver")
    assert (found.state, found.remedy) == ("bad", gpu_troubles.TOO_OLD)
    monkeypatch.setattr(doctor, "_cuda_of_torch", lambda: 12)
    assert row(doctor._gpus(), "driver").state == "good"  # with packages for CUDA 12
    monkeypatch.setattr(doctor, "_cuda_of_torch", lambda: 13)
    assert row(doctor._gpus(), "driver").state == "bad"
    monkeypatch.setattr(hardware, "gpus", lambda: (an_h200(),))
    assert row(doctor._gpus(), "driver").state == "good"


def torch_that(monkeypatch: pytest.MonkeyPatch, *, cuda: str | None, says: str) -> Row:
    """The row for a torch of this build that says so when it is used."""
    import torch

    def fail(*arguments: object, **named: object) -> None:
        raise RuntimeError(says)

    monkeypatch.setattr(hardware, "gpus", lambda: (an_h200(),))
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "ones", fail)
    (found,) = doctor._torch()
    return found


@pytest.mark.parametrize(
    ("says", "advises"),
    [
        ("The NVIDIA driver on your system is too old (found version 12020).", "branch 580"),
        ("CUDA error: no kernel image is available for execution on the device", "another torch"),
        ("CUDA out of memory. Tried to allocate 20.00 MiB.", "nvidia-smi"),
        ("Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized", "fabricmanager"),
        ("CUDA error: all CUDA-capable devices are busy or unavailable", "nvidia-smi -c 0"),
        ("CUDA unknown error - this may be due to an incorrectly set up environment", "nvidia_uvm"),
        ("something new", "newer than the driver"),
    ],
)
def test_what_cuda_says_comes_with_what_to_do(monkeypatch: pytest.MonkeyPatch, says: str, advises: str) -> None:
    found = torch_that(monkeypatch, cuda="13.0", says=says)
    assert found.state == "bad"
    assert says[:20] in found.found
    assert advises in found.remedy


def test_a_torch_without_cuda_is_red_where_there_is_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    found = torch_that(monkeypatch, cuda=None, says="never asked")
    assert (found.state, "built without CUDA" in found.found) == ("bad", True)
    assert "pip install" in found.remedy


def test_the_page_on_troubles_has_every_remedy() -> None:
    """docs/troubleshooting.md quotes what the doctor says."""
    text = " ".join((Path(doctor.__file__).parents[2] / "docs" / "troubleshooting.md").read_text().split())
    missing = [one for one in gpu_troubles.BY_CODE.values() if one.found not in text]
    assert missing == []
    assert gpu_troubles.NO_DEVICES.found in text
