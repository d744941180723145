"""Where a GPU should work and does not, the first page gives the reason and the remedy; elsewhere nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gpulab.doctor.missing_gpu import why_no_gpu

without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")


def why(tmp_path: Path, *devices: str, driver: bool = False, **environment: str) -> str:
    for name in devices:
        (tmp_path / name).touch()
    if driver:
        (tmp_path / "proc").mkdir()
    return why_no_gpu(environment, tmp_path, tmp_path / "proc")


def test_an_ordinary_machine_without_a_gpu_is_told_nothing(tmp_path: Path) -> None:
    assert why(tmp_path) == ""


@without_gpu
@pytest.mark.parametrize("device", ["nvidia0", "nvidiactl", "dxg"])
def test_torch_says_why_and_the_doctor_what_to_do(tmp_path: Path, device: str) -> None:
    said = why(tmp_path, device)
    assert "PyTorch cannot use" in said
    assert "NVIDIA driver" in said or "CUDA" in said  # torch's own words
    assert "python -m gpulab.doctor" in said


def test_torchs_own_message_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_old() -> None:
        raise RuntimeError("The NVIDIA driver on your system is too old (found version 11040).\nPlease update it.")

    monkeypatch.setattr(torch.cuda, "init", too_old)
    assert "is too old (found version 11040). Please update it. Run" in why(tmp_path, "nvidia0")


def test_a_hidden_gpu_is_told_by_the_variable(tmp_path: Path) -> None:
    assert 'CUDA_VISIBLE_DEVICES is set to ""' in why(tmp_path, "nvidia0", CUDA_VISIBLE_DEVICES="")


def test_a_container_without_its_hosts_gpu_is_told_how_to_get_it(tmp_path: Path) -> None:
    assert '"--gpus all"' in why(tmp_path, driver=True)


@pytest.mark.parametrize(
    ("variable", "says"),
    [
        ("COLAB_RELEASE_TAG", "Change runtime type"),
        ("KAGGLE_KERNEL_RUN_TYPE", "Accelerator"),
        ("JUPYTERHUB_USER", "Hub Control Panel"),
    ],
)
def test_a_notebook_host_is_told_where_gpus_are_chosen(tmp_path: Path, variable: str, says: str) -> None:
    assert says in why(tmp_path, **{variable: "something"})
