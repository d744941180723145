"""A student's own report: points, verdicts, messages, and where that is in the class, as one HTML page.

Names nobody else, and nothing of a class so small that its numbers would reveal those of a neighbor. Holds no seed
and no review flag: those are for instructors (`report.page`).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from nbgrader.api import Gradebook, MissingEntry

from grader.gradebook import gradebook
from grader.intake.discovery import fault_of_name
from grader.model.course import Chapter, Course
from grader.model.notebooks import ChapterKey
from grader.model.records import Records, write_atomically
from grader.model.results import CellResult, SubmissionResult, Verdict
from grader.report import class_statistics, feedback
from grader.report.class_statistics import MARKS, CellNumbers, graded, remark
from grader.report.page import STUDENT_REPORT, title_of
from grader.report.rendering import rendered

LEAST_CLASS = 5
"""Submissions below which a distribution would tell one student another one's points."""
MOST_BINS = 10


@dataclass(frozen=True)
class Bin:
    """One bar of the class's distribution of points."""

    low: float
    high: float
    count: int
    own: bool
    """Whether the student is in it."""
    percent: float
    """Height, of a hundred of the highest bar."""


@dataclass(frozen=True)
class TestRow:
    """One test."""

    mark: feedback.Mark
    symbol: str
    kind: str
    """The verdict as a word that a style can be named after."""
    percent: float
    """Earned points, of a hundred."""
    class_percent: float | None
    """The class's mean share of the points; None where too few are decided."""


@dataclass(frozen=True)
class ClassFigures:
    """What is the same on the page of every student."""

    totals: Mapping[str, float]
    """Student → points, those given by hand included."""
    tests: Mapping[str, CellNumbers]

    @property
    def told(self) -> bool:
        """Whether the class is large enough for its numbers to be shown."""
        return len(self.totals) >= LEAST_CLASS


def class_figures(course: Course, chapter: Chapter, results: Sequence[SubmissionResult]) -> ClassFigures:
    """The class's figures.

    Raises:
        CourseError: the gradebook is there but cannot be used.
    """
    recorded = gradebook.recorded(course, chapter)
    totals = {one.student: recorded.get(one.student, one.earned) for one in graded(results)}
    return ClassFigures(totals, {test.grade_id: test for test in class_statistics.cell_numbers(results)})


def write_all(
    course: Course,
    chapter: Chapter,
    results: Sequence[SubmissionResult],
    key: ChapterKey,
    only: Collection[str] | None = None,
    on_progress: Callable[[], None] = lambda: None,
) -> list[Path]:
    """Writes the report of every student beside the feedback page, and gives the paths.

    A student whose submission could not be read gets to know why, and keeps the grade of an earlier one.

    Args:
        course: where the gradebook and the pages lie.
        chapter: the chapter.
        results: of the whole class.
        key: the chapter's cells, for its title.
        only: the students who get a report; all when left out.
        on_progress: called after each page.

    Raises:
        CourseError: the disk is full, a folder not writable, or the gradebook cannot be used.
    """
    figures, title = class_figures(course, chapter, results), title_of(key)
    folders = Records.of(course, chapter.name)
    paths = []
    with _open(course) as book:
        for result in results:
            if (only is not None and result.student not in only) or fault_of_name(result.student):
                continue
            whole = folders.load(result.student) or result
            marks = _marks(book, chapter, whole)
            problem = remark(result) if result.problem is not None else ""
            text = page_of(course, chapter, whole, marks, figures, title, problem)
            paths.append(feedback.folder_of(course, chapter, result.student) / STUDENT_REPORT)
            write_atomically(paths[-1], text, durable=False, mode=0o644)  # as the feedback page
            on_progress()
    return paths


def page_of(
    course: Course,
    chapter: Chapter,
    result: SubmissionResult,
    marks: Sequence[feedback.Mark],
    figures: ClassFigures,
    title: str,
    problem: str,
) -> str:
    """One student's page; `problem` says why the newest submission could not be read, if it could not."""
    judged = {cell.grade_id: cell for cell in result.cells}
    rows = [_row(mark, judged.get(mark.grade_id), figures) for mark in marks]
    earned = figures.totals.get(result.student, result.earned)
    notebook = course.feedback / result.student / chapter.name / f"{chapter.name}.html"
    totals = list(figures.totals.values())
    return rendered(
        "student.html.j2",
        name=chapter.name,
        title=title,
        student=result.student,
        problem=problem,
        earned=earned,
        possible=result.possible,
        pending=sum(mark.pending for mark in marks),
        passed=sum(cell.verdict is Verdict.PASSED for cell in result.cells),
        rows=rows,
        bins=_bins(totals, earned, result.possible) if figures.told and rows else [],
        median=statistics.median(totals) if figures.told and rows else None,
        below=sum(total < earned for total in totals),
        others=len(totals) - (result.student in figures.totals),
        least=LEAST_CLASS,
        repairs=result.repairs,
        feedback=quote(notebook.name) if notebook.is_file() else "",
        device=result.device,
    )


@contextmanager
def _open(course: Course) -> Iterator[Gradebook | None]:
    """The gradebook, or None where there is none."""
    if not course.gradebook.exists():
        yield None
        return
    with gradebook.reading(course) as book:
        yield book


def _marks(book: Gradebook | None, chapter: Chapter, result: SubmissionResult) -> list[feedback.Mark]:
    """What to say about each test: the gradebook's points where it has them, else the judge's."""
    if book is not None:
        with suppress(MissingEntry):
            recorded = book.find_submission_notebook(chapter.name, chapter.name, result.student)
            return feedback.marks_of(recorded, result)
    return [feedback.mark_of(cell) for cell in result.cells]


def _row(mark: feedback.Mark, cell: CellResult | None, figures: ClassFigures) -> TestRow:
    """One line of the table."""
    numbers_of = figures.tests.get(mark.grade_id)
    told = figures.told and numbers_of is not None and numbers_of.decided >= LEAST_CLASS
    share = numbers_of.mean_share if numbers_of is not None and told else None
    verdict = cell.verdict if cell is not None else None
    return TestRow(
        mark=mark,
        symbol=MARKS[verdict] if verdict else "–",
        kind=verdict.value.replace(" ", "-") if verdict else "not-attempted",
        percent=100 * mark.earned / mark.possible if mark.possible else 0.0,
        class_percent=None if share is None else 100 * share,
    )


def _bins(totals: Sequence[float], own: float, possible: float) -> list[Bin]:
    """The class's points in bars of equal width, from 0 to all points."""
    most = max(possible, *totals) or 1.0
    count = min(MOST_BINS, max(1, round(most)))
    place = [max(0, min(int(total * count / most), count - 1)) for total in (*totals, own)]
    heights = [place[:-1].count(index) for index in range(count)]
    return [
        Bin(most * index / count, most * (index + 1) / count, height, index == place[-1], 100 * height / max(heights))
        for index, height in enumerate(heights)
    ]
