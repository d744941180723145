"""What the set-up of a notebook host decides: which CUDA, which packages, and what it leaves alone."""

from __future__ import annotations

import site
from pathlib import Path

import pytest

from gpulab import hosted
from gpulab.doctor.onnx_runtimes import FOR_CUDA


@pytest.mark.parametrize(
    ("cuda", "gpu", "chosen"),
    [
        ("12.8", "", 12),  # as the host's torch
        ("13.0", "Tesla T4, driver 580.65", 13),
        ("12.6", "Tesla T4, driver 580.65", 12),
        ("", "Tesla T4, driver 550.54.15", 12),  # a torch without CUDA: as the driver
        ("", "Tesla T4, driver 580.65", 13),
        ("", "Tesla T4, driver 470.10", 12),
        ("", "", 13),
    ],
)
def test_kernels_are_compiled_for_torchs_cuda_or_the_drivers(cuda: str, gpu: str, chosen: int) -> None:
    assert hosted.cuda_for_kernels(cuda, gpu) == chosen


def test_packages_are_those_of_the_cuda() -> None:
    declared = ["numba-cuda[cu13]>=0.30.4,<0.32", "nvidia-nvvm>=13,<14", "click>=8"]
    assert list(hosted.for_cuda(declared, 13)) == declared
    assert list(hosted.for_cuda(declared, 12)) == ["numba-cuda[cu12]>=0.30.4,<0.32", "click>=8"]


@pytest.mark.parametrize(
    ("there", "cuda", "installs"),
    [
        ((), 0, ["onnxruntime>=1.27,<2"]),
        ((), 12, [FOR_CUDA[12]]),
        ((), 13, [FOR_CUDA[13]]),
        (("onnxruntime",), 13, ["onnxruntime>=1.27,<2"]),  # the host's own; two write the same files
        (("onnxruntime-gpu",), 13, []),
        (("onnxruntime-gpu",), 0, []),
    ],
)
def test_a_host_gets_one_onnx_runtime(there: tuple[str, ...], cuda: int, installs: list[str]) -> None:
    needs = ["onnx>=1.19,<2", "onnxruntime>=1.27,<2"]
    assert list(hosted.with_onnx_runtime(needs, dict.fromkeys(there, "1.28"), cuda)) == ["onnx>=1.19,<2", *installs]


def test_what_is_missing_or_too_old_is_named() -> None:
    there = {"torch": "2.9.0+cu126", "numpy": "2.1.0", "old": "1.0"}
    needs = ["torch>=2.11", "numpy>=2", "Old>=2", "gone", "other; sys_platform == 'nowhere'", "more; extra == 'x'"]
    assert dict(hosted.unmet(needs, there)) == {"torch": "torch>=2.11", "old": "Old>=2", "gone": "gone"}
    assert "more" in dict(hosted.unmet(needs, there, frozenset({"x", ""})))


def test_torch_is_not_imported_for_its_cuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError")
    (package / "version.py").write_text("__version__ = '2.9.0+cu126'\ncuda: Optional[str] = '12.6'\n")
    monkeypatch.setattr(hosted.importlib.util, "find_spec", lambda name: Spec(str(package / "__init__.py")))
    assert hosted.cuda_of_torch() == "12.6"
    (package / "version.py").write_text("cuda: Optional[str] = None\n")
    assert hosted.cuda_of_torch() == ""


class Spec:
    def __init__(self, origin: str) -> None:
        self.origin = origin


def test_the_gpu_is_what_nvidia_smi_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert hosted.gpu_and_driver() == ""
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'Tesla T4, 550.54.15'\necho 'Tesla T4, 550.54.15'\n")
    program.chmod(0o755)
    assert hosted.gpu_and_driver() == "Tesla T4, driver 550.54.15"
    program.write_text("#!/bin/sh\necho NVIDIA-SMI has failed\nexit 9\n")
    assert hosted.gpu_and_driver() == ""


def test_a_read_only_python_without_a_users_folder_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "ENABLE_USER_SITE", False)
    monkeypatch.setattr(hosted.os, "access", lambda place, mode: False)
    with pytest.raises(hosted.SetUpError, match=r"is read-only.*Ask whoever runs this host"):
        hosted._pip_install(["anything"])


def test_another_python_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hosted, "SUPPORTED", ((3, 99), (3, 99)))
    with pytest.raises(hosted.SetUpError, match=r"the course needs 3\.99 to 3\.99"):
        hosted.set_up(tmp_path / "wheel")
