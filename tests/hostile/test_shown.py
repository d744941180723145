"""What is shown of hostile submissions (feedback, report, formgrader, terminal) runs nothing of theirs."""

from __future__ import annotations

import html.parser
import io
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hostile import attacks, chapter
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader import handlers
from rich.console import Console
from traitlets.config import Config

from grader.gradebook import gradebook
from grader.gradebook.composition import compose
from grader.intake.discovery import find_submissions
from grader.judging.session import grade
from grader.model.course import Chapter, Course
from grader.model.limits import Limits
from grader.model.records import Records
from grader.model.results import SubmissionResult
from grader.model.submission import parse
from grader.processes import client, fork_server
from grader.report import class_table, feedback
from grader.report.page_renderer import Renderer, whole_page

SHOWN = (
    "script_in_outputs",
    "surrogates",
    "display_attack",
    "error_text_attack",
    "ids_and_kernels",
    "colors_without_end",
)
NAME = "<img src=x onerror=alert('hostile')>"
"""What one of the students calls themselves."""
ROOT = Path(__file__).resolve().parents[2]


class Found(html.parser.HTMLParser):
    """Everything in a page that a browser would run and that a submission could have brought."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.harmful: list[str] = []
        self._in_script = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_script = tag == "script"
        for name, value in attrs:
            text = "".join((value or "").split()).lower()
            if name.startswith("on") and ("alert" in text or "hostile" in text):
                self.harmful.append(f"<{tag} {name}={value}>")
            if text.startswith(("javascript:", "data:text/html", "vbscript:")):
                self.harmful.append(f"<{tag} {name}={value}>")

    def handle_data(self, data: str) -> None:
        if self._in_script and "alert('hostile')" in data:
            self.harmful.append(f"<script>{data[:80]}")

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Course, Chapter, list[SubmissionResult]]:
    """A course in which a class of attackers is graded and recorded."""
    root = tmp_path_factory.mktemp("course")
    course, lesson = Course(root), Chapter(chapter.NAME, root)
    key = chapter.make_key()
    for path, sources in ((lesson.solution, {cell.id: cell.source for cell in key.cells}), (lesson.release, {})):
        path.parent.mkdir(parents=True)
        nbformat.write(nbformat.from_dict(chapter.notebook(sources)), path)
    shutil.copy(ROOT / "nbgrader_config.py", root)
    gradebook.prepare(course, lesson)
    parent = client.SubmissionServer(fork_server.LIGHT_MODULES)
    results = []
    records = Records.of(course, chapter.NAME)
    (records.folder / ".problems").mkdir(parents=True)
    for attack in attacks.load():
        if attack.name in SHOWN:
            student = NAME if attack.name == SHOWN[0] else attack.name
            submission = parse(attack.data(), key)
            result = grade(submission, key, student=student, seed=7, limits=Limits(cell_seconds=5), parent=parent)
            records.save(result)
            gradebook.record(course, lesson, compose(submission, key, result), result)
            results.append(result)
    parent.close()
    assert len(results) == len(SHOWN)
    return course, lesson, results


def test_the_search_finds_what_runs() -> None:
    """The check of the check."""
    page = "<p onload='alert(1)'><a href=' java\tscript:x'></a><script>alert('hostile')</script>"
    assert len(Found(page).harmful) == 3
    assert Found("<p>&lt;script&gt;alert('hostile')&lt;/script&gt;</p><script>ours()</script>").harmful == []


def test_feedback_runs_nothing(graded: tuple[Course, Chapter, list[SubmissionResult]]) -> None:
    course, lesson, results = graded
    pages = feedback.write(course, lesson, [result.student for result in results])
    for page in pages:
        assert Found(page.read_text(encoding="utf-8")).harmful == [], page
    assert any("&lt;script&gt;alert(" in page.read_text(encoding="utf-8") for page in pages)


def test_feedback_holds_no_control_characters(graded: tuple[Course, Chapter, list[SubmissionResult]]) -> None:
    """None that a terminal obeys, or that a browser may not be sent: NUL, ESC, and their like."""
    course, lesson, results = graded
    assert any("\x1b" in cell.message for result in results for cell in result.cells)
    for page in feedback.write(course, lesson, [result.student for result in results]):
        found = re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]", page.read_text(encoding="utf-8"))
        assert found is None, (page, found)


def test_feedback_is_nbconverts_own(
    graded: tuple[Course, Chapter, list[SubmissionResult]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each attack, the page that is put together from cells rendered before is the one of the whole notebook."""
    course, lesson, results = graded
    page, same = Renderer.page, []

    def compared(renderer: Renderer, notebook: nbformat.NotebookNode, resources: dict[str, Any]) -> str:
        made = page(renderer, notebook, resources)
        same.append(made == whole_page(notebook, resources))
        return made

    monkeypatch.setattr(Renderer, "page", compared)
    feedback.write(course, lesson, [result.student for result in results])
    assert same == [True] * len(results)


def test_the_report_runs_nothing(graded: tuple[Course, Chapter, list[SubmissionResult]], tmp_path: Path) -> None:
    course, lesson, results = graded
    class_table.write_html(course, lesson, results, chapter.make_key(), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert Found(text).harmful == []
    assert "&lt;img src=x" in text
    class_table.write_csv(results, tmp_path / "grades.csv")


def test_the_terminal_is_not_driven(graded: tuple[Course, Chapter, list[SubmissionResult]]) -> None:
    """No escape sequence of a submission reaches the terminal through the table of the class."""
    screen = io.StringIO()
    Console(file=screen, width=200, color_system=None).print(class_table.table(graded[2]))
    assert "\x1b" not in screen.getvalue()
    assert "\x07" not in screen.getvalue()


def test_formgrader_runs_nothing(graded: tuple[Course, Chapter, list[SubmissionResult]]) -> None:
    """Formgrader shows notebooks at the address of the instructor's own Jupyter server: a script there could do all."""
    course, lesson, results = graded
    settings = Config()
    runpy.run_path(str(course.root / "nbgrader_config.py"), {"get_config": lambda: settings})
    settings.HTMLExporter.template_name = "formgrade"
    settings.HTMLExporter.extra_template_basedirs = [handlers.template_path]
    exporter = HTMLExporter(config=settings)
    for result in results:
        path = course.autograded / result.student / lesson.name / f"{lesson.name}.ipynb"
        page, _ = exporter.from_filename(str(path), resources=formgrader_resources())
        assert Found(page).harmful == [], result.student


def test_a_name_that_is_markup_is_refused(tmp_path: Path) -> None:
    """nbgrader's own pages do not escape names."""
    (tmp_path / f"{NAME}.ipynb").write_text("{}")
    (found,) = find_submissions(tmp_path, chapter.NAME)
    assert found.problem is not None
    assert "name" in found.problem


def formgrader_resources() -> dict[str, object]:
    """What formgrader tells its template, as far as it asks."""
    about = {"student": "s", "assignment": chapter.NAME, "notebook": chapter.NAME, "submission_id": "1", "index": 0}
    about |= {"base_url": "/", "total": 1, "notebook_id": chapter.NAME, "assignment_id": chapter.NAME, "last_name": ""}
    about |= {"mathjax_url": "", "first_name": "", "keyword": "", "windows": False}
    return {"resources": about, "nbgrader": about, **about}
