"""Records results in nbgrader's own gradebook, so that formgrader and feedback work on them as ever.

nbgrader's `SaveCells` and `SaveAutoGrades` do the recording; this module gives them one connection and one transaction
a submission. Points come from the composed notebook; what the run could not decide is left to be graded, not zero.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook, InvalidEntry, MissingEntry
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
    SaveAutoGrades,
    SaveCells,
)
from nbgrader.utils import parse_utc
from sqlalchemy.exc import DatabaseError
from tornado.log import app_log

from grader.course import Chapter, Course, CourseError
from grader.notebooks import read_own
from grader.records import cannot_write, make_folder
from grader.results import SubmissionResult

COURSE_ID = "gpulab"
"""As in nbgrader_config.py."""

RELEASE_STEPS = (LockCells, ClearSolutions, ClearOutput, CheckCellMetadata, ComputeChecksums, SaveCells)
# nbgrader's own order. Checksums before saving: `SaveAutoGrades` writes "No response." where a cell's is unchanged.
# Hidden tests stay in: stock nbgrader overwrites submitted test cells from what is saved here.

REMEDIES = {
    "locked": "Close what else is writing to it (formgrader, another grader), then run the same command again.",
    "readonly": "Make the file and its folder writable, then run the same command again.",
    "unable to open": "Make the file and its folder readable and writable, then run the same command again.",
    "full": "Free some space, then run the same command again.",
    "no such": 'It was made by another version of nbgrader: copy it to a safe place, then run "nbgrader db upgrade".',
}
"""What to do, by words in SQLite's message."""


def prepare(course: Course, chapter: Chapter) -> None:
    """Makes the gradebook know the chapter's cells and points; grades already in it stay.

    Raises:
        CourseError: the built notebook is missing, the gradebook cannot be used, or exercises were added or removed
            although there are grades for the chapter.
    """
    notebook = read_own(chapter.solution, f'Run "grader build {chapter.name}".')
    make_folder(course.gradebook.parent)
    with database_errors(course):
        if not course.gradebook.exists():
            _create(course)
        with open_gradebook(course) as book:
            with book.engine.connect() as connection:
                connection.exec_driver_sql("BEGIN IMMEDIATE")  # may we write at all? Ask before nbgrader is half-way
            book.update_or_create_assignment(chapter.name)
            _refuse_changed_cells(book, course, chapter, notebook)
        resources = _resources(course, chapter.name)
        for step in RELEASE_STEPS:
            notebook, resources = step().preprocess(notebook, resources)


def record(
    course: Course,
    chapter: Chapter,
    composed: nbformat.NotebookNode,
    result: SubmissionResult,
    timestamp: datetime | None = None,
) -> Path:
    """Records one submission and gives the path of its autograded notebook; all of it or, on an error, nothing.

    Manual grades and comments that somebody gave in formgrader stay; nbgrader then marks the row for another look.

    Args:
        course: the course, whose gradebook `prepare` has made ready for the chapter.
        chapter: the chapter.
        composed: the submission with the judge's outputs in its test cells; gets nbgrader's checksums.
        result: the result that it was composed from, of a submission that could be read.
        timestamp: when it was handed in, UTC; without it, what nbgrader's `timestamp.txt` beside the submission says.

    Raises:
        CourseError: the gradebook or the folder cannot be written, or `prepare` was not run.
        RuntimeError: what nbgrader recorded is not what the judge decided; a bug of ours.
    """
    if result.problem is not None:
        raise ValueError(f"{result.student} was not graded ({result.problem}): there is nothing to record")
    folder = make_folder(course.autograded / _one_folder(result.student) / chapter.name)
    timestamp = timestamp or _timestamp(course.submitted / result.student / chapter.name / "timestamp.txt")
    target, temporary = folder / f"{chapter.name}.ipynb", folder / f".{os.getpid()}.tmp"
    try:
        with _transaction(course, chapter.name) as book:
            _save(book, chapter.name, composed, result, timestamp)
            # Students print what they like: half a surrogate pair is in a string, but not in a file.
            temporary.write_bytes(nbformat.writes(composed).encode("utf-8", "replace"))
        temporary.replace(target)
        # File, commit, rename: the commit is what a full disk or a lock stops, and then the old file is still there.
    except OSError as error:
        raise cannot_write(target, error) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return target


def recorded(course: Course, chapter: Chapter) -> dict[str, float]:
    """Each student that the gradebook has a submission of, with the points, manual grades included.

    Raises:
        CourseError: the gradebook is there but cannot be used.
    """
    if not course.gradebook.exists():
        return {}
    with database_errors(course), open_gradebook(course) as book, suppress(MissingEntry):
        return {one.student_id: float(one.score) for one in book.find_assignment(chapter.name).submissions}
    return {}


def open_gradebook(course: Course) -> Gradebook:
    """nbgrader's gradebook, as a context manager; opening one that is not there would make it."""
    return Gradebook(database_url(course.gradebook), COURSE_ID)


def _save(
    book: Gradebook,
    chapter: str,
    composed: nbformat.NotebookNode,
    result: SubmissionResult,
    timestamp: datetime | None,
) -> None:
    """Everything that one submission changes in the gradebook."""
    with book.db.no_autoflush:  # nbgrader links new rows to each other before it adds them; SQLAlchemy would warn
        book.update_or_create_student(result.student)
        book.update_or_create_submission(chapter, result.student, timestamp=timestamp)
    checksums = {cell.name: cell.checksum for cell in book.find_notebook(chapter, chapter).source_cells}
    step = SaveAutoGrades()
    step.gradebook, step.notebook_id, step.assignment_id, step.student_id = book, chapter, chapter, result.student
    for index, cell in enumerate(composed.cells):
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id in checksums:  # with it nbgrader tells an answer from none, as after its own `OverwriteCells`
            cell.metadata.nbgrader["checksum"] = checksums[grade_id]
        # Its own work, cell by cell; left alone, it opens another connection and commits after every cell.
        step.preprocess_cell(cell, {}, index)
    for cell in result.cells:
        grade = book.find_grade(cell.grade_id, chapter, chapter, result.student)
        if cell.verdict.pending:
            grade.auto_score, grade.needs_manual_grade = None, True
        elif grade.auto_score is None or abs(grade.auto_score - cell.earned) > 1e-9:
            raise RuntimeError(
                f"{result.student}: nbgrader recorded {grade.auto_score} points for {cell.grade_id}, "
                f"and the judge gave {cell.earned}"
            )


@contextmanager
def _transaction(course: Course, chapter: str) -> Iterator[Gradebook]:
    """The gradebook, in which nothing is kept unless the block ends without an exception."""
    if not course.gradebook.exists():
        raise CourseError(course.gradebook, "not there", f'Run "grader autograde {chapter}", which makes it.')
    with database_errors(course), open_gradebook(course) as book:
        book.db.remove()
        with book.engine.connect() as connection:
            # Begun here, so that it is ours to end; and at once, so that a lock is noticed now, not inside nbgrader.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            # rollback_only: nbgrader's commits end nothing; the one below does.
            book.db.configure(bind=connection, join_transaction_mode="rollback_only", expire_on_commit=False)
            try:
                yield book
                book.db.commit()
                connection.commit()
            except MissingEntry as error:
                raise CourseError(
                    course.gradebook, f"holds no such row ({error})", f'Run "grader autograde {chapter}" again.'
                ) from None
            finally:
                book.db.remove()


def _create(course: Course) -> None:
    """A new gradebook, whole or not at all."""
    temporary = course.gradebook.with_name(f".{os.getpid()}.db")
    path = os.environ.get("PATH", os.defpath)
    # nbgrader asks the program `alembic` for the schema's version. It lies beside the interpreter, but a virtual
    # environment that was not activated is not on the path.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{path}"
    try:
        Gradebook(database_url(temporary), COURSE_ID).close()
        temporary.replace(course.gradebook)
    except FileNotFoundError:
        raise CourseError("alembic", "not found beside Python or on the path", 'Run "pip install nbgrader".') from None
    finally:
        os.environ["PATH"] = path
        temporary.unlink(missing_ok=True)


def _refuse_changed_cells(book: Gradebook, course: Course, chapter: Chapter, notebook: nbformat.NotebookNode) -> None:
    """Stops before nbgrader does, and says which cells; changed points and sources are fine."""
    try:
        known = book.find_notebook(chapter.name, chapter.name)
    except MissingEntry:
        return
    graded = len(known.submissions)
    before = {cell.name for cell in known.source_cells}
    settings = [cell.metadata.get("nbgrader", {}) for cell in notebook.cells]
    after = {
        one["grade_id"] for one in settings if any(one.get(kind) for kind in ("grade", "solution", "locked", "task"))
    }
    if graded and before != after:
        changes = [f"{name} is new" for name in sorted(after - before)]
        changes += [f"{name} is gone" for name in sorted(before - after)]
        raise CourseError(
            course.gradebook,
            f"has grades of {graded} student{'s' * (graded > 1)} for {chapter.name}, whose cells have changed since "
            f"({', '.join(changes)})",
            "Move it to a safe place and grade the class again, or give the chapter its old cells back.",
        )


@contextmanager
def database_errors(course: Course) -> Iterator[None]:
    """Turns a database's complaints into a line that says what to do."""
    app_log.disabled = True  # nbgrader logs a traceback there and raises InvalidEntry, which says the same
    try:
        yield
    except (DatabaseError, InvalidEntry) as error:
        reason = str(error.orig) if isinstance(error, DatabaseError) else str(error)
        default = "Move it to a safe place and grade the class again."
        remedy = next((remedy for words, remedy in REMEDIES.items() if words in reason), default)
        raise CourseError(course.gradebook, f"cannot be used ({reason})", remedy) from None
    finally:
        app_log.disabled = False


def _one_folder(student: str) -> str:
    """The student's name, if it is the name of one folder."""
    if student in ("", ".", "..") or "/" in student or "\0" in student:
        raise CourseError(repr(student), "not a name for a folder", "Rename the submission.")
    return student


def _timestamp(path: Path) -> datetime | None:
    """What nbgrader's exchange noted about the time of submission; None when there is no such note that can be read."""
    with suppress(OSError, ValueError, OverflowError):
        if path.is_file():
            with path.open(encoding="utf-8") as file:
                text = file.read(100).strip()
            return parse_utc(text) if text else None
    return None


def _resources(course: Course, chapter: str) -> dict[str, dict[str, str]]:
    """What nbgrader's steps are told about the notebook in hand."""
    return {"nbgrader": {"assignment": chapter, "notebook": chapter, "db_url": database_url(course.gradebook)}}


def database_url(path: Path) -> str:
    """The path as nbgrader wants it."""
    return f"sqlite:///{path}"
