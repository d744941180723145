"""The first cell of a chapter says what it runs on, and why there is no GPU where there should be one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from gpulab.measuring import host as module

without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")


@without_gpu
def test_without_a_gpu_nothing_is_missing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "why_unusable", lambda: "")
    module.this_machine()
    said = capsys.readouterr().out
    assert "cores for this process" in said
    assert "every exercise works" in said
    assert "doctor" not in said


@without_gpu
def test_a_gpu_that_cannot_be_used_is_told_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nvidia0").touch()
    reason = module.why_unusable(tmp_path)
    assert "NVIDIA" in reason or "CUDA" in reason  # PyTorch's own words
    monkeypatch.setattr(module, "why_unusable", lambda: reason)
    module.this_machine()
    said = capsys.readouterr().out
    assert reason in said
    assert "grader doctor" in said


def test_no_device_file_no_reason(tmp_path: Path) -> None:
    assert module.why_unusable(tmp_path) == ""
