"""Records results in nbgrader's own gradebook, so that formgrader and feedback work on them as ever.

nbgrader's `SaveAutoGrades` does the recording; this module gives it one transaction per submission, and one connection
for them all. Points come from the composed notebook; what the run could not decide is left to be graded, not zero.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import nbformat
from nbgrader.api import BaseCell, Comment, Grade, Gradebook, MissingEntry, SubmittedNotebook
from nbgrader.preprocessors import SaveAutoGrades
from nbgrader.utils import parse_utc

from grader.gradebook.access import database_errors, open_gradebook
from grader.model.course import Chapter, Course, CourseError
from grader.model.records import cannot_write
from grader.model.results import SubmissionResult


class GradebookWriter:
    """Records submissions of one chapter, one after the other; a context manager.

    What SQLAlchemy has once worked out for a query it keeps with the connection: with a new one for every submission,
    recording takes four times as long.

    Args:
        course: the course, whose gradebook `gradebook.prepare` has made ready for the chapter.
        chapter: the chapter.
    """

    def __init__(self, course: Course, chapter: Chapter) -> None:
        self._course, self._chapter = course, chapter
        self._book: Gradebook | None = None
        self._file: tuple[int, int] | None = None
        """Device and inode of the database that `_book` has open."""
        self._checksums: dict[str, str] = {}
        """Of the chapter's cells as released, by grade id."""

    def __enter__(self) -> GradebookWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; the next `record` opens another one."""
        if self._book is not None:
            self._book.close()
        self._book = self._file = None
        self._checksums = {}

    def record(
        self,
        composed: nbformat.NotebookNode,
        result: SubmissionResult,
        timestamp: datetime | None = None,
    ) -> Path:
        """Records one submission and gives the path of its autograded notebook; all of it or, on an error, nothing.

        Manual grades and comments that somebody gave in formgrader stay; nbgrader then marks the row for another look.

        Args:
            composed: the submission with the judge's outputs in its test cells; gets nbgrader's checksums.
            result: the result that it was composed from, of a submission that could be read.
            timestamp: when it was handed in, UTC; without it, what nbgrader's `timestamp.txt` beside the submission
                says.

        Raises:
            CourseError: the gradebook or the folder cannot be written, or `prepare` was not run.
            RuntimeError: what nbgrader recorded is not what the judge decided; a bug of ours.
        """
        if result.problem is not None:
            raise ValueError(f"{result.student} was not graded ({result.problem}): there is nothing to record")
        name = self._chapter.name
        folder = self._course.autograded / _one_folder(result.student) / name
        timestamp = timestamp or _timestamp(self._course.submitted / result.student / name / "timestamp.txt")
        target, temporary = folder / f"{name}.ipynb", folder / f".{os.getpid()}.tmp"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._transaction() as book:
                self._save(book, composed, result, timestamp)
                # Students print what they like: half a surrogate pair is in a string, but not in a file.
                # Not by nbformat, which always indents: that takes Python's slow encoder, a third of recording's time.
                text = json.dumps(composed, ensure_ascii=False, sort_keys=True)
                temporary.write_bytes(text.encode("utf-8", "replace"))
            temporary.replace(target)
            # File, commit, rename: the commit is what a full disk or a lock stops, and then the old file is there.
        except OSError as error:
            raise cannot_write(target, error) from None
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        return target

    def _save(
        self, book: Gradebook, composed: nbformat.NotebookNode, result: SubmissionResult, timestamp: datetime | None
    ) -> None:
        """Everything that one submission changes in the gradebook."""
        name = self._chapter.name
        with book.db.no_autoflush:  # nbgrader links new rows to each other before it adds them; SQLAlchemy would warn
            book.update_or_create_student(result.student)
            submitted = book.update_or_create_submission(name, result.student, timestamp=timestamp)
        notebook = book.find_notebook(name, name)
        if not self._checksums:
            self._checksums = {cell.name: cell.checksum for cell in notebook.source_cells}
        rows = _Rows(book, submitted.id, notebook.id)
        step = SaveAutoGrades()
        step.gradebook, step.notebook_id, step.assignment_id, step.student_id = rows, name, name, result.student
        for index, cell in enumerate(composed.cells):
            grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
            if grade_id in self._checksums:  # with it nbgrader tells an answer from none, as after its `OverwriteCells`
                cell.metadata.nbgrader["checksum"] = self._checksums[grade_id]
            # Its own work, cell by cell; left alone, it opens another connection and commits after every cell.
            step.preprocess_cell(cell, {}, index)
        for judged in result.cells:
            grade = rows.find_grade(judged.grade_id)
            if judged.verdict.pending:
                grade.auto_score, grade.needs_manual_grade = None, True
            elif grade.auto_score is None or abs(grade.auto_score - judged.earned) > 1e-9:
                raise RuntimeError(
                    f"{result.student}: nbgrader recorded {grade.auto_score} points for {judged.grade_id}, "
                    f"and the judge gave {judged.earned}"
                )

    @contextmanager
    def _transaction(self) -> Iterator[Gradebook]:
        """The gradebook, in which nothing is kept unless the block ends without an exception."""
        whole = False
        try:
            with database_errors(self._course):
                book = self._open()
                with book.engine.connect() as connection:
                    # Begun here, so that it is ours to end; and at once, so that a lock is noticed now, not inside
                    # nbgrader. Until another program lets go of it, SQLite waits for 5 s.
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                    # rollback_only: nbgrader's commits end nothing; the one below does.
                    book.db.configure(bind=connection, join_transaction_mode="rollback_only", expire_on_commit=False)
                    try:
                        yield book
                        book.db.commit()
                        connection.commit()
                    finally:
                        book.db.remove()
            whole = True
        except MissingEntry as error:
            remedy = f'Run "grader autograde {self._chapter.name}" again.'
            raise CourseError(self._course.gradebook, f"holds no such row ({error})", remedy) from None
        finally:
            if not whole:
                self.close()  # who knows what state it is in

    def _open(self) -> Gradebook:
        """The gradebook, opened when it is not, or when another file has come in its place."""
        path = self._course.gradebook
        try:
            status = path.stat()
        except FileNotFoundError:
            self.close()
            remedy = f'Run "grader autograde {self._chapter.name}", which makes it.'
            raise CourseError(path, "not there", remedy) from None
        if self._book is None or self._file != (status.st_dev, status.st_ino):
            self.close()
            self._book, self._file = open_gradebook(self._course), (status.st_dev, status.st_ino)
            self._book.db.remove()
        return self._book


class _Rows:
    """What `SaveAutoGrades` asks a gradebook for, fetched at once for one submission.

    By the chapter's few cells, which is what the tables have an index for: nbgrader's own way to all rows of one
    submission reads the whole table.
    """

    def __init__(self, book: Gradebook, submitted_id: str, notebook_id: str) -> None:
        self.db = _NoCommit()
        own = (SubmittedNotebook.assignment_id == submitted_id, SubmittedNotebook.notebook_id == notebook_id)
        (mine,) = book.db.query(SubmittedNotebook.id).filter(*own).one()
        cells = book.db.query(BaseCell.id, BaseCell.name).filter(BaseCell.notebook_id == notebook_id).all()
        names: dict[str, str] = dict(map(tuple, cells))
        self._rows: dict[type, dict[str, Any]] = {}
        for kind in (Grade, Comment):
            found = book.db.query(kind).filter(kind.cell_id.in_(names), kind.notebook_id == mine)
            self._rows[kind] = {names[row.cell_id]: row for row in found}

    def find_grade(self, cell: str, *where: str) -> Any:
        """The grade of a test cell."""
        return self._find(Grade, cell)

    def find_comment(self, cell: str, *where: str) -> Any:
        """The comment on a solution cell."""
        return self._find(Comment, cell)

    def _find(self, kind: type, cell: str) -> Any:
        try:
            return self._rows[kind][cell]
        except KeyError:
            raise MissingEntry(f"No such {kind.__name__.lower()}: {cell}") from None


class _NoCommit:
    """Stands for a session whose commits end nothing."""

    def commit(self) -> None:
        """Does nothing: the transaction is the writer's."""


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
