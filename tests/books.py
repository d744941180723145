"""A gradebook of a small course, for tests of what is recorded in it."""

from __future__ import annotations

import sqlite3

from nbgrader.api import Gradebook
from recorded_class import NAME, TESTS, composed, judged, result_of

from grader.gradebook import gradebook
from grader.model.results import Verdict

NEEDS_GPU = judged("bandwidth_gpu", Verdict.NEEDS_GPU, message="No GPU here: these points are pending, not lost.")


def open_book(course):
    return Gradebook(f"sqlite:///{course.gradebook}", gradebook.COURSE_ID)


def record(course, *cells, student="anna", answers=None, **options):
    result = result_of(student, *cells)
    return gradebook.record(course, course.chapter(NAME), composed(result, answers), result, **options)


def grades(course, student="anna"):
    """Grade id → (score by the judge, score by a person, needs a look, points that count)."""
    with open_book(course) as book:
        return {
            name: (grade.auto_score, grade.manual_score, grade.needs_manual_grade, grade.score)
            for name in TESTS
            for grade in [book.find_grade(name, NAME, NAME, student)]
        }


def rows(course):
    """Everything that the gradebook holds about students."""
    connection = sqlite3.connect(course.gradebook)
    try:
        tables = ("student", "submitted_assignment", "submitted_notebook", "grade", "comment")
        return {table: sorted(connection.execute(f"SELECT * FROM {table}").fetchall(), key=str) for table in tables}
    finally:
        connection.close()
