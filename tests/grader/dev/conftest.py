"""What tests of `grader prove` share."""

from __future__ import annotations

from pathlib import Path

import pytest
from courses import NAME, built_course
from proofs import BANK, H200

from gpulab.doctor import hardware
from grader.authoring.releasing import release
from grader.model.course import Course


@pytest.fixture
def fake_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A driver that says there is an H200. Nothing that needs one will work."""
    monkeypatch.setenv("GPULAB_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(hardware, "gpus", lambda: (H200,))


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    made = built_course(tmp_path_factory.mktemp("course"))
    made.chapter(NAME).answers.mkdir(parents=True)
    for exercise, text in BANK.items():
        (made.chapter(NAME).answers / f"{exercise}.py").write_text(text)
    release(made.chapter(NAME))
    (made.root / "data").mkdir(exist_ok=True)
    return made
