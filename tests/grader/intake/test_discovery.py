"""Submissions are found in every usual layout; what cannot be taken is named with what to do about it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.intake.discovery import FoundSubmission, find_submissions
from grader.model.course import CourseError
from grader.model.submission import MAX_NOTEBOOK_BYTES

CHAPTER = "01_small"
NAME = f"{CHAPTER}.ipynb"


def put(path: Path, text: str = "{}") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def only(folder: Path) -> FoundSubmission:
    (found,) = find_submissions(folder, CHAPTER)
    return found


@pytest.mark.parametrize(
    "path",
    [
        f"anna/{CHAPTER}/{NAME}",
        f"anna/{NAME}",
        "anna.ipynb",
        f"anna/{CHAPTER}/{CHAPTER} (1).ipynb",
        f"anna/{CHAPTER}/renamed.ipynb",
        "anna/renamed.ipynb",
    ],
)
def test_every_usual_layout_is_understood(tmp_path: Path, path: str) -> None:
    notebook = put(tmp_path / path)
    assert only(tmp_path) == FoundSubmission("anna", notebook)


@pytest.mark.parametrize("given", ["anna", f"anna/{CHAPTER}", f"anna/{CHAPTER}/{NAME}"])
def test_one_student_can_be_given_alone(tmp_path: Path, given: str) -> None:
    notebook = put(tmp_path / "anna" / CHAPTER / NAME)
    put(tmp_path / "bela" / CHAPTER / NAME)
    assert only(tmp_path / given) == FoundSubmission("anna", notebook)


def test_a_student_keeps_other_chapters_and_checkpoints_beside(tmp_path: Path) -> None:
    notebook = put(tmp_path / "anna" / NAME)
    put(tmp_path / "anna" / "02_other.ipynb")
    put(tmp_path / "anna" / ".ipynb_checkpoints" / NAME)
    put(tmp_path / "anna" / "data.csv")
    assert only(tmp_path) == FoundSubmission("anna", notebook)


def test_students_come_sorted_and_what_is_no_submission_is_left_out(tmp_path: Path) -> None:
    for student in ("zoë", "bela", "安娜"):
        put(tmp_path / student / CHAPTER / NAME)
    put(tmp_path / "grades.csv")
    put(tmp_path / ".DS_Store")
    put(tmp_path / "__MACOSX" / NAME)
    assert [(one.student, one.problem) for one in find_submissions(tmp_path, CHAPTER)] == [
        ("bela", None),
        ("zoë", None),
        ("安娜", None),
    ]


def _missing(home: Path) -> None:
    home.mkdir()


def _other_only(home: Path) -> None:
    put(home / "02_other" / "02_other.ipynb")


def _two(home: Path) -> None:
    put(home / CHAPTER / NAME)
    put(home / CHAPTER / "01_small-Copy1.ipynb")


def _two_beside(home: Path) -> None:
    put(home / "one.ipynb")
    put(home / "two.ipynb")


def _two_places(home: Path) -> None:
    put(home / CHAPTER / NAME)
    put(home / NAME)


def _link(home: Path) -> None:
    put(home / CHAPTER / "keep.txt")
    (home / CHAPTER / NAME).symlink_to("../../../answers.ipynb")


def _absolute_link(home: Path) -> None:
    put(home / CHAPTER / "keep.txt")
    (home / CHAPTER / NAME).symlink_to("/etc/passwd")


def _linked_folder(home: Path) -> None:
    put(home.parent.parent / "elsewhere" / NAME)
    home.mkdir()
    (home / CHAPTER).symlink_to(home.parent.parent / "elsewhere")


def _linked_home(home: Path) -> None:
    put(home.parent.parent / "elsewhere" / NAME)
    home.symlink_to(home.parent.parent / "elsewhere")


def _link_beside(home: Path) -> None:
    put(home / CHAPTER / NAME)
    (home / CHAPTER / "data").symlink_to("/etc")


def _pipe(home: Path) -> None:
    (home / CHAPTER).mkdir(parents=True)
    os.mkfifo(home / CHAPTER / NAME)


def _folder_as_notebook(home: Path) -> None:
    (home / CHAPTER / NAME).mkdir(parents=True)


def _empty(home: Path) -> None:
    put(home / CHAPTER / NAME, "")


def _huge(home: Path) -> None:
    with put(home / CHAPTER / NAME).open("r+b") as file:
        file.truncate(100_000_000)


@pytest.mark.parametrize(
    ("make", "words", "remedy"),
    [
        (_missing, "no notebook of 01_small", "Ask for it"),
        (_other_only, "no notebook of 01_small", "Ask for it"),
        (_two, "2 notebooks (01_small/01_small-Copy1.ipynb, 01_small/01_small.ipynb)", "Keep one"),
        (_two_beside, "2 notebooks (one.ipynb, two.ipynb)", "Keep one"),
        (_two_places, "2 notebooks", "Keep one"),
        (_link, "a link to ../../../answers.ipynb", "Replace it by the file itself"),
        (_absolute_link, "a link to /etc/passwd", "Replace it by the file itself"),
        (_linked_folder, "a link to ", "Replace it by the file itself"),
        (_linked_home, "a link to ", "Replace it by the file itself"),
        (_link_beside, "a link to /etc", "Replace it by the file itself"),
        (_pipe, "not an ordinary file", "Replace it"),
        (_folder_as_notebook, "not an ordinary file", "Replace it"),
        (_empty, "the file is empty", "submit again"),
        (_huge, "100 MB, and 20 MB is the most", "clear all outputs"),
    ],
)
def test_a_bad_submission_gets_one_line_and_the_rest_are_found(
    tmp_path: Path, make: Callable[[Path], None], words: str, remedy: str
) -> None:
    """Where, what, what to do, in one line; another student's submission is not touched by it."""
    home = tmp_path / "class" / "eve"
    home.parent.mkdir()
    make(home)
    good = put(tmp_path / "class" / "anna" / CHAPTER / NAME)
    anna, eve = find_submissions(tmp_path / "class", CHAPTER)
    assert anna == FoundSubmission("anna", good)
    assert eve.student == "eve"
    assert words in (eve.problem or "")
    assert remedy in eve.remedy
    assert eve.line.startswith(str(home))
    assert "\n" not in eve.line


def test_a_dangling_link_is_told_from_a_missing_notebook(tmp_path: Path) -> None:
    (tmp_path / "eve.ipynb").symlink_to(tmp_path / "nowhere.ipynb")
    assert "a link to" in (only(tmp_path).problem or "")


@pytest.mark.parametrize(
    "name",
    [
        "tab\there",
        "line\nbreak",
        "escape\x1b[31m",
        "back\\slash",
        "star*",
        "brackets[1]",
        "rtl\u202eanna",
        'quote"',
        "x" * 230,
    ],
)
def test_names_that_could_do_harm_are_refused_and_printed_harmlessly(tmp_path: Path, name: str) -> None:
    put(tmp_path / name / NAME)
    found = only(tmp_path)
    assert "its name" in (found.problem or "")
    assert "Rename it" in found.remedy
    assert found.line.isprintable()


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    put(Path(os.fsdecode(os.fsencode(tmp_path) + b"/ann\xe9")) / NAME)
    found = only(tmp_path)
    assert "bytes that are no text" in (found.problem or "")
    found.student.encode()  # would raise if anything of it were left
    found.line.encode()


def test_a_folder_that_cannot_be_entered_costs_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner may list it and nobody may look at what is in it: root can, so the refusal is made."""
    put(tmp_path / "anna" / NAME)
    put(tmp_path / "eve" / CHAPTER / NAME)
    ask = Path.is_dir

    def refused(path: Path) -> bool:
        if path.parent.name == "eve":
            raise PermissionError(13, "Permission denied", str(path))
        return ask(path)

    monkeypatch.setattr(Path, "is_dir", refused)
    anna, eve = find_submissions(tmp_path, CHAPTER)
    assert anna.problem is None
    assert eve.problem == "cannot be opened (Permission denied)"


def test_two_submissions_under_one_name_are_both_refused(tmp_path: Path) -> None:
    put(tmp_path / "anna.ipynb")
    put(tmp_path / "anna" / NAME)
    assert [one.problem for one in find_submissions(tmp_path, CHAPTER)] == ["2 submissions of anna"] * 2


def test_no_folder_and_no_submissions_are_errors_for_the_instructor(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match="not there"):
        find_submissions(tmp_path / "nowhere", CHAPTER)
    with pytest.raises(CourseError, match="no submissions here"):
        find_submissions(tmp_path, CHAPTER)


def test_the_limit_is_the_readers(tmp_path: Path) -> None:
    """Just at the limit a notebook is still read."""
    with put(tmp_path / "anna.ipynb").open("r+b") as file:
        file.truncate(MAX_NOTEBOOK_BYTES)
    assert only(tmp_path).problem is None
