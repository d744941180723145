"""What tests of `grader prove` share."""

from __future__ import annotations

import pytest
from courses import NAME, built_course
from proofs import BANK, H200

from gpulab.doctor import hardware
from grader.authoring.release import release
from grader.model.course import Course


@pytest.fixture
def fake_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that says there is an H200. Nothing that needs one will work."""
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
