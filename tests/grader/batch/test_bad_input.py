"""Bad input, through the real command: one line each, the rest of the class graded, nothing lost, no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from courses import LIGHT
from recorded_class import NAME, ROOT, small_course

from grader.gradebook import gradebook
from grader.model.course import Chapter, Course
from grader.model.records import load_results

Notebook = dict[str, Any]
ANSWERS = {
    "double": "def double(x):\n    return 2 * x",
    "KINDS": 'KINDS = {"a": "the secret kind"}',
    "bandwidth": "def bandwidth(n):\n    return 2 * n",
}


def grader(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "grader", *arguments],
        cwd=folder,
        env={**os.environ, **LIGHT, "PYTHONPATH": str(ROOT), "COLUMNS": "150", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=300,
    )


def solved(chapter: Chapter, **answers: str) -> Notebook:
    """What a student with these answers sends; right ones where none is given."""
    notebook: Notebook = json.loads(chapter.release.read_text())
    for cell in notebook["cells"]:
        cell["source"] = (ANSWERS | answers).get(cell["id"], cell["source"])
    return notebook


def put(home: Path, text: str | bytes) -> Path:
    path = home / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def _huge(home: Path) -> None:
    with put(home, "{").open("r+b") as file:
        file.truncate(100_000_000)


def _link(home: Path) -> None:
    (home / NAME).mkdir(parents=True)
    (home / NAME / f"{NAME}.ipynb").symlink_to(f"../../good/{NAME}/{NAME}.ipynb")


def _absolute_link(home: Path) -> None:
    (home / NAME).mkdir(parents=True)
    (home / NAME / f"{NAME}.ipynb").symlink_to(home.parent.resolve() / "good" / NAME / f"{NAME}.ipynb")


def _two(home: Path) -> None:
    put(home, "{}")
    (home / NAME / "second.ipynb").write_text("{}")


def _other_chapter(home: Path) -> None:
    settings = {"grade_id": "vec_add", "schema_version": 3, "solution": True, "grade": False, "locked": False}
    cell = {"cell_type": "code", "id": "x", "metadata": {"nbgrader": settings}, "source": "def vec_add(a, b): pass"}
    put(home, json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


BAD: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "missing": (lambda home: home.mkdir(), f"no notebook of {NAME}", "Ask for it"),
    "empty": (lambda home: put(home, ""), "the file is empty", "submit again"),
    "blanks": (lambda home: put(home, " \n"), "the file is empty", "submit it again"),
    "truncated": (lambda home: put(home, '{"cells": [{"cell_type": "code", "sour'), "breaks off", "submit it again"),
    "huge": (_huge, "100 MB, and 20 MB is the most", "clear all outputs"),
    "no-json": (lambda home: put(home, "def double(x): return 2 * x"), "JSON", "submit it again"),
    "bytes": (lambda home: put(home, b"\x89PNG\r\n\x00\xff\xfe"), "not a", "submit it again"),
    "list": (lambda home: put(home, "[1, 2]"), "not a notebook", "submit it again"),
    "deep": (lambda home: put(home, "[" * 100_000), "nested too deeply", "submit it again"),
    "other-chapter": (_other_chapter, f"not a notebook of chapter {NAME}", "submit it again"),
    "two": (_two, "2 notebooks", "Keep one"),
    "link": (_link, "a link to ../../good", "Replace it by the file itself"),
    "absolute-link": (_absolute_link, "a link to /", "Replace it by the file itself"),
    "name[bold]": (lambda home: put(home, "{}"), "its name holds a character", "Rename it"),
    "name\x1b[2J": (lambda home: put(home, "{}"), "its name holds control characters", "Rename it"),
}


@dataclass(frozen=True)
class Graded:
    """A class of bad submissions and two good ones, graded by the real command."""

    course: Course
    chapter: Chapter
    ended: subprocess.CompletedProcess[str]

    @property
    def complaints(self) -> list[str]:
        return [line for line in self.ended.stderr.splitlines() if str(self.course.submitted) in line]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    course, chapter = small_course(tmp_path_factory.mktemp("course"))
    course.submitted.mkdir(parents=True)
    put(course.submitted / "good", json.dumps(solved(chapter)))
    looking = 'def double(x):\n    return len(open("/home/anna/numbers.csv").read())'
    put(course.submitted / "Zoë Ångström-Łem", json.dumps(solved(chapter, double=looking)))
    for name, (make, _, _) in BAD.items():
        make(course.submitted / name)
    return Graded(course, chapter, grader(course.root, "autograde", NAME))


def test_the_run_ends_well_and_without_a_traceback(graded: Graded) -> None:
    """Bad submissions are the students' affair; the instructor's command has done its work."""
    assert graded.ended.returncode == 0, graded.ended.stderr
    assert "Traceback" not in graded.ended.stdout + graded.ended.stderr
    assert len(graded.complaints) == len(BAD)


@pytest.mark.parametrize("name", BAD)
def test_each_gets_one_line_with_where_what_and_what_to_do(graded: Graded, name: str) -> None:
    _, what, remedy = BAD[name]
    shown = name.replace("\x1b", "\\x1b")
    (line,) = [line for line in graded.complaints if f"/{shown}" in line.split(": ")[0]]
    assert what in line
    assert remedy in line
    assert line.isprintable()


def test_the_rest_of_the_class_is_graded_and_recorded(graded: Graded) -> None:
    """The absolute path in a student's code costs the exercise that reads it, no more."""
    results = {result.student: result for result in load_results(graded.course, NAME) if result.problem is None}
    assert set(results) == {"good", "Zoë Ångström-Łem"}
    assert (results["good"].earned, results["good"].pending) == (6.75, 3.0)
    assert results["Zoë Ångström-Łem"].earned == 4.75
    failed = next(cell for cell in results["Zoë Ångström-Łem"].cells if cell.grade_id == "double_test")
    assert "/home/anna/numbers.csv" in failed.message
    recorded = gradebook.recorded(graded.course, graded.chapter)
    assert recorded == {student: result.earned for student, result in results.items()}


def test_table_report_and_feedback_are_there_and_say_where(graded: Graded) -> None:
    shown = " ".join(graded.ended.stdout.split())
    folder = graded.course.reports(NAME)
    for path in (folder / "report.html", folder / "grades.csv", graded.course.gradebook):
        assert path.stat().st_size > 100
        assert str(path.relative_to(graded.course.root)) in shown
    assert (graded.course.feedback / "good" / NAME / f"{NAME}.html").exists()
    assert "Zoë Ångström-Łem" in shown
    assert f"2 graded, {len(BAD)} unreadable" in shown or f"{len(BAD)} unreadable, 2 graded" in shown


def test_no_gpu_costs_nothing(graded: Graded) -> None:
    (result,) = [result for result in load_results(graded.course, NAME) if result.student == "good"]
    (cell,) = [cell for cell in result.cells if cell.grade_id == "bandwidth_gpu"]
    assert cell.verdict.value == "needs a GPU"
    assert cell.verdict.pending


def test_a_second_run_keeps_the_grades_and_complains_again(graded: Graded) -> None:
    """Nothing that was graded is lost, and nothing that is still wrong is forgotten."""
    ended = grader(graded.course.root, "autograde", NAME)
    assert ended.returncode == 0
    assert gradebook.recorded(graded.course, graded.chapter) == {"good": 6.75, "Zoë Ångström-Łem": 4.75}
    assert sum(str(graded.course.submitted) in line for line in ended.stderr.splitlines()) == len(BAD)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, too small for a class; root only."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if (
        os.geteuid()
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=250k", "none", disk], check=False).returncode
    ):
        pytest.skip("only root can make a small disk; test_batch fills one by other means")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_disk_that_fills_up_while_grading(tmp_path: Path, small_disk: Path) -> None:
    """One line; what is graded stays; with more room the same command does the rest and no more."""
    course, chapter = small_course(tmp_path / "course")
    course.work.symlink_to(small_disk)
    students = [f"student-{number:02}" for number in range(8)]
    for student in students:
        put(tmp_path / "class" / student, json.dumps(solved(chapter)))
    ended = grader(course.root, "autograde", NAME, str(tmp_path / "class"), "--no-pages")
    (line,) = [line for line in ended.stderr.splitlines() if "full" in line]
    assert ended.returncode == 2, ended.stderr
    assert "the same command again" in line
    assert "Traceback" not in ended.stderr
    kept = {result.student: result for result in load_results(course, NAME)}
    assert 0 < len(kept) < len(students)
    subprocess.run(["mount", "-o", "remount,size=20m", small_disk], check=True)
    ended = grader(course.root, "autograde", NAME, str(tmp_path / "class"), "--no-pages")
    assert ended.returncode == 0, ended.stderr
    after = {result.student: result for result in load_results(course, NAME)}
    assert set(after) == set(students)
    assert {student: after[student] for student in kept} == kept
    assert gradebook.recorded(course, chapter) == dict.fromkeys(students, 6.75)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    course, chapter = small_course(tmp_path)
    put(tmp_path / "class" / "good", json.dumps(solved(chapter)))
    course.work.write_text("a file where a folder must be")
    ended = grader(course.root, "autograde", NAME, "class")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "Traceback" not in ended.stderr
    assert str(course.work) in ended.stderr.splitlines()[-1]


def test_an_unknown_chapter_names_those_that_there_are(tmp_path: Path) -> None:
    small_course(tmp_path)
    ended = grader(tmp_path, "autograde", "09_nothing_like_it")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert NAME in ended.stderr
