"""Recording in nbgrader's gradebook: points, what is pending, and what must survive."""

from __future__ import annotations

import os
import resource
import sqlite3
import sys
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path

import nbformat
import pytest
from books import NEEDS_GPU, grades, open_book, record, rows
from nbgrader.api import Gradebook
from nbgrader.apps.api import NbGraderAPI
from nbgrader.apps.nbgraderapp import NbGrader
from nbgrader.coursedir import CourseDirectory
from recorded_class import NAME, composed, judged, released_notebook, result_of, small_course
from traitlets.config.loader import PyFileConfigLoader

from grader.gradebook import gradebook
from grader.gradebook.composition import compose
from grader.judging import session
from grader.model import submission
from grader.model.course import Course, CourseError
from grader.model.notebooks import load_key
from grader.model.results import Verdict


def grade_by_hand(course, grade_id, points):
    """What formgrader does when somebody types in a score."""
    with open_book(course) as book:
        grade = book.find_grade(grade_id, NAME, NAME, "anna")
        grade.manual_score, grade.needs_manual_grade = points, False
        book.db.commit()


def test_points_are_exact(course):
    """Full, partial and no points arrive as the judge gave them, quarters included."""
    record(
        course,
        judged("double_test", Verdict.FAILED, message="double(1): you returned 1, expected 2."),
        judged("KINDS_test", Verdict.PARTIAL, 1.75, "b: 'x'"),
        NEEDS_GPU,
    )
    assert grades(course) == {
        "double_test": (0.0, None, False, 0.0),
        "KINDS_test": (1.75, None, False, 1.75),
        "bandwidth_test": (3.0, None, False, 3.0),
        "bandwidth_gpu": (None, None, True, 0.0),
    }
    assert gradebook.recorded(course, course.chapter(NAME)) == {"anna": 4.75}


def test_what_the_judge_decides_is_what_nbgrader_records(course, tmp_path):
    """A submission through judge and composition: the same points in the result and in the gradebook."""
    chapter, notebook = course.chapter(NAME), released_notebook()
    answers = {"double": "def double(x):\n    return x + 1", "KINDS": "KINDS = {'a': 'the secret kind'}"}
    for cell in notebook.cells:
        cell.source = answers.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
    nbformat.write(notebook, tmp_path / "anna.ipynb")
    key = load_key(chapter)
    submitted = submission.read(tmp_path / "anna.ipynb", key)
    result = session.grade(submitted, key, student="anna", seed=7)
    gradebook.record(course, chapter, compose(submitted, key, result), result)
    assert {name: row[3] for name, row in grades(course).items()} == {
        cell.grade_id: cell.earned for cell in result.cells
    }
    assert [cell.verdict for cell in result.cells[:3]] == [Verdict.FAILED, Verdict.PARTIAL, Verdict.NOT_ATTEMPTED]
    with open_book(course) as book:
        assert book.find_comment("bandwidth", NAME, NAME, "anna").comment == "No response."


@pytest.mark.parametrize("share", [0.1, 1 / 3, 2 / 3, 1.9999999999999998, 5e-324])
def test_any_share_is_exact(course, share):
    """No share is rounded on its way through the notebook."""
    record(course, judged("KINDS_test", Verdict.PARTIAL, share))
    assert grades(course)["KINDS_test"][0] == share


@pytest.mark.parametrize("verdict", list(Verdict))
def test_only_what_is_ours_is_pending(course, verdict):
    """A missing GPU or a fault of the harness leaves a row to be graded; nothing else does."""
    record(course, judged("bandwidth_gpu", verdict, 1.0 if verdict is Verdict.PARTIAL else 0.0))
    auto_score, _, needs_manual_grade, _ = grades(course)["bandwidth_gpu"]
    assert needs_manual_grade is verdict.pending
    assert (auto_score is None) is verdict.pending


def test_a_pending_row_is_decided_by_the_next_grading(course):
    """Graded again on a machine with a GPU, the points are earned and nobody need look."""
    record(course, NEEDS_GPU)
    record(course)
    assert grades(course)["bandwidth_gpu"] == (3.0, None, False, 3.0)


def test_manual_grades_survive_a_regrade(course):
    """A score typed into formgrader counts after grading again, on pending rows too; nbgrader asks for another look."""
    record(course, judged("double_test", Verdict.FAILED), NEEDS_GPU)
    grade_by_hand(course, "double_test", 1.5)
    grade_by_hand(course, "bandwidth_gpu", 2.5)
    record(course, NEEDS_GPU)
    assert grades(course)["double_test"] == (2.0, 1.5, True, 1.5)
    assert grades(course)["bandwidth_gpu"] == (None, 2.5, True, 2.5)


def test_manual_grades_and_comments_survive_prepare(course):
    """Building the chapter again, with other points and prose, loses nothing that was given."""
    record(course, NEEDS_GPU)
    grade_by_hand(course, "bandwidth_gpu", 2.5)
    with open_book(course) as book:
        book.find_comment("double", NAME, NAME, "anna").manual_comment = "Neat."
        book.db.commit()
    before = rows(course)
    chapter = course.chapter(NAME)
    notebook = nbformat.read(chapter.solution, as_version=4)
    notebook.cells[0].source = "# Smaller"
    notebook.cells[3].metadata.nbgrader.points = 4
    nbformat.write(notebook, chapter.solution)
    gradebook.prepare(course, chapter)
    assert rows(course) == before
    with open_book(course) as book:
        assert book.find_graded_cell("double_test", NAME, NAME).max_score == 4


def test_prepare_refuses_to_drop_graded_exercises(course):
    """An exercise that is gone would take its grades along: one clear line instead, and the grades stay."""
    record(course)
    chapter, before = course.chapter(NAME), rows(course)
    notebook = nbformat.read(chapter.solution, as_version=4)
    del notebook.cells[2:4]
    nbformat.write(notebook, chapter.solution)
    with pytest.raises(CourseError, match=r"has grades of 1 student for .*double is gone, double_test is gone"):
        gradebook.prepare(course, chapter)
    assert rows(course) == before


def test_prepare_follows_changed_exercises_before_anything_is_graded(course):
    """Until the first submission, exercises come and go."""
    chapter = course.chapter(NAME)
    notebook = nbformat.read(chapter.solution, as_version=4)
    del notebook.cells[2:4]
    nbformat.write(notebook, chapter.solution)
    gradebook.prepare(course, chapter)
    with open_book(course) as book:
        names = {cell.name for cell in book.find_notebook(NAME, NAME).source_cells}
    assert names == {"KINDS", "KINDS_test", "bandwidth", "bandwidth_test", "bandwidth_gpu"}


def test_an_unanswered_exercise_is_commented(course):
    """nbgrader's own mark for a cell that is still as released."""
    record(course, answers={"KINDS": "KINDS = {'a': 'mine'}"})
    with open_book(course) as book:
        comments = {name: book.find_comment(name, NAME, NAME, "anna").comment for name in ("double", "KINDS")}
    assert comments == {"double": "No response.", "KINDS": None}


def test_the_time_of_submission_is_kept(course):
    """From nbgrader's own note beside the submission, or as given; rubbish in the note is no time."""
    folder = course.submitted / "anna" / NAME
    folder.mkdir(parents=True)
    for text, expected in (
        ("2026-03-01 10:00:00.5 UTC", datetime(2026, 3, 1, 10, 0, 0, 500_000)),
        ("soon", None),
        ("9" * 90, None),
        ("", None),
    ):
        (folder / "timestamp.txt").write_text(text)
        record(course)
        with open_book(course) as book:
            assert book.find_submission(NAME, "anna").timestamp == expected
    record(course, timestamp=datetime(2026, 3, 2))
    with open_book(course) as book:
        assert book.find_submission(NAME, "anna").timestamp == datetime(2026, 3, 2)


def test_formgrader_sees_the_class(course):
    """Through nbgrader's own interface and this course's settings: graded, with points, and who needs a look."""
    submitted = course.submitted / "anna" / NAME
    submitted.mkdir(parents=True)
    nbformat.write(composed(result_of("anna")), submitted / f"{NAME}.ipynb")
    (submitted / "timestamp.txt").write_text("2026-03-01 10:00:00 UTC")
    record(course, judged("KINDS_test", Verdict.PARTIAL, 0.5), NEEDS_GPU)
    record(course, student="ben")
    app = NbGrader()
    app.config.merge(PyFileConfigLoader("nbgrader_config.py", path=str(course.root)).load_config())
    api = NbGraderAPI(CourseDirectory(parent=app), parent=app)
    assert api.get_source_assignments() == {NAME}
    seen = {one["student"]: one for one in api.get_submissions(NAME)}
    assert [seen["anna"][key] for key in ("score", "max_score", "needs_manual_grade", "autograded")] == [
        5.5,
        10.0,
        True,
        True,
    ]
    assert (seen["ben"]["score"], seen["ben"]["needs_manual_grade"]) == (10.0, False)


def test_nbgrader_and_the_harness_mean_the_same_folders(tmp_path):
    """nbgrader_config.py and `Course` say the same about every folder, with an absolute root."""
    course, _ = small_course(tmp_path)
    app = NbGrader()
    app.config.merge(PyFileConfigLoader("nbgrader_config.py", path=str(course.root)).load_config())
    folders = CourseDirectory(parent=app)
    chapter = course.chapter(NAME)
    assert Path(folders.format_path(folders.source_directory, ".", NAME)) == chapter.solution.parent
    assert Path(folders.format_path(folders.release_directory, ".", NAME)) == chapter.release.parent
    assert Path(folders.format_path(folders.submitted_directory, "anna", NAME)) == course.submitted / "anna" / NAME
    assert Path(folders.format_path(folders.autograded_directory, "anna", NAME)) == course.autograded / "anna" / NAME
    assert Path(folders.format_path(folders.feedback_directory, "anna", NAME)) == course.feedback / "anna" / NAME
    assert folders.db_url == f"sqlite:///{course.gradebook}"
    assert folders.course_id == gradebook.COURSE_ID
    assert Path(folders.root).is_absolute()
    assert Course.find(tmp_path).root == Path(folders.root)


def test_a_new_gradebook_is_what_nbgrader_would_have_made(course, tmp_path, monkeypatch):
    """Tables, columns and version: `nbgrader db upgrade` and other tools go by them."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")  # for its `alembic`
    with Gradebook(f"sqlite:///{tmp_path / 'own.db'}", gradebook.COURSE_ID):
        pass
    schemas = []
    for path in (tmp_path / "own.db", course.gradebook):
        with closing(sqlite3.connect(path)) as connection:
            schema = set(connection.execute("SELECT name, sql FROM sqlite_master WHERE name != 'alembic_version'"))
            schemas.append((schema, connection.execute("SELECT version_num FROM alembic_version").fetchall()))
    assert schemas[0] == schemas[1]
    assert len(schemas[0][0]) > 15


def test_there_is_no_half_gradebook(tmp_path, monkeypatch):
    """Whatever stops it on the way, nothing is left behind."""
    monkeypatch.setattr("grader.gradebook.gradebook.ClosingGradebook", {}.popitem)
    course, chapter = small_course(tmp_path)
    with pytest.raises(TypeError):
        gradebook.prepare(course, chapter)
    assert list(course.work.iterdir()) == []


def test_recording_is_lean(course):
    """A quarter of a CPU-second a submission is the most that recording may cost; it takes a tenth of that."""
    record(course)
    results = [result_of(f"student {number}", NEEDS_GPU) for number in range(10)]
    notebooks = [composed(result) for result in results]
    before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    for notebook, result in zip(notebooks, results, strict=True):
        gradebook.record(course, course.chapter(NAME), notebook, result)
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu_seconds = (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) / len(results)
    assert cpu_seconds < 0.25, f"{cpu_seconds:.3f} CPU-s, {(time.perf_counter() - started) / 10:.3f} s a submission"
