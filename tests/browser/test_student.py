"""A student in JupyterLab: opens the course, reads, writes, is told, validates, submits."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from browser.window import ROOT, Server, Window, server, window
from selenium.webdriver.common.keys import Keys

from gpulab.figures import styling
from grader.authoring.answers import Answer, load
from grader.model.course import Course
from grader.model.notebooks import load_key

CHAPTER = "01_gpu_architecture"
TEST_OF_OCCUPANCY = 'of_blocks = "The SM has places'


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`make lab` in a clone that holds what students get."""
    folder = tmp_path_factory.mktemp("course")
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "nbgrader_config.py"):
        shutil.copy(ROOT / name, folder)
    for name in ("jupyter", "notebooks", "data"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    (folder / "solutions").mkdir()
    (folder / ".venv").mkdir()
    (folder / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    (folder / ".venv" / ".ready").touch()
    for other in set((folder / "notebooks").glob("[0-9]*")) - {folder / "notebooks" / CHAPTER}:  # each costs seconds
        shutil.rmtree(other)
    with server(folder, ["make", "lab", "ARGS=ARGUMENTS"], {"GPULAB_HOME": str(folder / "home" / "gpulab")}) as running:
        yield running


@pytest.fixture(scope="module")
def page(lab: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    with window(tmp_path_factory.mktemp("browser")) as opened:
        opened.open(lab.at(""))
        yield opened


CURRENT = "const panel = jupyterapp.shell.currentWidget; const notebook = panel.content;"


def go_to(page: Window, which: str, kind: str = "code") -> int:
    """Makes a cell the active one and brings it into sight: the first whose text holds `which`."""
    index = page.run(
        f"""{CURRENT} await panel.context.ready;
        const index = notebook.widgets.findIndex(
            cell => cell.model.type === given[1] && cell.model.sharedModel.source.includes(given[0]));
        if (index < 0) return -1;
        notebook.activeCellIndex = index;
        await notebook.scrollToItem(index, 'start');
        return index;""",
        which,
        kind,
    )
    assert isinstance(index, int), index
    assert index >= 0, which
    return index


def run_cell(page: Window, which: str, seconds: float = 60) -> str:
    """Runs a cell as the Run button does, waits until the kernel is done, and gives the text of its output."""
    index = go_to(page, which)
    page.run("await jupyterapp.commands.execute('notebook:run-cell'); return 1;")

    def done() -> bool:
        state = page.run(
            f"{CURRENT} const cell = notebook.widgets[given[0]];"
            "return [cell.model.executionCount, panel.sessionContext.session?.kernel?.status];",
            index,
        )
        return isinstance(state, list) and state[0] is not None and state[1] == "idle"

    page.wait(f"end of cell {which!r}", done, seconds)
    page.run(f"{CURRENT} await notebook.scrollToItem({index}, 'end'); return 1;")
    text = page.run(
        f"{CURRENT} return notebook.widgets[given[0]].model.outputs.toJSON().map(one => "
        "one.output_type === 'stream' ? [one.text].flat().join('') : one.output_type === 'error' ? "
        "one.ename + ': ' + one.evalue : [one.data['text/plain'] ?? ''].flat().join('')).join('\\n');",
        index,
    )
    return str(text)


def write_answer(page: Window, exercise: str, source: str) -> None:
    """Replaces the text of an answer cell and runs it, as a student who types."""
    done = page.run(
        f"""{CURRENT} const index = notebook.widgets.findIndex(
            cell => cell.model.getMetadata('nbgrader')?.grade_id === given[0]);
        if (index < 0) return 'no such cell';
        notebook.activeCellIndex = index;
        notebook.widgets[index].model.sharedModel.setSource(given[1]);
        await notebook.scrollToItem(index, 'start');
        await jupyterapp.commands.execute('notebook:run-cell');
        return '';""",
        exercise,
        source,
    )
    assert done == "", done


def answer(exercise: str, kind: str, title: str = "") -> Answer:
    bank = load(ROOT / "answers" / CHAPTER, load_key(Course(ROOT).chapter(CHAPTER)))
    return next(
        one for one in bank if (one.exercise, one.kind) == (exercise, kind) and title in one.title and not one.gpu
    )


def test_the_course_opens_on_a_page_that_leads_to_the_chapters(page: Window) -> None:
    """No question is asked first, nothing pops up, and a click on a title opens the chapter."""
    page.element(".jp-RenderedHTMLCommon h1", "GPU programming in notebooks", 60)
    time.sleep(1)  # for whatever might pop up
    page.shoot("01_launcher")
    assert not page.all(".jp-Dialog")
    assert not page.all(".Toastify__toast")
    page.click(".jp-RenderedHTMLCommon a", "GPU architecture")
    page.element(".jp-RenderedHTMLCommon h1", "GPU architecture")
    page.shoot("02_chapter")


def test_the_first_cell_says_which_device_and_what_that_means(page: Window) -> None:
    """Run with the keyboard alone."""
    go_to(page, "this_machine()")
    # JupyterLab drops a keystroke that comes before the kernel has started.
    page.wait(
        "the kernel", lambda: page.run(f"{CURRENT} return panel.sessionContext.session?.kernel?.status") == "idle"
    )
    page.run(f"{CURRENT} notebook.activate(); return 1;")
    page.keys(Keys.SHIFT, Keys.ENTER)
    output = page.element(".jp-OutputArea-output", "GPU", 90)
    assert "every exercise works" in output.text or "NVIDIA" in output.text
    page.shoot("03_device")


def test_a_prediction_waits_for_a_guess(page: Window) -> None:
    """Handed out, it holds three dots; they are no guess."""
    run_cell(page, "def double(x, stride)")  # imports it
    assert "Nothing recorded yet" in run_cell(page, "predict(")
    page.shoot("04_prediction")


def test_a_figure_is_drawn_and_described(page: Window) -> None:
    """An image, drawn by JupyterLab in the width asked for, and words in its place for those who do not see it."""
    said = run_cell(page, "pictures.draw_turns(")
    image = page.element(".jp-mod-active .jp-OutputArea-output img")
    assert image.size["width"] > 300
    assert image.get_dom_attribute("width") == str(round(styling.WIDTH_IN * styling.SHOWN_PER_INCH))
    page.shoot("05_figure")
    assert image.aria_role == "image"
    assert " ".join(said.split()).startswith(f"[Figure: {image.accessible_name}]")
    assert len(said) > 60


def test_hints_are_folded(page: Window) -> None:
    go_to(page, "<summary>Hint 1</summary>", "markdown")
    hint = page.element(".jp-RenderedHTMLCommon details")
    assert hint.get_attribute("open") is None
    page.click(".jp-RenderedHTMLCommon details summary", "Hint 1")
    page.wait("the hint", lambda: hint.get_attribute("open") is not None)
    page.shoot("06_hint")


def test_long_lines_of_an_output_break_between_words(page: Window) -> None:
    """Each line on the screen begins with a whole word."""
    write_answer(page, "occupancy", 'print("occupancy " * 40)')
    page.element(".jp-mod-active .jp-RenderedText pre", "occupancy occupancy")
    starts = page.run(
        """const text = document.querySelector('.jp-mod-active .jp-RenderedText pre').firstChild;
        const range = document.createRange(), starts = [];
        let last = -1;
        for (let at = 0; at + 1 < text.length; at++) {
            range.setStart(text, at); range.setEnd(text, at + 1);
            const top = range.getBoundingClientRect().top;
            if (top > last + 5) { starts.push(text.data.slice(at, at + 9)); last = top; }
        }
        return starts;"""
    )
    assert len(starts) > 3
    assert set(starts) == {"occupancy"}, starts


def test_a_wrong_answer_is_told_which_mistake_it_is(page: Window) -> None:
    wrong = answer("occupancy", "wrong", "shared memory ignored")
    write_answer(page, "occupancy", wrong.source)
    said = run_cell(page, TEST_OF_OCCUPANCY)
    page.shoot("07_wrong")
    assert said.startswith("WrongAnswer: ")
    assert wrong.says.lower() in said.lower()


def test_a_right_answer_is_met_with_silence(page: Window) -> None:
    write_answer(page, "occupancy", answer("occupancy", "right").source)
    assert run_cell(page, TEST_OF_OCCUPANCY) == ""
    page.shoot("08_right")


def test_progress_counts_what_is_saved(page: Window) -> None:
    page.run("await jupyterapp.commands.execute('docmanager:save'); return 1;")
    page.run("await jupyterapp.commands.execute('docmanager:open', {path: 'README.ipynb'}); return 1;")
    page.element(".jp-RenderedHTMLCommon h1", "GPU programming in notebooks")
    go_to(page, "progress()")
    run_cell(page, "progress()")
    table = page.element("table[aria-label='Your progress']")
    page.shoot("09_progress")
    assert "GPU architecture" in table.text
    marks = page.all("table[aria-label='Your progress'] [role=img]")
    assert [one.get_attribute("aria-label") for one in marks] == ["1 of 10 exercises done"]


def test_validate_lists_what_fails_and_why(page: Window, lab: Server) -> None:
    """The button in the toolbar, in a fresh kernel; of a copy without demonstrations: they take a while."""
    folder = lab.folder / "notebooks" / CHAPTER
    notebook = nbformat.read(folder / f"{CHAPTER}.ipynb", as_version=4)
    notebook.cells = [cell for cell in notebook.cells if "demo" not in cell.metadata.get("tags", ())]
    nbformat.write(notebook, folder / "exercises.ipynb")
    page.run(f"await jupyterapp.commands.execute('docmanager:open', {{path: '{CHAPTER}/exercises.ipynb'}}); return 1;")
    page.element(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell")
    page.click(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Toolbar-item button, .validate-button", "Validate")
    dialog = page.element(".jp-Dialog", "", 150)
    page.wait("the verdict", lambda: "Validation" in dialog.text, 10)
    page.shoot("10_validate")
    assert "failed" in dialog.text.lower()
    page.keys(Keys.ESCAPE)
    page.wait("the dialog to close", lambda: not page.all(".jp-Dialog"))


def test_submitting_puts_a_copy_where_the_instructor_collects(page: Window, lab: Server) -> None:
    page.run("await jupyterapp.commands.execute('nbgrader:open-assignment-list'); return 1;")
    page.click("button", "Submit", 60)
    inbound = lab.folder / "work" / "exchange" / "gpulab" / "inbound"
    page.wait("the submission", lambda: inbound.is_dir() and any(inbound.iterdir()), 60)
    page.element("#submitted_assignments_list, .list_item", CHAPTER)
    page.shoot("11_submitted")
    (copy,) = inbound.iterdir()
    assert "def round_up" in (copy / f"{CHAPTER}.ipynb").read_text()


def test_no_page_logged_an_error(page: Window) -> None:
    """Of ours: a missing favicon is nobody's trouble."""
    ours = [one for one in page.complaints() if "favicon" not in one]
    assert ours == []
