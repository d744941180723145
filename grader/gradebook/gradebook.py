"""Makes nbgrader's gradebook know a chapter, and tells whom it has grades of.

nbgrader's own steps write the chapter's cells; results are `gradebook.writer`'s.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import nbformat
from nbgrader.api import BaseCell, Grade, Gradebook, MissingEntry, SubmittedAssignment, SubmittedNotebook
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
    SaveCells,
)
from sqlalchemy import func

from grader.gradebook.access import (
    COURSE_ID,
    ClosingGradebook,
    database_errors,
    database_url,
    make_schema,
    open_gradebook,
    reading,
)  # fmt: skip
from grader.gradebook.writer import GradebookWriter
from grader.model.course import Chapter, Course, CourseError
from grader.model.notebooks import read_own
from grader.model.records import make_folder
from grader.model.results import SubmissionResult

__all__ = ["COURSE_ID", "database_errors", "database_url", "open_gradebook", "prepare", "reading", "record", "recorded"]

RELEASE_STEPS = (LockCells, ClearSolutions, ClearOutput, CheckCellMetadata, ComputeChecksums, SaveCells)
# nbgrader's own order. Checksums before saving: `SaveAutoGrades` writes "No response." where a cell's is unchanged.
# Hidden tests stay in: stock nbgrader overwrites submitted test cells from what is saved here.


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
    """Records one submission; for a class, a `GradebookWriter` is faster.

    Raises:
        CourseError: as `GradebookWriter.record`.
    """
    with GradebookWriter(course, chapter) as writer:
        return writer.record(composed, result, timestamp)


def recorded(course: Course, chapter: Chapter) -> dict[str, float]:
    """Each student that the gradebook has a submission of, with the points, manual grades included.

    Raises:
        CourseError: the gradebook is there but cannot be used.
    """
    if not course.gradebook.exists():
        return {}
    with database_errors(course), open_gradebook(course) as book, suppress(MissingEntry):
        assignment = book.find_assignment(chapter.name).id
        notebook = book.find_notebook(chapter.name, chapter.name).id
        cells = [name for (name,) in book.db.query(BaseCell.id).filter(BaseCell.notebook_id == notebook)]
        # Two queries that an index serves each; nbgrader's own score of one student reads the grades of all.
        scores = (
            book.db.query(SubmittedNotebook.assignment_id, func.sum(Grade.score))
            .join(Grade, Grade.notebook_id == SubmittedNotebook.id)
            .filter(Grade.cell_id.in_(cells))
            .group_by(SubmittedNotebook.assignment_id)
        )
        points = {submitted: float(score or 0.0) for submitted, score in scores}
        whose = book.db.query(SubmittedAssignment.id, SubmittedAssignment.student_id)
        rows = whose.filter(SubmittedAssignment.assignment_id == assignment)
        return {student: points.get(submitted, 0.0) for submitted, student in rows}
    return {}


def _create(course: Course) -> None:
    """A new gradebook, whole or not at all."""
    temporary = course.gradebook.with_name(f".{os.getpid()}.db")
    try:
        make_schema(temporary)
        ClosingGradebook(database_url(temporary), COURSE_ID).close()
        temporary.replace(course.gradebook)
    finally:
        temporary.unlink(missing_ok=True)


def _refuse_changed_cells(book: Gradebook, course: Course, chapter: Chapter, notebook: nbformat.NotebookNode) -> None:
    """Stops before nbgrader does, and says which cells; changed points and sources are fine."""
    try:
        known = book.find_notebook(chapter.name, chapter.name)
    except MissingEntry:
        return
    graded: int = book.db.query(SubmittedNotebook).filter(SubmittedNotebook.notebook_id == known.id).count()
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


def _resources(course: Course, chapter: str) -> dict[str, dict[str, str]]:
    """What nbgrader's steps get about the current notebook."""
    return {"nbgrader": {"assignment": chapter, "notebook": chapter, "db_url": database_url(course.gradebook)}}
