"""What a student gets back: points and words that they may see, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output, new_raw_cell
from nbgrader.api import Gradebook
from nbgrader.utils import notebook_hash
from recorded_class import NAME, composed, judged, result_of, solved_notebook

from grader.gradebook import gradebook
from grader.model.course import CourseError
from grader.model.records import Records, make_folder
from grader.model.results import Verdict
from grader.processes.time_limit import TimeLimitReached
from grader.report import feedback
from grader.report.page_renderer import Renderer, whole_page

NEEDS_GPU = judged("bandwidth_gpu", Verdict.NEEDS_GPU, message="Runs on a GPU only: 3 points pending.")
SECRETS = ("7041", "14082", "the_secret_way", "the secret kind", "HIDDEN", "SOLUTION")


@pytest.fixture
def course(course_with_gradebook):
    return course_with_gradebook


def give(course, *cells, student="anna", notebook=None, answers=None, keep=True):
    """Records a result and writes its page, which comes back parsed."""
    result, chapter = result_of(student, *cells), course.chapter(NAME)
    gradebook.record(course, chapter, notebook or composed(result, answers), result)
    if keep:
        records = Records.of(course, NAME)
        records.folder.mkdir(parents=True, exist_ok=True)
        records.save(result)
    return page_of(course, student)


def page_of(course, student="anna"):
    (path,) = feedback.write(course, course.chapter(NAME), [student])
    assert path == course.feedback / student / NAME / f"{NAME}.html"
    return Page(path.read_text(encoding="utf-8"))


class Page(HTMLParser):
    """A page's visible text, its scripts, and the rows of its table of results."""

    def __init__(self, source):
        super().__init__()
        self.source, self.text, self.scripts, self.images, self.rows = source, "", [], [], []
        self._inside = []
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        if tag in ("script", "style", "td", "title"):
            self._inside.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
        if tag == "script":
            self.scripts.append("")
        if tag == "img":
            self.images.append(dict(attributes))
        self.handlers = [name for name, _ in attributes if name.startswith("on")]
        assert not self.handlers, f"{tag} has {self.handlers}"

    def handle_endtag(self, tag):
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data):
        inside = self._inside[-1] if self._inside else ""
        if inside == "script":
            self.scripts[-1] += data
        elif inside != "style":
            self.text += data
        if inside == "td":
            self.rows[-1][-1] += data

    @property
    def results(self):
        """Test → (verdict, points, message)."""
        return {row[0]: tuple(" ".join(part.split()) for part in row[1:]) for row in self.rows if row}


def test_the_page_says_points_verdict_and_message(course):
    """Each test's verdict and the judge's words, in the order of the chapter, and the total on top."""
    page = give(
        course,
        judged("double_test", Verdict.FAILED, message="double(3): you returned 5, expected 6. 2 is added, not times."),
        judged("KINDS_test", Verdict.PARTIAL, 1.75, "'b': you said 'x'. Look again."),
        NEEDS_GPU,
        answers={"double": "def double(x):\n    return x + 2"},
    )
    assert list(page.results.items()) == [
        ("double_test", ("failed", "0 of 2", "double(3) you returned: 5 expected: 6 2 is added, not times.")),
        ("KINDS_test", ("partial", "1.75 of 2", "'b': you said 'x'. Look again.")),
        ("bandwidth_test", ("passed", "3 of 3", "")),
        ("bandwidth_gpu", ("pending: needs a GPU", "3 pending", "Runs on a GPU only: 3 points pending.")),
    ]
    assert "4.75 of 10 points, 3 more pending: not decided yet, and not lost" in page.text
    assert "failed: double(3): you returned 5, expected 6." in page.text  # in the test cell's output, too
    assert "return x + 2" in page.text


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_is_named(course, verdict):
    """A student reads what became of a test in the course's words; pending points never as a zero."""
    page = give(course, judged("bandwidth_gpu", verdict, 0.5 if verdict is Verdict.PARTIAL else 0.0, "Because."))
    word, points, _ = page.results["bandwidth_gpu"]
    assert word == ("pending: " if verdict.pending else "") + verdict.value
    assert (points == "3 pending") is verdict.pending
    assert ("more pending" in page.text) is verdict.pending


def test_no_hidden_test_and_no_answer_is_in_it(course):
    """Nothing of the instructor's that the release does not show."""
    page = give(course, judged("double_test", Verdict.FAILED, message="double(1): you returned 1, expected 2."))
    assert "assert double(1) == 2" in page.text
    assert not [secret for secret in SECRETS if secret in page.source or secret in page.text]


def test_stock_nbgraders_notebook_gives_nothing_away_either(course):
    """`nbgrader autograde` leaves hidden tests in the cells and in tracebacks: neither reaches the page."""
    notebook = composed(result_of("anna"))
    for cell, own in zip(notebook.cells, solved_notebook().cells, strict=True):
        if own.get("id", "").endswith("_test"):
            cell.source = own.source
    trace = ["AssertionError", "----> 3 assert double(7041) == 14082", "AssertionError: "]
    for cell in notebook.cells:
        if cell.id == "double_test":
            cell.outputs = [new_output("error", ename="AssertionError", evalue="", traceback=trace)]
    page = give(course, judged("double_test", Verdict.FAILED), notebook=notebook)
    assert not [secret for secret in SECRETS if secret in page.source or secret in page.text]


def test_nothing_that_a_student_made_runs_in_the_page(course):
    """HTML, scripts and handlers in outputs, prose and raw cells are shown as text or not at all; pictures are."""
    bad = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    message = f"double(1): you returned {bad}, expected 2."
    failed = judged("double_test", Verdict.FAILED, message=message)
    notebook = composed(result_of("anna", failed), {"double": f"double = '{bad}'"})
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    metadata = [
        {"image/png": {"alt": f'a dot"{bad}', "width": 40, "height": "1 onload=alert(5)"}},
        {"image/png": {"width": "1 onerror=alert(6)"}, "filenames": {"image/png": "https://example.org/seen"}},
    ]
    outputs = [
        new_output("display_data", data={"text/html": bad, "text/plain": "a table"}),
        new_output("display_data", data={"application/javascript": "alert(3)"}),
        new_output("display_data", data={"text/markdown": bad}),
        new_output("display_data", data={"image/png": pixel, "text/plain": "<Figure>"}),
        new_output("display_data", data={"image/png": f'"{bad}'}),
        *(new_output("display_data", data={"image/png": pixel}, metadata=one) for one in metadata),
        new_output("display_data", data={"image/svg+xml": f"<svg>{bad}</svg>"}),
        new_output("stream", name="stdout", text=bad),
        new_output("error", ename=bad, evalue=bad, traceback=[bad]),
        new_output("error", ename="E", evalue=bad, traceback=[]),
    ]
    notebook.cells += [
        new_markdown_cell(f"{bad}\n\n[a link](javascript:alert(4))\n\n</pre>{bad}\n\n$</pre>{bad}$"),
        new_raw_cell(bad),
        new_code_cell("show()", outputs=outputs),
    ]
    page = give(course, failed, notebook=notebook)
    assert not [script for script in page.scripts if "alert" in script]
    assert 'href="javascript' not in page.source
    assert "a table" in page.text and bad in page.text
    shown = [image for image in page.images if image["src"] == f"data:image/png;base64,{pixel}"]
    assert len(shown) == 3
    assert [image.get("width") for image in shown] == [None, "40", None]
    assert shown[1]["alt"] == f'a dot"{bad}'
    assert not [image for image in page.images if {"onload", "onerror"} & set(image) or "example.org" in image["src"]]
    assert bad in page.results["double_test"][2]


def test_the_chapters_own_markup_stays(course):
    """Headings, folded hints and other HTML of the instructor's are rendered."""
    chapter = course.chapter(NAME)
    release = nbformat.read(chapter.release, as_version=4)
    release.cells[0].source = hint = "<details><summary>Hint</summary>Think.</details>"
    nbformat.write(release, chapter.release)
    notebook = composed(result_of("anna"))
    notebook.cells[0].source = hint
    assert "<summary>Hint</summary>" in give(course, notebook=notebook).source
    notebook.cells[0].source = hint + " changed"
    assert "<summary>Hint</summary>" not in give(course, notebook=notebook).source


def test_the_chapters_pictures_are_in_the_page(course):
    """A page goes to the student alone, so a picture that lies beside the chapter is taken in; a missing one is not."""
    chapter = course.chapter(NAME)
    (chapter.release.parent / "warp.svg").write_text("<svg/>")
    release = nbformat.read(chapter.release, as_version=4)
    release.cells[0].source = prose = "![A warp](warp.svg) ![Gone](gone.svg)"
    nbformat.write(release, chapter.release)
    notebook = composed(result_of("anna"))
    notebook.cells[0].source = prose
    pictures = {image["alt"]: image["src"] for image in give(course, notebook=notebook).images}
    assert pictures == {"A warp": "data:image/svg+xml;base64,PHN2Zy8+", "Gone": "gone.svg"}


def test_a_grade_given_by_hand_counts(course):
    """Points and comment of a person come before the judge's, also where a GPU was missing."""
    give(course, judged("double_test", Verdict.FAILED, message="wrong"), NEEDS_GPU)
    with Gradebook(f"sqlite:///{course.gradebook}", gradebook.COURSE_ID) as book:
        for name, points in (("double_test", 1.5), ("bandwidth_gpu", 0.0)):
            book.find_grade(name, NAME, NAME, "anna").manual_score = points
        book.find_comment("double", NAME, NAME, "anna").manual_comment = "Half of it is *right*."
        book.db.commit()
    page = page_of(course)
    assert page.results["double_test"] == ("graded by hand", "1.5 of 2", "wrong Comment")
    assert page.results["bandwidth_gpu"][:2] == ("graded by hand", "0 of 3")
    assert "6.5 of 10 points" in page.text
    assert "more pending" not in page.text
    assert "<em>right</em>" in page.source


def test_without_result_files_the_gradebook_suffices(course):
    """Graded elsewhere: verdicts follow from the points."""
    cells = (judged("double_test", Verdict.FAILED), judged("KINDS_test", Verdict.PARTIAL, 0.5), NEEDS_GPU)
    page = give(course, *cells, keep=False)
    assert [row[:2] for row in page.results.values()] == [
        ("failed", "0 of 2"),
        ("partial", "0.5 of 2"),
        ("passed", "3 of 3"),
        ("to be graded", "3 pending"),
    ]


def test_a_student_who_is_not_recorded_gets_a_line(course):
    """Where, what, what to do."""
    with pytest.raises(CourseError, match=f'not there. Run "grader autograde {NAME}" again'):
        feedback.write(course, course.chapter(NAME), ["nobody"])
    give(course)
    shutil.copytree(course.autograded / "anna", course.autograded / "ben")
    with pytest.raises(CourseError, match="holds no submission of ben"):
        feedback.write(course, course.chapter(NAME), ["ben"])


def test_it_works_from_anywhere(course, tmp_path, monkeypatch):
    """nbgrader changes and needs the working directory; this does not."""
    give(course)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert page_of(course).results
    assert Path.cwd() == elsewhere
    assert os.listdir(elsewhere) == []  # noqa: PTH208 - names are what is asked


def test_the_exchange_hands_the_page_back(course, tmp_path):
    """`nbgrader release_feedback` names a page by the secret that its exchange put beside the submission."""
    submitted = course.submitted / "anna" / NAME
    submitted.mkdir(parents=True)
    (submitted / "timestamp.txt").write_text("2026-03-01 10:00:00.000000 UTC")
    (submitted / "submission_secret.txt").write_text("a secret of nbgrader's")
    give(course, judged("double_test", Verdict.PASSED, 2.0))
    program = Path(sys.executable).with_name("nbgrader")
    root = tmp_path / "exchange"
    root.mkdir(mode=0o777)
    root.chmod(0o777)
    command = [program, "release_feedback", NAME, f"--Exchange.root={root}"]
    done = subprocess.run(command, cwd=course.root, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    (released,) = (root / gradebook.COURSE_ID / "feedback").iterdir()
    assert released.stem == notebook_hash(secret="a secret of nbgrader's", notebook_id=NAME)
    assert released.stat().st_mode & 0o777 == 0o644  # its student reads it under another account
    assert course.feedback.stat().st_mode & 0o007 == 0  # and nobody those of others
    assert released.read_text() == (course.feedback / "anna" / NAME / f"{NAME}.html").read_text()


@pytest.mark.parametrize("kind", ["a link", "a pipe", "a folder", "large", "binary"])
def test_a_note_that_is_none_is_left_where_it_is(course, tmp_path, kind):
    submitted = course.submitted / "anna" / NAME
    submitted.mkdir(parents=True)
    note = submitted / "timestamp.txt"
    (tmp_path / "private").write_text("of the instructor's")
    match kind:
        case "a link":
            note.symlink_to(tmp_path / "private")
        case "a pipe":
            os.mkfifo(note)
        case "a folder":
            note.mkdir()
        case "large":
            note.write_text("x" * 5_000)
        case "binary":
            note.write_bytes(b"\xff\xfe")
    folder = tmp_path / "page"
    folder.mkdir()
    feedback._keep_notes(submitted, folder)
    assert not list(folder.iterdir())


def test_a_page_of_an_earlier_grade_is_due_whatever_the_clock_says(course):
    """A page that was written while the clock was ahead is younger than the next grade."""
    records = Records.of(course, NAME)
    give(course, judged("double_test", Verdict.FAILED, message="no"))
    result = records.load("anna")
    make_folder(records.folder / ".recorded")
    records.mark_recorded(result)
    chapter = course.chapter(NAME)
    assert feedback.due(course, chapter, [result]) == []
    page = course.feedback / "anna" / NAME / f"{NAME}.html"
    os.utime(page, (4e9, 4e9))
    records.save(result)
    assert feedback.due(course, chapter, [result]) == ["anna"]
    page_of(course)
    os.utime(page, (0, 0))
    assert feedback.due(course, chapter, [result]) == []
    page.unlink()
    assert feedback.due(course, chapter, [result]) == ["anna"]


def test_a_page_that_takes_too_long_is_made_without_outputs(course, monkeypatch):
    """It holds up the rest of the class; the page is first tried with its text alone."""
    made = []

    def slow(notebook, resources):
        made.append(notebook)
        if len(made) < 3:
            raise TimeLimitReached("not within 30 s")
        return whole_page(notebook, resources)

    monkeypatch.setattr(Renderer, "page", lambda renderer, notebook, resources: slow(notebook, resources))
    monkeypatch.setattr(feedback, "whole_page", slow)
    notebook = composed(result_of("anna"))
    notebook.cells.append(new_code_cell("x", outputs=[new_output("stream", text="a flood")]))
    page = give(course, notebook=notebook)
    assert len(made) == 3
    assert "too slow to display" in page.text
    assert "a flood" not in page.text
