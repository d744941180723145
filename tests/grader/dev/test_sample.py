"""The sample class is made from the answer bank, the same each time, and never mixed with real submissions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recorded_class import NAME, small_course

from grader.dev import sample
from grader.intake.discovery import find_submissions
from grader.model import submission
from grader.model.course import Chapter, Course, CourseError
from grader.model.notebooks import load_key

BANK = {
    "double": """\
# %% right: reference
def double(x):
    return 2 * x
# %% right: by adding
def double(x):
    return x + x
# %% wrong: squares — says "expected"
def double(x):
    return x * x
# %% wrong gpu: only a GPU tells — says "expected"
def double(x):
    return "only a GPU tells"
# %% hostile: equal to everything
class Any:
    def __eq__(self, other):
        return True
def double(x):
    return Any()
""",
    "KINDS": """\
# %% right: reference
KINDS = {"a": "the secret kind"}
# %% wrong: swapped — says "kind"
KINDS = {"a": "another"}
""",
    "bandwidth": """\
# %% right: reference
def bandwidth(n):
    return 2 * n
""",
}


def course_with_bank(folder: Path) -> tuple[Course, Chapter]:
    course, chapter = small_course(folder)
    chapter.answers.mkdir(parents=True)
    for exercise, text in BANK.items():
        (chapter.answers / f"{exercise}.py").write_text(text)
    return course, chapter


@pytest.fixture
def made(tmp_path: Path) -> tuple[Course, Chapter]:
    course, chapter = course_with_bank(tmp_path)
    sample.make_class(course, chapter, course.submitted)
    return course, chapter


def code_of(chapter: Chapter, course: Course, student: str) -> dict[str, str]:
    """Grade id → source of a submission's cells."""
    (path,) = (course.submitted / student).rglob("*.ipynb")
    cells = json.loads(path.read_text())["cells"]
    return {cell["metadata"].get("nbgrader", {}).get("grade_id", cell["id"]): cell["source"] for cell in cells}


def test_a_class_has_all_that_the_grader_must_cope_with(made: tuple[Course, Chapter]) -> None:
    course, chapter = made
    found = find_submissions(course.submitted, NAME)
    assert len(found) >= 12
    assert [one.problem for one in found] == [None] * len(found)
    key = load_key(chapter)
    readable = {}
    for one in found:
        try:
            readable[one.student] = submission.read(one.path, key)
        except CourseError as error:
            assert one.student == "omar-cut-off"
            assert "damaged" in str(error)
    assert len(readable) == len(found) - 1
    assert readable["carla-blank"].attempted == frozenset()
    assert readable["jonas-no-metadata"].attempted == {"double", "KINDS", "bandwidth"}
    assert readable["dmitri-half"].attempted == {"double", "KINDS"}
    assert "was missing" in " ".join(readable["ines-cells-deleted"].repairs)


def test_answers_come_from_the_bank(made: tuple[Course, Chapter]) -> None:
    course, chapter = made
    assert code_of(chapter, course, "anna-solved")["double"] == "def double(x):\n    return 2 * x"
    assert code_of(chapter, course, "bela-differently")["double"] == "def double(x):\n    return x + x"
    assert code_of(chapter, course, "farid-mistaken")["double"] == "def double(x):\n    return x * x"
    assert "class Any" in code_of(chapter, course, "noor-hostile")["double"]
    slip = code_of(chapter, course, "elif-one-slip")
    assert (slip["KINDS"], slip["bandwidth"]) == ('KINDS = {"a": "another"}', "def bandwidth(n):\n    return 2 * n")
    everything = "".join(path.read_text() for path in course.submitted.rglob("*.ipynb"))
    assert "only a GPU tells" not in everything


def test_no_submission_holds_what_students_never_get(made: tuple[Course, Chapter]) -> None:
    course, _ = made
    for path in course.submitted.rglob("*.ipynb"):
        assert "HIDDEN TESTS" not in path.read_text()
        assert "the_secret_way" not in path.read_text()


def test_two_runs_give_the_same_bytes(made: tuple[Course, Chapter]) -> None:
    course, chapter = made
    before = {path: path.read_bytes() for path in course.submitted.rglob("*.ipynb")}
    sample.make_class(course, chapter, course.submitted)
    assert {path: path.read_bytes() for path in course.submitted.rglob("*.ipynb")} == before


def test_real_submissions_are_not_mixed_with_the_sample(tmp_path: Path) -> None:
    course, chapter = course_with_bank(tmp_path)
    (course.submitted / "real-student").mkdir(parents=True)
    with pytest.raises(CourseError, match=r"holds submissions that are no sample \(real-student\).*--into"):
        sample.make_class(course, chapter, course.submitted)
    assert [path.name for path in course.submitted.iterdir()] == ["real-student"]


def test_a_bank_without_right_answers_is_said_so(tmp_path: Path) -> None:
    course, chapter = course_with_bank(tmp_path)
    (chapter.answers / "KINDS.py").unlink()
    with pytest.raises(CourseError, match="no right answer for KINDS"):
        sample.make_class(course, chapter, course.submitted)
