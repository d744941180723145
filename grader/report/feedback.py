"""Writes what a student gets back: the executed notebook with points, verdicts and comments, as one HTML page.

nbgrader's `GetGrades` and its feedback template do the work; the points come from the gradebook, so that a grade given
by hand shows, and the words from the result file. The page holds no hidden test and runs no script of a student's.
"""

from __future__ import annotations

import copy
import html
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import HTMLExporter
from nbgrader.api import MissingEntry
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import GetGrades

from gpulab.check import layout
from grader.gradebook.gradebook import database_errors, database_url, open_gradebook
from grader.judging.outputs import about_pictures
from grader.model.course import Chapter, Course, CourseError
from grader.model.notebooks import HIDDEN, read_own, visible
from grader.model.records import Records, make_folder, write_atomically
from grader.model.results import CellResult, SubmissionResult, Verdict, exercise_of
from grader.processes.time_limit import within

TEMPLATES = Path(__file__).with_name("templates")
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
CONTROLS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
"""Control characters → Unicode's pictures of them."""


@dataclass(frozen=True)
class Mark:
    """What the page says about one test cell."""

    grade_id: str
    word: str
    style: str
    points: str
    message: str
    pending: float = 0.0
    """Points that are neither earned nor lost yet."""
    comment: bool = False
    """Whether somebody wrote a comment on the answer."""

    @property
    def exercise(self) -> str:
        """Grade id of the answer's cell."""
        return exercise_of(self.grade_id)


def write(course: Course, chapter: Chapter, students: list[str]) -> list[Path]:
    """Writes the feedback pages of these students, all of whom the gradebook must know, and gives their paths.

    Raises:
        CourseError: a submission is not recorded, its notebook cannot be read, or a page cannot be written.
    """
    release = read_own(chapter.release, f'Run "grader release {chapter.name}".')
    prose = {cell["id"]: cell.source for cell in release.cells if cell.cell_type == "markdown"}
    return [_write_page(course, chapter, student, prose) for student in students]


def _write_page(course: Course, chapter: Chapter, student: str, prose: dict[str, str]) -> Path:
    """One student's page."""
    again = f'Run "grader autograde {chapter.name}" again.'
    notebook = read_own(course.autograded / student / chapter.name / f"{chapter.name}.ipynb", again)
    result = Records.of(course, chapter.name).load(student)
    resources: dict[str, Any] = {
        "nbgrader": {
            "student": student,
            "assignment": chapter.name,
            "notebook": chapter.name,
            "db_url": database_url(course.gradebook),
        },
        "metadata": {"name": chapter.name, "path": str(chapter.release.parent)},  # where the prose's pictures are
    }
    try:
        with database_errors(course):
            notebook, resources = GetGrades().preprocess(notebook, resources)
            marks = _marks(course, chapter, student, result)
    except MissingEntry:
        raise CourseError(course.gradebook, f"holds no submission of {student}", again) from None
    resources["grader"] = {
        "marks": marks,
        "earned": _number(resources["nbgrader"]["score"]),
        "possible": _number(resources["nbgrader"]["max_score"]),
        "pending": _number(sum(mark.pending for mark in marks)) if any(mark.pending for mark in marks) else "",
    }
    _make_safe(notebook, {mark.grade_id: mark for mark in marks}, prose)
    page = _rendered(notebook, resources)
    folder = make_folder(course.feedback / student / chapter.name)
    with suppress(OSError):  # somebody else's folder is theirs to close
        course.feedback.chmod(course.feedback.stat().st_mode & ~0o007)
    _keep_notes(course.submitted / student / chapter.name, folder)
    target = folder / f"{chapter.name}.html"
    # Readable, in a folder that is not: nbgrader copies the page with its mode to where its student must read it.
    write_atomically(target, shown(page), mode=0o644)
    return target


def shown(page: str) -> str:
    """The page with symbols for control characters: what a student printed may drive the terminal that shows it."""
    return page.encode("utf-8", "replace").decode().translate(CONTROLS)


def _rendered(notebook: nbformat.NotebookNode, resources: dict[str, Any]) -> str:
    """The page; of a notebook that breaks or holds up what makes it, one with text alone."""
    try:
        with within(PAGE_SECONDS):
            page, _ = _exporter().from_notebook_node(copy.deepcopy(notebook), copy.deepcopy(resources))
    except Exception:  # whatever it chokes on, the others get their pages
        for cell in notebook.cells:
            cell.metadata["magics_language"] = "text"
            for output in cell.get("outputs", ()):
                if "data" in output:
                    output.data = {"text/plain": output.data.get("text/plain", "[not shown]")}
        page, _ = _exporter().from_notebook_node(notebook, resources)
    return str(page)


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


def _marks(course: Course, chapter: Chapter, student: str, result: SubmissionResult | None) -> list[Mark]:
    """What to say about each test cell, in the gradebook's points and the judge's words."""
    judged = {cell.grade_id: cell for cell in result.cells} if result else {}
    with open_gradebook(course) as book:
        notebook = book.find_submission_notebook(chapter.name, chapter.name, student)
        commented = {comment.name for comment in notebook.comments if comment.manual_comment}
        grades = {grade.name: grade for grade in notebook.grades}
        order = [name for name in judged if name in grades] + [name for name in grades if name not in judged]
        return [_mark(grades[name], judged.get(name), exercise_of(name) in commented) for name in order]


def _mark(grade: Any, judged: CellResult | None, commented: bool) -> Mark:
    """What to say about one test cell."""
    points = f"{_number(grade.score)} of {_number(grade.max_score)}"
    message = "\n".join(layout.lines(judged.message)) if judged else ""
    if grade.manual_score is not None:
        return Mark(grade.name, "graded by hand", "primary", points, message, comment=commented)
    if grade.auto_score is None:
        word = f"pending: {judged.verdict.value}" if judged and judged.verdict.pending else "to be graded"
        message = message or "Not decided yet, and not lost."
        points = f"{_number(grade.max_score)} pending"
        return Mark(grade.name, word, "info", points, message, float(grade.max_score), commented)
    if judged and judged.earned == grade.auto_score:
        verdict = judged.verdict
    elif grade.auto_score >= grade.max_score:
        verdict = Verdict.PASSED
    else:
        verdict = Verdict.PARTIAL if grade.auto_score > 0 else Verdict.FAILED
    return Mark(grade.name, verdict.value, STYLES[verdict], points, message, comment=commented)


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
        from_stock = HIDDEN.search(cell.source) is not None
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


@lru_cache(maxsize=1)
def _exporter() -> HTMLExporter:
    """nbgrader's exporter with our page around its template; made once, the templates compiled once."""
    stock = GenerateFeedback(coursedir=CourseDirectory(root="/"))
    config = stock.config.copy()
    config.HTMLExporter.extra_template_paths = [
        *config.HTMLExporter.extra_template_paths,
        *config.HTMLExporter.extra_template_basedirs,  # ours names nbgrader's by its path in there
        str(TEMPLATES),
    ]
    config.HTMLExporter.template_file = "feedback.html.j2"
    config.HTMLExporter.embed_images = True
    exporter = HTMLExporter(config=config)
    for step in stock.preprocessors:
        if step is not GetGrades:  # done before, on the notebook itself: what follows needs its points
            exporter.register_preprocessor(step, enabled=True)
    return exporter


def _number(points: float) -> str:
    """Points as people write them: 3, 1.75, 0.33."""
    return f"{round(points, 2):g}"
