"""What students get of a small course, and that nothing of the answers can slip into it unnoticed."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from courses import NAME, built_course, make_course
from nbformat import NotebookNode

from grader.authoring import releasing as release_module
from grader.authoring.building import build
from grader.authoring.releasing import check_release, prove_clean, release
from grader.model.course import Chapter, CourseError
from grader.model.findings import Findings
from grader.model.notebook_io import to_text

SECRETS = ("the_whole_secret", "the author's own words", "random.Random", "not the double", '"even"}, 3.0')


@pytest.fixture
def chapter(tmp_path: Path) -> Chapter:
    """A chapter that is built and released."""
    return built_course(tmp_path / "course").chapter(NAME)


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def cells(notebook: NotebookNode) -> dict[str, NotebookNode]:
    return {cell.id: cell for cell in notebook.cells}


def test_students_get_the_blank_and_the_visible_test(chapter: Chapter) -> None:
    text = chapter.release.read_text()
    released = cells(read(chapter.release))
    assert not [secret for secret in SECRETS if secret in text]
    assert released["double"].source.endswith("    # YOUR CODE HERE\n    raise NotImplementedError()")
    assert released["double_test"].source.endswith('check.equal(double(21), 42, "double(21)")')
    assert released["double_test"].metadata.editable is False
    assert released["double"].metadata.deletable is False and "editable" not in released["double"].metadata
    assert released["double_gpu"].metadata.tags == ["gpu"]
    assert released["KINDS_test"].metadata.nbgrader.points == 3


def test_the_release_has_no_trace_of_the_build(chapter: Chapter) -> None:
    """No output, no jupytext, no machine; the keys sorted, so that it is the same bytes whenever it is made."""
    text = chapter.release.read_text()
    notebook = json.loads(text)
    assert text == json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert set(notebook["metadata"]["gpulab"]) == {"chapter", "source_sha256"}
    assert "jupytext" not in text
    assert all(
        not cell["outputs"] and cell["execution_count"] is None for cell in notebook["cells"] if "outputs" in cell
    )
    assert prove_clean(read(chapter.solution), read(chapter.release)) == []


def test_releasing_twice_gives_the_same_bytes(chapter: Chapter) -> None:
    """And takes no notice of when, or on what machine, the notebook was executed."""
    first = chapter.release.read_bytes()
    assert not release(chapter)
    chapter.release.unlink()
    built = read(chapter.solution)
    built.metadata.gpulab.executed_on.device = "NVIDIA H200"
    for cell in built.cells:
        cell.pop("outputs", None)
        cell.update({"outputs": [], "execution_count": None} if cell.cell_type == "code" else {})
    chapter.solution.write_text(to_text(built))
    assert release(chapter)
    assert chapter.release.read_bytes() == first
    assert check_release(chapter) == []


def test_nbgrader_works_unheard_and_leaves_nothing(
    chapter: Chapter,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = chapter.root / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    chapter.release.unlink()
    before = sorted(path for path in chapter.root.rglob("*") if path != chapter.release)
    with caplog.at_level(logging.INFO):
        release(chapter)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert Path.cwd() == elsewhere
    assert sorted(path for path in chapter.root.rglob("*") if path != chapter.release) == before


def test_stock_nbgrader_finds_every_cell_as_it_released_it(chapter: Chapter) -> None:
    """The checksums are those that nbgrader computes when a submission comes back."""
    from nbgrader.nbgraderformat import MetadataValidator
    from nbgrader.utils import compute_checksum

    notebook = read(chapter.release)
    MetadataValidator().validate_nb(notebook)
    graded = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert len(graded) == 5
    assert all(cell.metadata.nbgrader.checksum == compute_checksum(cell) for cell in graded)


def solution_line(notebook: NotebookNode) -> None:
    notebook.cells[0].source += "\n\n    the_whole_secret = number + number"


def hidden_line_in_metadata(notebook: NotebookNode) -> None:
    notebook.cells[0].metadata["note"] = ["draw = random.Random(seed())"]


def marker(notebook: NotebookNode) -> None:
    cells(notebook)["double_test"].source += "\n### BEGIN HIDDEN TESTS"


def output(notebook: NotebookNode) -> None:
    cells(notebook)["KINDS_test"].outputs = [nbformat.v4.new_output("stream", text="3.0")]


def count(notebook: NotebookNode) -> None:
    cells(notebook)["double"].execution_count = 3


def jupytext(notebook: NotebookNode) -> None:
    notebook.metadata["jupytext"] = {"text_representation": {}}


def cell_gone(notebook: NotebookNode) -> None:
    notebook.cells = [cell for cell in notebook.cells if cell.id != "double_gpu"]


def other_order(notebook: NotebookNode) -> None:
    notebook.cells = notebook.cells[::-1]


def points(notebook: NotebookNode) -> None:
    cells(notebook)["double_test"].metadata.nbgrader.points = 5


def checksum(notebook: NotebookNode) -> None:
    cells(notebook)["double_test"].metadata.nbgrader.checksum = "0" * 32


def unlocked(notebook: NotebookNode) -> None:
    del cells(notebook)["double_test"].metadata["editable"]


def deletable(notebook: NotebookNode) -> None:
    del cells(notebook)["double"].metadata["deletable"]


def no_visible_test(notebook: NotebookNode) -> None:
    cell = cells(notebook)["double_test"]
    cell.source = "pass"


def not_blank(notebook: NotebookNode) -> None:
    cells(notebook)["double"].source = "def double(number):\n    return 2 * number"


def other_prose(notebook: NotebookNode) -> None:
    notebook.cells[0].source = "# Large numbers"


def other_type(notebook: NotebookNode) -> None:
    notebook.cells[0].cell_type = "raw"


FAULTS: list[tuple[Callable[[NotebookNode], None], str]] = [
    (solution_line, "holds a line of an answer or hidden test: 'the_whole_secret = number + number'"),
    (hidden_line_in_metadata, "holds a line of an answer or hidden test: 'draw = random.Random(seed())'"),
    (marker, "holds a marker 'BEGIN HIDDEN TESTS'"),
    (output, "cell KINDS_test has outputs"),
    (count, "cell double has outputs"),
    (jupytext, "has jupytext metadata"),
    (cell_gone, "has other cells than the built notebook: double_gpu"),
    (other_order, "has other cells than the built notebook: their order"),
    (points, "cell double_test has other nbgrader settings"),
    (checksum, "cell double_test has a wrong checksum"),
    (unlocked, "cell double_test can be edited"),
    (deletable, "cell double can be deleted"),
    (no_visible_test, "cell double_test does not show its visible test"),
    (not_blank, "cell double is not blank"),
    (other_prose, "says something else"),
    (other_type, "is of another type"),
]


@pytest.mark.parametrize(("spoil", "words"), FAULTS, ids=[spoil.__name__ for spoil, _ in FAULTS])
def test_a_spoilt_release_is_refused(spoil: Callable[[NotebookNode], None], words: str, chapter: Chapter) -> None:
    """By the proof itself, and by the check of what lies in notebooks/."""
    notebook = read(chapter.release)
    spoil(notebook)
    faults = prove_clean(read(chapter.solution), notebook)
    assert any(words in fault for fault in faults), faults
    chapter.release.write_text(json.dumps(notebook))
    assert any(words in str(finding) for finding in check_release(chapter))


def test_an_answer_that_the_chapter_itself_shows(tmp_path: Path) -> None:
    """A later cell that repeats the answer gives it away; the release is not written."""
    shown = "    print(number, double(number))\n    the_whole_secret = number + number\n"
    chapter = make_course(tmp_path, {"    print(number, double(number))\n": shown}).chapter(NAME)
    build(chapter, execute=False)
    with pytest.raises(Findings, match="holds a line of an answer"):
        release(chapter)
    assert not chapter.release.exists()


def test_what_nbgrader_might_leave_in_is_found(chapter: Chapter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were nbgrader to overlook a region, nothing would be released."""
    from nbgrader.converters import GenerateAssignment
    from nbgrader.preprocessors import ClearHiddenTests

    steps = [step for step in GenerateAssignment().preprocessors if step is not ClearHiddenTests]
    monkeypatch.setattr(
        release_module, "GenerateAssignment", lambda **rest: _without(GenerateAssignment(**rest), steps)
    )
    before = chapter.release.read_bytes()
    with pytest.raises(Findings, match="BEGIN HIDDEN TESTS"):
        release(chapter)
    assert chapter.release.read_bytes() == before


def _without(converter: object, steps: list[type]) -> object:
    converter.preprocessors = steps  # type: ignore[attr-defined]
    return converter


def test_files_beside_the_notebook_are_released_too(chapter: Chapter) -> None:
    """And checked like it: missing, changed, strange, telling."""
    own, theirs = chapter.solution.parent / "figures", chapter.release.parent / "figures"
    own.mkdir()
    (own / "warp.svg").write_text("<svg/>")
    assert "missing in the release" in str(check_release(chapter)[0])
    assert release(chapter)
    assert (theirs / "warp.svg").read_text() == "<svg/>"
    assert check_release(chapter) == []
    (theirs / "warp.svg").write_text("<svg></svg>")
    assert "figures/warp.svg: not the chapter's own" in str(check_release(chapter)[0])
    (theirs / "notes.txt").write_text("x")
    assert "notes.txt: not from the chapter. Delete it" in str(check_release(chapter)[0])
    (own / "warp.svg").write_text("<text>the_whole_secret = number + number</text>")
    with pytest.raises(Findings, match=r"warp\.svg: holds a line of an answer"):
        release(chapter)


def test_a_release_needs_a_build_of_the_source_as_it_is(chapter: Chapter) -> None:
    chapter.source.write_text(chapter.source.read_text().replace("Add it to itself", "Add it"))
    for command in (release, check_release):
        with pytest.raises(CourseError, match=f'not built from the source as it is now. Run "grader build {NAME}"'):
            command(chapter)
    chapter.solution.unlink()
    with pytest.raises(CourseError, match=f'not there. Run "grader build {NAME}"'):
        release(chapter)


def test_nothing_released_yet_and_rubbish(chapter: Chapter) -> None:
    chapter.release.write_text('{"cells": [')
    assert "not a notebook" in str(check_release(chapter)[0])
    chapter.release.unlink()
    assert f'not released yet. Run "grader release {NAME}"' in str(check_release(chapter)[0])


def test_a_folder_that_cannot_be_written(chapter: Chapter) -> None:
    """A file in the folder's place: one line, no traceback."""
    chapter.release.unlink()
    chapter.release.parent.rmdir()
    chapter.release.parent.write_text("in the way")
    with pytest.raises(CourseError, match="cannot be written"):
        release(chapter)


def test_a_full_disk_leaves_the_earlier_release(chapter: Chapter, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(28, os.strerror(28))

    before = chapter.release.read_bytes()
    chapter.source.write_text(chapter.source.read_text().replace("Add it to itself", "Add it"))
    build(chapter, execute=False)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(CourseError, match="No space left on device"):
            release(chapter)
    assert chapter.release.read_bytes() == before
    assert not list(chapter.release.parent.glob("*.unfinished"))
    assert not list(chapter.release.parent.glob(".*.unfinished"))
