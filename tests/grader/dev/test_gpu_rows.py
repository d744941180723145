"""docs/gpu_rows.md: what it says of an exercise is looked up in the chapter's tests."""

from __future__ import annotations

import types
from pathlib import Path

import pytest
from courses import FRONT_MATTER, ROOT

from grader.authoring.myst import ChapterSource, read_source
from grader.dev import gpu_rows
from grader.exercises.confront import Confrontation
from grader.model.course import Course

HEAD = f"{FRONT_MATTER}# Title\n\n"


def source(tmp_path: Path, test: str, *more: str) -> ChapterSource:
    cells = "".join(f"```{{code-cell}} ipython3\n:{head}\n:points: 1\n\n{text}\n```\n\n" for head, text in [
        ("test: warp", test), *((f"test: {name}", "warp") for name in more),
    ])  # fmt: skip
    path = tmp_path / "01_small.md"
    path.write_text(f"{HEAD}```{{code-cell}} ipython3\n:exercise: warp\n\nwarp = 32\n```\n\n{cells}")
    return read_source(path)


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    one = types.SimpleNamespace(CONFRONTATIONS=[], ON_DEVICE={}, NONE={})
    monkeypatch.setattr(gpu_rows, "topics", lambda: [one])
    monkeypatch.setattr(gpu_rows, "declared", lambda: {each.exercise: each for each in one.CONFRONTATIONS})
    return one


CALL = 'from grader.exercises.confront import confront\n\nconfront("warp", warp)'


def test_each_way_is_shown(topic: types.SimpleNamespace, tmp_path: Path) -> None:
    topic.CONFRONTATIONS.append(Confrontation("warp", "The driver's warp size.", lambda: 32, lambda *_: None))
    topic.ON_DEVICE["warp"] = ("the tensor is a CUDA tensor.", "device()")
    (one,) = gpu_rows.met(source(tmp_path, f"{CALL}\nx = device()"))
    assert one.ways == ("On the device: the tensor is a CUDA tensor.", "Reading: The driver's warp size.")


def test_an_exercise_that_no_gpu_checks_says_why(topic: types.SimpleNamespace, tmp_path: Path) -> None:
    topic.NONE["warp"] = "a text."
    page = gpu_rows.page([source(tmp_path, "warp")])
    assert "0 of 1 exercises" in page
    assert "| `warp` | Not at all: a text. |" in page


@pytest.mark.parametrize(
    ("declared", "test", "says"),
    [
        ("", "warp", "nothing says"),
        ("on_device", "warp", "no test has"),
        ("confronted", "warp", "never confronted"),
        ("", CALL, "not declared"),
        ("none and on_device", "device()", "not true"),
    ],
)
def test_what_is_not_true_is_refused(
    topic: types.SimpleNamespace, tmp_path: Path, declared: str, test: str, says: str
) -> None:
    if "on_device" in declared:
        topic.ON_DEVICE["warp"] = ("there.", "device()")
    if "none" in declared:
        topic.NONE["warp"] = "a text."
    if declared == "confronted":
        topic.CONFRONTATIONS.append(Confrontation("warp", "Its size.", lambda: 32, lambda *_: None))
    with pytest.raises(ValueError, match=says):
        gpu_rows.met(source(tmp_path, test))


def test_the_page_is_that_of_the_chapters() -> None:
    """What docs/gpu_rows.md says is declared for the course's own exercises, each of them once."""
    written = (Course(ROOT).root / gpu_rows.PAGE).read_text(encoding="utf-8")
    assert written == gpu_rows.page(gpu_rows.sources_of(Course(ROOT))), 'Run "python -m grader.dev.gpu_rows".'
