"""What the options of an exercise and of its tests become in the notebook."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from courses import NAME, SOURCE, make_course

from grader.authoring.building import draft
from grader.authoring.myst import read_source
from grader.authoring.shorthand import NAMING, PLAIN_OPTIONS, TEST_OPTIONS, expand, option_faults
from grader.model.course import Course

ROOT = Path(__file__).parents[3]
CHAPTERS = [chapter.name for chapter in Course(ROOT).chapters()]


def test_an_exercise_is_an_answer_cell() -> None:
    assert expand({"exercise": "saxpy"}) == {
        "nbgrader": {
            "schema_version": 3,
            "grade": False,
            "grade_id": "saxpy",
            "locked": False,
            "solution": True,
            "task": False,
        }
    }


@pytest.mark.parametrize(("option", "suffix"), [("test", "_test"), ("gpu_test", "_gpu")])
def test_a_test_is_locked_and_has_points(option: str, suffix: str) -> None:
    expanded = expand({option: "saxpy", "points": 2})
    assert expanded["nbgrader"] == {
        "schema_version": 3,
        "grade": True,
        "grade_id": f"saxpy{suffix}",
        "locked": True,
        "solution": False,
        "task": False,
        "points": 2,
    }
    assert expanded.get("tags", []) == (["gpu"] if option == "gpu_test" else [])


def test_tags_of_a_test_are_kept() -> None:
    """The tag that the option brings along is there once, written out or not."""
    for tags in (["slow"], ["gpu", "slow"]):
        assert expand({"gpu_test": "saxpy", "points": 2, "tags": tags})["tags"] == ["gpu", "slow"]


def test_a_further_option_of_tests_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry of the table says where its value goes; no other cell may have the option."""
    assert [option for option, _, _ in option_faults({"test": "saxpy", "points": 2, "minutes": 3})] == ["minutes"]
    monkeypatch.setitem(TEST_OPTIONS, "minutes", ("gpulab", "minutes"))
    monkeypatch.setattr("grader.authoring.shorthand.KNOWN", (*NAMING, *TEST_OPTIONS, *PLAIN_OPTIONS))
    options = {"test": "saxpy", "points": 2, "minutes": 3}
    assert list(option_faults(options)) == []
    assert expand(options)["gpulab"] == {"minutes": 3}
    assert [option for option, _, _ in option_faults({"exercise": "saxpy", "minutes": 3})] == ["minutes"]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_graded_cells_of_a_chapter_are_those_of_its_notebook(chapter: str) -> None:
    """Metadata of every graded cell, as nbgrader reads it, the same in the source and in the built notebook."""
    built = nbformat.read(ROOT / "solutions" / chapter / f"{chapter}.ipynb", as_version=4)
    said = draft(read_source(ROOT / "solutions" / f"{chapter}.md"))
    wanted, found = (
        {cell.id: cell.metadata for cell in notebook.cells if "nbgrader" in cell.metadata} for notebook in (said, built)
    )
    assert wanted == found and wanted


def test_both_notations_of_options_are_the_same_source(tmp_path: Path) -> None:
    """Lines with colons, or a YAML block: the same cells, so the same notebook, stamp included."""
    block = {":test: double\n:points: 2\n": "---\npoints: 2\ntest: double\n---\n"}
    one, other = (make_course(tmp_path / name, changes).chapter(NAME) for name, changes in (("a", {}), ("b", block)))
    assert read_source(one.source).digest == read_source(other.source).digest
    assert other.source.read_text() != SOURCE
