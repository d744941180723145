"""The first cell of a chapter says what it runs on, and why there is no GPU where there should be one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from gpulab.measuring import host

ROOT = Path(__file__).resolve().parents[3]
without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")


@without_gpu
def test_without_a_gpu_nothing_is_missing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "why_no_gpu", lambda environment: "")
    host.this_machine()
    said = capsys.readouterr().out
    assert "cores for this process" in said
    assert "every exercise works" in said
    assert "doctor" not in said


@without_gpu
@pytest.mark.parametrize("chapter", sorted((ROOT / "solutions").glob("*.md")), ids=lambda path: path.stem)
def test_the_first_page_gives_the_device_and_the_reason(
    chapter: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first cell of every chapter, on a machine that has a GPU which PyTorch cannot use."""
    reason = "This machine has an NVIDIA GPU that PyTorch cannot use: too old."
    monkeypatch.setattr(host, "why_no_gpu", lambda environment: reason)
    threads = torch.get_num_threads()
    cell = re.search(r"^```{code-cell}.*?\n(.*?)^```$", chapter.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert cell
    try:
        exec(re.sub(r"^:tags:.*$", "", cell[1], flags=re.MULTILINE), {})
    finally:
        torch.set_num_threads(threads)
    said = capsys.readouterr().out
    assert "CPU" in said or "cores" in said
    assert reason in said
