"""What can happen to a machine while a class is graded: nothing is lost, nothing graded twice, and nobody else pays."""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from courses import LIGHT, NAME, ROOT, built_course
from disturbed import SEED, STUDENTS, assert_same, fill, kept, processes_with, rows, undisturbed_course, wait_for

from grader.batch.batch import grade_class
from grader.batch.recorder import SubmissionProgress
from grader.model.course import Course, CourseError
from grader.model.limits import Limits
from grader.model.notebooks import load_key
from grader.model.records import load_results
from grader.model.results import SubmissionResult, Verdict
from grader.processes import client
from grader.sandbox import cgroups

pytestmark = pytest.mark.long


@pytest.fixture
def undisturbed() -> Course:
    """The class, graded with nothing going wrong."""
    return undisturbed_course()


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return fill(built_course(tmp_path / "course"))


def grade(course: Course, **options: object) -> list[SubmissionResult]:
    chapter = course.chapter(NAME)
    given = {"key": load_key(chapter), "slots": 2, "seed": SEED} | options
    return grade_class(course, chapter, course.submitted, **given)  # type: ignore[arg-type]


def autograde(course: Course, marker: str) -> subprocess.Popen[str]:
    """`grader autograde` in a process of its own, whose descendants can be told by a marker in LD_LIBRARY_PATH."""
    variables = {**os.environ, **LIGHT, "PYTHONPATH": str(ROOT), "LD_LIBRARY_PATH": f"/{marker}"}
    command = [sys.executable, "-m", "grader", "autograde", NAME, "--no-pages", "--seed", str(SEED)]
    return subprocess.Popen(command, cwd=course.root, env=variables, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_driver_that_is_killed_loses_nothing(course: Course, undisturbed: Course) -> None:
    """Killed so that it can do nothing about it: no process stays, and the next run does only the rest."""
    marker = f"driver-{os.getpid()}-{time.monotonic_ns()}"
    with autograde(course, marker) as driver:
        wait_for(lambda: len(kept(course)) >= 3 or driver.poll() is not None)
        driver.send_signal(signal.SIGKILL)
    before = kept(course)
    assert 3 <= len(before) < STUDENTS - 1
    wait_for(lambda: not processes_with(marker), 10)
    with autograde(course, marker) as again:
        _, said = again.communicate(timeout=480)
    assert again.returncode == 0, said
    after = kept(course)
    assert {student: after[student] for student in before} == before
    assert_same(course, undisturbed)


def test_a_fork_server_that_is_killed_costs_nobody_a_point(course: Course, undisturbed: Course) -> None:
    """What it had started dies with it, and is graded again in the same run."""
    killed = []

    def kill(one: SubmissionProgress) -> None:
        if one.state == "graded" and not killed:
            parent = client.shared.get()
            killed.append(parent)
            os.kill(parent.pid, signal.SIGKILL)

    results = grade(course, on_progress=kill)
    assert len(results) == STUDENTS
    assert not killed[0].alive()
    assert not any(cell.verdict is Verdict.HARNESS_ERROR for result in results for cell in result.cells)
    assert_same(course, undisturbed)


class Holding:
    """Another process's hold on the gradebook."""

    def __init__(self, course: Course, seconds: float) -> None:
        code = (
            "import sqlite3, sys, time; book = sqlite3.connect(sys.argv[1]); book.execute('BEGIN IMMEDIATE'); "
            "print('held', flush=True); time.sleep(float(sys.argv[2])); book.rollback()"
        )
        command = [sys.executable, "-c", code, str(course.gradebook), str(seconds)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "held\n"

    def __enter__(self) -> Holding:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()


def test_a_gradebook_that_another_program_holds_for_a_moment_is_waited_for(course: Course, undisturbed: Course) -> None:
    """Formgrader saves a comment just when a submission is recorded."""
    holds: list[Holding] = []

    def hold(one: SubmissionProgress) -> None:
        if one.state == "graded" and not holds:
            holds.append(Holding(course, 1.5))

    grade(course, on_progress=hold)
    holds[0].__exit__()
    assert_same(course, undisturbed)


def test_a_gradebook_that_stays_locked_stops_the_run_with_one_line(course: Course, undisturbed: Course) -> None:
    """What is graded is kept, and recorded by the next run without grading it again."""
    holds: list[Holding] = []

    def hold(one: SubmissionProgress) -> None:
        if one.state == "graded" and not holds:
            holds.append(Holding(course, 600))

    started = time.monotonic()
    with pytest.raises(CourseError, match=r"gradebook\.db: cannot be used \(database is locked\)\. Close what else"):
        grade(course, on_progress=hold)
    assert time.monotonic() - started > 4  # it waited for a while
    holds[0].__exit__()
    done = {one.student: one for one in load_results(course, NAME) if one.problem is None}
    assert len(done) == 2  # one recorded, one kept only
    assert len(rows(course)["students"]) == 1
    after = {one.student: one for one in grade(course)}
    assert {student: after[student] for student in done} == done
    assert_same(course, undisturbed)


def test_a_clock_that_jumps_back_changes_nothing(
    course: Course, undisturbed: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An hour at every look; all limits are on a clock that only goes forward."""
    looks = itertools.count()
    monkeypatch.setattr(time, "time", lambda: 2_000_000_000.0 - 3600 * next(looks))
    monkeypatch.setattr(time, "time_ns", lambda: 2_000_000_000_000_000_000 - 3_600_000_000_000 * next(looks))
    results = grade(course, limits=Limits(cell_seconds=19))
    monkeypatch.undo()
    assert all(result.usage.wall_seconds > 0 for result in results if result.problem is None)
    assert_same(course, undisturbed)


@pytest.mark.skipif(cgroups.parents() is None, reason="memory is bounded by control groups, and there are none here")
def test_a_submission_that_exhausts_the_memory_costs_itself_only(
    course: Course, undisturbed: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else loses a point, and nothing of it stays: no thread, no scratch folder, no damage to the gradebook."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    path = course.submitted / "student-4" / f"{NAME}.ipynb"
    text = path.read_text()
    assert "return 2 * number" in text
    path.write_text(text.replace("return 2 * number", "return len(bytearray(4_000_000_000))"))
    limits = Limits(memory_bytes=300_000_000)
    results = {result.student: result for result in grade(course, limits=limits)}
    greedy = {cell.grade_id: cell for cell in results["student-4"].cells}
    assert greedy["double_test"].verdict is Verdict.CRASHED
    assert greedy["KINDS_test"].earned == greedy["KINDS_test"].possible / 2
    others = {student: result.earned for student, result in results.items() if student != "student-4"}
    expected = {result.student: result.earned for result in load_results(undisturbed, NAME)}
    assert others == {student: points for student, points in expected.items() if student != "student-4"}
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("slot")]
    assert list(scratch.iterdir()) == []
    with closing(sqlite3.connect(course.gradebook)) as book:
        assert book.execute("PRAGMA quick_check").fetchone() == ("ok",)
