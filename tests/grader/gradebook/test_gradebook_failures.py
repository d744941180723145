"""A gradebook that cannot be written, is damaged, locked or fed with odd names: nothing is half there."""

from __future__ import annotations

import os
import signal
import sqlite3

import nbformat
import pytest
from books import NEEDS_GPU, grades, record, rows
from recorded_class import NAME, composed, judged, result_of, small_course
from sqlalchemy import event

from grader.gradebook import gradebook
from grader.gradebook.access import open_gradebook
from grader.model.course import CourseError
from grader.model.results import SubmissionResult, Verdict


def test_a_failure_part_way_leaves_the_earlier_state(course):
    """A composed notebook that nbgrader cannot process after some cells changes neither database nor file."""
    path = record(course, judged("double_test", Verdict.FAILED), NEEDS_GPU)
    before, text = rows(course), path.read_bytes()
    result = result_of("anna")
    bad = composed(result)
    bad.cells[-1].metadata.nbgrader.grade_id = "no_such_cell"
    with pytest.raises(CourseError, match="no_such_cell"):
        gradebook.record(course, course.chapter(NAME), bad, result)
    assert (rows(course), path.read_bytes()) == (before, text)
    assert list(path.parent.iterdir()) == [path]


def test_a_new_student_who_fails_part_way_is_not_there(course):
    """Not even a student's row stays behind."""
    result = result_of("ben")
    bad = composed(result)
    bad.cells[-1].metadata.nbgrader.grade_id = "no_such_cell"
    with pytest.raises(CourseError):
        gradebook.record(course, course.chapter(NAME), bad, result)
    assert not any(rows(course).values())


def test_a_score_that_nbgrader_reads_otherwise_is_refused(course):
    """The notebook says full points, the result none: a bug of ours must not become a grade."""
    failed = result_of("anna", judged("double_test", Verdict.FAILED))
    with pytest.raises(RuntimeError, match=r"recorded 2\.0 points for double_test, and the judge gave 0\.0"):
        gradebook.record(course, course.chapter(NAME), composed(result_of("anna")), failed)
    assert not any(rows(course).values())


def test_an_unwritable_place_keeps_the_earlier_state(course):
    """A file where the student's folder should be: one clear line, no row."""
    course.autograded.mkdir()
    (course.autograded / "anna").write_text("in the way")
    with pytest.raises(CourseError, match="anna"):
        record(course)
    assert not any(rows(course).values())


def test_an_interrupt_waits_until_the_gradebook_is_closed(course, caplog):
    """Ctrl-C at that very moment: no connection stays open, and nothing is logged as a failure."""
    record(course)
    with pytest.raises(KeyboardInterrupt), open_gradebook(course) as book:
        book.db.connection()  # one is open
        held = []

        @event.listens_for(book.engine, "close")
        def interrupted(connection, _):
            held.append(connection)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        held[0].execute("SELECT 1")
    assert not caplog.records


def test_a_locked_gradebook_says_so(course, monkeypatch, caplog):
    """Somebody else is writing: one line with what to do, no traceback in the log, nothing changed."""
    monkeypatch.setattr(sqlite3.dbapi2, "connect", quick(sqlite3.connect))
    other = sqlite3.connect(course.gradebook)
    other.execute("BEGIN IMMEDIATE")
    try:
        for act in (lambda: record(course), lambda: gradebook.prepare(course, course.chapter(NAME))):
            with pytest.raises(CourseError, match=r"database is locked\)\. Close what else is writing"):
                act()
    finally:
        other.close()
    assert not caplog.records
    assert not any(rows(course).values())
    record(course)
    assert grades(course)["double_test"][0] == 2.0


def test_a_disk_that_fills_up_inside_nbgrader_says_so(course, caplog):
    """A failing insert, as on a full disk: one line instead of nbgrader's traceback in the log, nothing changed."""
    connection = sqlite3.connect(course.gradebook)
    connection.execute(
        "CREATE TRIGGER full BEFORE INSERT ON grade BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
    )
    connection.close()
    with pytest.raises(CourseError, match=r"cannot be used \(.*disk is full.*\)\. Free some space"):
        record(course)
    assert not caplog.records
    assert not any(rows(course).values())


def quick(connect):
    """`sqlite3.connect` that does not wait 5 s for a lock."""
    return lambda *arguments, **options: connect(*arguments, **{**options, "timeout": 0.05})


@pytest.mark.parametrize("act", ["prepare", "record", "recorded"])
def test_a_damaged_gradebook_says_so(course, act):
    """Not a database at all: where, what, what to do."""
    course.gradebook.write_bytes(b"not a database, but long enough to be looked at" * 100)
    chapter, result = course.chapter(NAME), result_of("anna")
    acts = {
        "prepare": lambda: gradebook.prepare(course, chapter),
        "record": lambda: gradebook.record(course, chapter, composed(result), result),
        "recorded": lambda: gradebook.recorded(course, chapter),
    }
    with pytest.raises(CourseError, match=r"gradebook\.db: cannot be used \(file is not a database\)\. Move it"):
        acts[act]()


def test_recording_before_preparing_says_what_to_do(tmp_path):
    """Without a gradebook there is nothing to record in."""
    course, _ = small_course(tmp_path)
    with pytest.raises(CourseError, match=f'not there. Run "grader autograde {NAME}"'):
        record(course)
    assert gradebook.recorded(course, course.chapter(NAME)) == {}


@pytest.mark.parametrize("name", ["..", "", "a/b", "."])
def test_a_name_that_leads_elsewhere_is_refused(course, name):
    """A student's name is one folder, never a way out of `work/autograded`."""
    with pytest.raises(CourseError, match="not a name for a folder"):
        record(course, student=name)


def test_odd_names_and_outputs_are_recorded(course):
    """Names that people have, and output that is no valid text."""
    for student in ("Zoë O'Neill", "李雷", "a;DROP TABLE grade;--", "<script>alert(1)</script>"[:20].replace("/", "")):
        result = result_of(student)
        notebook = composed(result)
        notebook.cells[1].outputs = [nbformat.v4.new_output("stream", name="stdout", text="half \ud83d, \x00")]
        path = gradebook.record(course, course.chapter(NAME), notebook, result)
        assert "half ?" in nbformat.read(path, as_version=4).cells[1].outputs[0].text
    assert len(gradebook.recorded(course, course.chapter(NAME))) == 4


def test_an_unreadable_submission_is_not_recorded(course):
    """What could not be read has no grade, not a zero."""
    unread = SubmissionResult("anna", NAME, problem="not JSON")
    with pytest.raises(ValueError, match="nothing to record"):
        gradebook.record(course, course.chapter(NAME), composed(result_of("anna")), unread)
