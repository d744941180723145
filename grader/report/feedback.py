"""Writes what a student gets back: the executed notebook with points, verdicts and comments, as one HTML page.

nbgrader's feedback template does the work (`page_renderer`). The points come from the gradebook, so that a grade given
by hand shows; the words come from the result file. The page holds no hidden test and runs no script of a student's.
"""

from __future__ import annotations

import copy
import html
import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbgrader.api import Gradebook, MissingEntry, SubmittedNotebook
from nbgrader.utils import is_grade, is_solution, is_task

from gpulab.check import layout
from grader.gradebook.gradebook import reading
from grader.judging.outputs import about_pictures
from grader.model.course import Chapter, Course, CourseError
from grader.model.notebooks import HIDDEN, read_own, visible
from grader.model.records import Records, make_folder, write_atomically
from grader.model.results import CellResult, SubmissionResult, Verdict, exercise_of
from grader.processes.time_limit import TimeLimitReached, within
from grader.report.page_renderer import Renderer, whole_page
from grader.report.rendering import shown

SHOWN_FORMATS = ("image/png", "image/jpeg", "image/svg+xml", "text/latex", "text/plain")
"""What is shown of an output: the page must not run what a student's code made (HTML, scripts, widgets)."""
EXCHANGE_NOTES = ("timestamp.txt", "submission_secret.txt")
"""What nbgrader's exchange puts beside a submission; a page's name in the exchange is made from the secret."""
PAGE_SECONDS = 30
"""For one student's page, which takes a tenth of a second: the class behind them waits for theirs."""
MAX_NOTE = 4_096
"""Bytes; nbgrader's own have fewer than 100."""
STYLES = {
    Verdict.PASSED: "success",
    Verdict.PARTIAL: "warning",
    Verdict.FAILED: "danger",
    Verdict.NOT_ATTEMPTED: "default",
    Verdict.TIMED_OUT: "danger",
    Verdict.CRASHED: "danger",
    Verdict.NEEDS_GPU: "info",
    Verdict.HARNESS_ERROR: "info",
}
"""Bootstrap's names for colors."""


@dataclass(frozen=True)
class Mark:
    """What the page says about one test cell."""

    grade_id: str
    word: str
    style: str
    points: str
    message: str
    earned: float = 0.0
    possible: float = 0.0
    pending: float = 0.0
    """Points that are neither earned nor lost yet."""
    comment: bool = False
    """Whether somebody wrote a comment on the answer."""

    @property
    def exercise(self) -> str:
        """Grade id of the answer's cell."""
        return exercise_of(self.grade_id)


def write(
    course: Course, chapter: Chapter, students: list[str], on_progress: Callable[[], None] = lambda: None
) -> list[Path]:
    """Writes the feedback pages of these students, all of whom the gradebook must know, and gives their paths.

    Args:
        course: where the gradebook and the graded notebooks lie.
        chapter: the chapter.
        students: who get a page.
        on_progress: called after each page.

    Raises:
        CourseError: a submission is not recorded, its notebook cannot be read, or a page cannot be written.
    """
    if not students:
        return []
    release = read_own(chapter.release, f'Run "grader release {chapter.name}".')
    prose = {cell["id"]: cell.source for cell in release.cells if cell.cell_type == "markdown"}
    renderer, paths = Renderer(), []
    with reading(course) as book:
        for student in students:
            paths.append(_write_page(course, chapter, student, prose, book, renderer))
            on_progress()
    return paths


def _write_page(
    course: Course, chapter: Chapter, student: str, prose: dict[str, str], book: Gradebook, renderer: Renderer
) -> Path:
    """One student's page."""
    again = f'Run "grader autograde {chapter.name}" again.'
    notebook = read_own(course.autograded / student / chapter.name / f"{chapter.name}.ipynb", again)
    records = Records.of(course, chapter.name)
    result = records.load(student)
    try:
        recorded = book.find_submission_notebook(chapter.name, chapter.name, student)
        marks = marks_of(recorded, result)
        grades = _put_grades(notebook, recorded)
    except MissingEntry:
        raise CourseError(course.gradebook, f"holds no submission of {student}", again) from None
    resources: dict[str, Any] = {
        "nbgrader": {"student": student, "assignment": chapter.name, "notebook": chapter.name, **grades},
        "metadata": {"name": chapter.name, "path": str(chapter.release.parent)},  # where the prose's pictures are
        "grader": {
            "marks": marks,
            "earned": _number(grades["score"]),
            "possible": _number(grades["max_score"]),
            "pending": _number(sum(mark.pending for mark in marks)) if any(mark.pending for mark in marks) else "",
        },
    }
    _make_safe(notebook, {mark.grade_id: mark for mark in marks}, prose)
    page = _rendered(renderer, notebook, resources)
    folder = folder_of(course, chapter, student)
    _keep_notes(course.submitted / student / chapter.name, folder)
    target = folder / f"{chapter.name}.html"
    # Readable, in a folder that is not: nbgrader copies the page with its mode to where its student must read it.
    write_atomically(target, shown(page), mode=0o644)
    if result is not None:
        records.mark_page(result)
    return target


def _put_grades(notebook: nbformat.NotebookNode, recorded: SubmittedNotebook) -> dict[str, float]:
    """Puts points and comments where nbgrader's template looks for them, as its `GetGrades` does; gives the totals.

    That asks the gradebook for each cell and opens it for each notebook.

    Raises:
        MissingEntry: the gradebook does not have a cell.
    """
    grades = {grade.name: grade for grade in recorded.grades}
    comments = {comment.name: comment for comment in recorded.comments}
    try:
        for cell in notebook.cells:
            if is_solution(cell) or is_task(cell):
                cell.metadata.nbgrader["comment"] = comments[cell.metadata.nbgrader["grade_id"]].comment
            if is_grade(cell) or is_task(cell):
                grade = grades[cell.metadata.nbgrader["grade_id"]]
                cell.metadata.nbgrader["score"], cell.metadata.nbgrader["points"] = grade.score, grade.max_score
    except KeyError as error:
        raise MissingEntry(f"no cell {error}") from None
    penalty = recorded.late_submission_penalty or 0.0
    return {"score": recorded.score - penalty, "max_score": recorded.max_score, "late_penalty": penalty}


def due(course: Course, chapter: Chapter, results: Iterable[SubmissionResult]) -> list[str]:
    """Students in the gradebook whose page is not there, or of an earlier grade: a run may end between the two."""
    records, students = Records.of(course, chapter.name), []
    for result in results:
        page = course.feedback / result.student / chapter.name / f"{chapter.name}.html"
        # Not by the times of the two: clocks are set back, and an old page would stay.
        up_to_date = page.is_file() and records.has_page(result)
        if result.problem is None and records.is_recorded(result) and not up_to_date:
            students.append(result.student)
    return students


def folder_of(course: Course, chapter: Chapter, student: str) -> Path:
    """Where what a student gets back lies; made, and closed to other accounts.

    Raises:
        CourseError: it cannot be made or nothing can be written in it.
    """
    folder = make_folder(course.feedback / student / chapter.name)
    with suppress(OSError):  # somebody else's folder is theirs to close
        course.feedback.chmod(course.feedback.stat().st_mode & ~0o007)
    return folder


def _rendered(renderer: Renderer, notebook: nbformat.NotebookNode, resources: dict[str, Any]) -> str:
    """The page; of a notebook that breaks or holds up what makes it, one with text alone."""
    try:
        with within(PAGE_SECONDS):
            return renderer.page(notebook, resources)
    except Exception:  # a page that fails does not cost the others theirs
        notebook = copy.deepcopy(notebook)
        for cell in notebook.cells:
            cell.metadata["magics_language"] = "text"
            for output in cell.get("outputs", ()):
                if "data" in output:
                    output.data = {"text/plain": output.data.get("text/plain", "[not shown]")}
    try:
        with within(PAGE_SECONDS):
            return whole_page(notebook, resources)
    except TimeLimitReached:
        for cell in notebook.cells:
            if cell.get("outputs"):
                cell.outputs = [nbformat.v4.new_output("stream", text="[not shown: too slow to display]")]
        return whole_page(notebook, resources)


def _keep_notes(submitted: Path, folder: Path) -> None:
    """Puts what nbgrader noted of a submission beside the page, so that `nbgrader release_feedback` finds it.

    The student's own process wrote these notes: what is no short file of text is left where it is.
    """
    for name in EXCHANGE_NOTES:
        with suppress(OSError, UnicodeDecodeError):
            descriptor = os.open(submitted / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                note = file.read(MAX_NOTE + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
            if 0 < len(note) <= MAX_NOTE:
                write_atomically(folder / name, note.decode())


def marks_of(recorded: SubmittedNotebook, result: SubmissionResult | None) -> list[Mark]:
    """What to say about each test cell, in the gradebook's points and the judge's words.

    Args:
        recorded: the gradebook's entry, of a gradebook that is open.
        result: what the judge said; None when the submission was graded elsewhere.
    """
    judged = {cell.grade_id: cell for cell in result.cells} if result else {}
    commented = {comment.name for comment in recorded.comments if comment.manual_comment}
    grades = {grade.name: grade for grade in recorded.grades}
    order = [name for name in judged if name in grades] + [name for name in grades if name not in judged]
    return [_mark(grades[name], judged.get(name), exercise_of(name) in commented) for name in order]


def _mark(grade: Any, judged: CellResult | None, commented: bool) -> Mark:
    """What to say about one test cell."""
    points = f"{_number(grade.score)} of {_number(grade.max_score)}"
    message = "\n".join(layout.lines(judged.message)) if judged else ""
    if grade.manual_score is not None:
        word, style = "graded by hand", "primary"
    elif grade.auto_score is None:
        word = f"pending: {judged.verdict.value}" if judged and judged.verdict.pending else "to be graded"
        return _pending(grade.name, word, message, float(grade.max_score), commented)
    else:
        if judged and judged.earned == grade.auto_score:
            verdict = judged.verdict
        elif grade.auto_score >= grade.max_score:
            verdict = Verdict.PASSED
        else:
            verdict = Verdict.PARTIAL if grade.auto_score > 0 else Verdict.FAILED
        word, style = verdict.value, STYLES[verdict]
    return Mark(grade.name, word, style, points, message, float(grade.score), float(grade.max_score), comment=commented)


def mark_of(cell: CellResult) -> Mark:
    """What to say about a test cell that the gradebook does not have."""
    message = "\n".join(layout.lines(cell.message))
    if cell.verdict.pending:
        return _pending(cell.grade_id, f"pending: {cell.verdict.value}", message, cell.possible)
    points = f"{_number(cell.earned)} of {_number(cell.possible)}"
    return Mark(cell.grade_id, cell.verdict.value, STYLES[cell.verdict], points, message, cell.earned, cell.possible)


def _pending(grade_id: str, word: str, message: str, possible: float, commented: bool = False) -> Mark:
    """What to say about a test whose points are not decided."""
    message = message or "Not decided yet, and not lost."
    points = f"{_number(possible)} pending"
    return Mark(grade_id, word, "info", points, message, 0.0, possible, possible, commented)


def _make_safe(notebook: nbformat.NotebookNode, marks: dict[str, Mark], prose: dict[str, str]) -> None:
    """Takes out of the notebook what must not be in a page: hidden tests, and markup that a student could have made."""
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if cell.cell_type == "markdown":
            if prose.get(cell.get("id", "")) != cell.source:
                cell.source = f"<pre>{html.escape(cell.source)}</pre>"  # Markdown lets HTML and script links through
            continue
        if cell.cell_type != "code":
            continue  # raw cells: nbconvert cleans them
        from_stock = grade_id in marks and HIDDEN.search(cell.source) is not None
        if grade_id in marks:
            cell.metadata["grader_mark"] = marks[grade_id]
            cell.source = visible(cell.source)
        for output in cell.outputs:
            if output.output_type == "error" and (from_stock or not output.traceback):
                # Stock nbgrader's tracebacks quote the hidden test; a judge's error without lines would show nothing.
                output.traceback = [f"{output.ename}: {output.evalue}"]
            elif "data" in output:
                output.data = {kind: output.data[kind] for kind in SHOWN_FORMATS if kind in output.data}
                output.metadata = about_pictures(output.get("metadata"), output.data)
        cell.outputs = [output for output in cell.outputs if output.get("data", True)]


def _number(points: float) -> str:
    """Points as people write them: 3, 1.75, 0.33."""
    return f"{round(points, 2):g}"
