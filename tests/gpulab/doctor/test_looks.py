"""The doctor finds what the chapters lack on a machine, says what to do about it, and never falls ill itself."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pynvml
import pytest

from gpulab.doctor import gpu_troubles, hardware, looks
from gpulab.doctor.looks import DoctorRow

ROOT = Path(__file__).resolve().parents[3]


def row(rows: Iterator[DoctorRow] | list[DoctorRow], what: str) -> DoctorRow:
    return next(one for one in rows if one.what == what)


def test_no_gpu_is_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (found,) = looks._gpus()
    assert (found.state, found.found) == ("fair", "none: CUDA_VISIBLE_DEVICES= shows none")
    assert "stay pending" in found.remedy


def test_a_numba_that_does_not_fit_numba_cuda_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    """None stands for a module that Python refuses to import."""
    monkeypatch.setitem(sys.modules, "numba.cuda", None)
    (found,) = looks._numba()
    assert found.state == "bad"
    assert "numba.cuda" in found.found
    assert "--upgrade numba" in found.remedy


def test_a_look_that_fails_is_a_red_row_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[DoctorRow]:
        raise RuntimeError("first line\nsecond line")
        yield

    rows = looks.examine([broken, looks._python])
    assert row(rows, "broken").found == "RuntimeError: first line"
    assert row(rows, "broken").state == "bad"
    assert row(rows, "Python").state == "good"


def test_kernels_are_really_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three packages that import and do not fit together are a red row, not a green one."""
    assert [one.state for one in looks._numba()] == ["good"]
    assert [one.state for one in looks._nvrtc()] == ["good"]
    monkeypatch.setattr(looks, "ARCHITECTURE", (1, 0))  # nobody compiles for it any more
    (numba,), (nvrtc,) = looks._numba(), looks._nvrtc()
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
    (found,) = looks._gpus()
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
    found = row(looks._gpus(), "driver")
    assert (found.state, found.remedy) == ("bad", gpu_troubles.TOO_OLD)
    monkeypatch.setattr(looks, "_cuda_of_torch", lambda: 12)
    assert row(looks._gpus(), "driver").state == "good"  # with packages for CUDA 12
    monkeypatch.setattr(looks, "_cuda_of_torch", lambda: 13)
    assert row(looks._gpus(), "driver").state == "bad"
    monkeypatch.setattr(hardware, "gpus", lambda: (an_h200(),))
    assert row(looks._gpus(), "driver").state == "good"


def torch_that(monkeypatch: pytest.MonkeyPatch, *, cuda: str | None, says: str) -> DoctorRow:
    """The row for a torch of this build that says so when it is used."""
    import torch

    def fail(*arguments: object, **named: object) -> None:
        raise RuntimeError(says)

    monkeypatch.setattr(hardware, "gpus", lambda: (an_h200(),))
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "ones", fail)
    (found,) = looks._torch()
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
    text = " ".join((Path(looks.__file__).parents[2] / "docs" / "troubleshooting.md").read_text().split())
    missing = [one for one in gpu_troubles.BY_CODE.values() if one.found not in text]
    assert missing == []
    assert gpu_troubles.NO_DEVICES.found in text


def test_a_student_runs_it_without_the_grader() -> None:
    """`python -m gpulab.doctor`, where nothing of `grader` can be imported."""
    code = (
        "import runpy, sys; sys.modules['grader'] = None; sys.argv = ['doctor'];"
        "runpy.run_module('gpulab.doctor', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for what in ("Python", "system", "GPU", "torch", "Numba", "NVRTC"):
        assert f" {what} " in done.stdout
