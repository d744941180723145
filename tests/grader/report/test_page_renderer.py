"""A page that is put together from cells rendered before is nbconvert's page of the whole notebook, byte for byte."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, new_raw_cell
from nbgrader.preprocessors import GetGrades
from recorded_class import NAME, composed, judged, nbgrader_settings, result_of, small_course

from grader.gradebook import gradebook
from grader.model.results import Verdict
from grader.report import feedback, page_renderer

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
BAD = "</pre></div><script>alert(1)</script><img src=x> &amp; &am \x1b[31mred\x1b[0m \x1b]0;title\x07 \x00\x9b"
MARK = feedback.Mark("double_test", "failed", "danger", "0 of 2", f"double(1): {BAD}", 0.0, 2.0)
PLAIN = [
    new_markdown_cell("# Title\n\nWhat is $2x$, or $$x < y$$?", id="a"),
    new_markdown_cell(
        "| a | b |\n|---|---|\n| 1 | ![none](gone.png) <img src='x.png'> |\n\n```python\nx = 1\n```", id="b"
    ),
    new_markdown_cell("<details><summary>Hint</summary>\n\nThink *twice*.\n\n</details>", id="c"),
    new_code_cell("import math\n\n\n%matplotlib inline\nprint('<b>')", id="d", execution_count=3),
    new_code_cell("%%cuda\n__global__ void f() {}", id="e", metadata={"tags": ["demo"]}),
    new_code_cell(f"double = '''{BAD}'''", id="f", metadata=nbgrader_settings("double")),
    new_code_cell("assert 1", id="g", metadata=nbgrader_settings("double_test", 2) | {"grader_mark": MARK}),
    new_code_cell("", id="h"),
]
OUTPUTS = [
    new_output("stream", name="stdout", text=BAD),
    new_output("stream", name="stderr", text="\n  \n"),
    new_output("error", ename=BAD, evalue=BAD, traceback=[BAD, "\x1b[0;31mValueError\x1b[0m"]),
    new_output("execute_result", execution_count=3, data={"text/plain": f"  {BAD}\n"}),
    new_output("display_data", data={"image/png": PIXEL, "text/plain": "<Figure>"}),
    new_output("display_data", data={"image/png": PIXEL}, metadata={"image/png": {"alt": BAD, "width": 40}}),
    new_output("display_data", data={"image/jpeg": f'"{BAD}'}),
    new_output("display_data", data={"image/svg+xml": f"<svg>{BAD}</svg>"}),
    new_output("display_data", data={"text/latex": f"$x$ {BAD}"}),
]
BROKEN = {
    "an element that is never closed": ["<div>open", "then"],
    "an element that closes what is around it": ["before</div>", "then"],
    "an element over two cells": ["<details><summary>Hint</summary>", "Think.", "</details>"],
    "a comment that is never closed": ["<!-- open", "then"],
    "an attribute that is never closed": ['<a href="open', "then"],
    "a script that is never closed": ["<script>open", "then"],
    "elements that close in the wrong order": ["<b><i>x</b></i>", "then"],
    "an image without words": ["<img src='x.png'>\n<br></br>", "<p></p>"],
}
"""Prose of the chapter, since what a student writes is escaped; nbconvert 7 closes what is open in a cell."""


def notebook(*cells: NotebookNode) -> NotebookNode:
    return new_notebook(cells=copy.deepcopy(list(cells)), metadata={"language_info": {"name": "python"}})


def resources(**changed: Any) -> dict[str, Any]:
    scores = {"score": 1.0, "max_score": 2.0, "late_penalty": 0.0}
    result = {"marks": [MARK], "earned": "1", "possible": "2", "pending": ""}
    return {
        "nbgrader": {"student": "anna", "assignment": NAME, "notebook": NAME, **scores},
        "metadata": {"name": NAME, "path": "/nowhere"},
        "grader": result | changed,
    }


def test_pages_are_the_same_whatever_was_rendered_before() -> None:
    renderer = page_renderer.Renderer()
    outputs = [new_code_cell(f"show({number})", outputs=[one]) for number, one in enumerate(OUTPUTS)]
    changed = new_code_cell(PLAIN[3].source, id="d", execution_count=3, outputs=OUTPUTS)
    for cells in (PLAIN, [*PLAIN, *outputs], PLAIN[::-1], [*PLAIN[:3], changed, *PLAIN[4:], *outputs[::-1]], []):
        for told in (resources(), resources(earned="0", pending="2")):
            whole = notebook(*cells)
            assert renderer.page(whole, told) == page_renderer.whole_page(whole, told)


@pytest.mark.parametrize("name", BROKEN)
def test_broken_markup_is_broken_in_the_same_way(name: str) -> None:
    renderer, cells = page_renderer.Renderer(), [new_markdown_cell(source) for source in BROKEN[name]]
    for whole in (notebook(*PLAIN[2:], *cells, *PLAIN[:2]), notebook(*cells), notebook(*PLAIN, *cells[::-1])):
        assert renderer.page(whole, resources()) == page_renderer.whole_page(whole, resources())


@pytest.mark.parametrize(
    ("part", "alone"),
    [
        ("\n<div a='<'><br/><p>x</p>\n</div> <!-- </div> -->\n", True),
        ("<style>a > b {}</style><script>if (a < b) '</div>'</script>", True),
        ("", True),
        ("<div>", False),
        ("</div>", False),
        ("<p>x</p></div><div>", False),
        ("<b><i>x</b></i>", False),
        ("words <b>x</b>", False),
        ("<b>x</b> words", False),
    ],
)
def test_only_whole_elements_are_kept(part: str, alone: bool) -> None:
    """Whatever a version of nbconvert lets through, a part that opens or closes others' elements is not used again."""
    assert page_renderer._stands_alone(part) is alone


@pytest.mark.parametrize("source", ["", " \n", "words", "<b>x</b>", "a < b\n\n", "<p>x</p> y"])
def test_raw_cells_are_as_they_were(source: str) -> None:
    """Their text stands bare between the elements of other cells, where each blank counts."""
    renderer = page_renderer.Renderer()
    for kind in ({}, {"raw_mimetype": "text/html"}, {"raw_mimetype": "text/latex"}):
        whole = notebook(PLAIN[0], new_raw_cell(source, metadata=kind), PLAIN[3], PLAIN[2])
        assert renderer.page(whole, resources()) == page_renderer.whole_page(whole, resources())


def test_only_what_differs_is_rendered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    renderer, given = page_renderer.Renderer(), []
    whole_page = page_renderer.whole_page

    def watched(part: NotebookNode, told: dict[str, Any]) -> str:
        given.append([cell.id for cell in part.cells])
        return whole_page(part, told)

    monkeypatch.setattr(page_renderer, "whole_page", watched)
    other = new_code_cell("another answer", id="f", metadata=nbgrader_settings("double"))
    for cells in (PLAIN, PLAIN, [*PLAIN[:5], other, *PLAIN[6:]]):
        renderer.page(notebook(*cells), resources())
    assert given == [list("abcdefgh"), [], ["f"]]


def test_what_is_kept_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a class of any size; the page is whole all the same."""
    monkeypatch.setattr(page_renderer, "MOST_KEPT", 3_000)
    renderer = page_renderer.Renderer()
    for number in range(5):
        whole = notebook(*PLAIN, *(new_code_cell(f"x = {number * 10 + place}") for place in range(10)))
        assert renderer.page(whole, resources()) == page_renderer.whole_page(whole, resources())
        assert sum(map(len, renderer._kept.values())) == renderer._size <= 3_000


def test_points_and_comments_are_those_of_nbgraders_own_step(tmp_path) -> None:
    course, chapter = small_course(tmp_path)
    gradebook.prepare(course, chapter)
    result = result_of("anna", judged("double_test", Verdict.FAILED), judged("KINDS_test", Verdict.PARTIAL, 0.5))
    gradebook.record(course, chapter, composed(result), result)
    with gradebook.open_gradebook(course) as book:
        book.find_comment("double", NAME, NAME, "anna").manual_comment = "Half of it is *right*."
        book.find_submission_notebook(NAME, NAME, "anna").late_submission_penalty = 1.5
        book.find_grade("bandwidth_test", NAME, NAME, "anna").manual_score = 0.25
        book.db.commit()
    told = {"student": "anna", "assignment": NAME, "notebook": NAME, "db_url": gradebook.database_url(course.gradebook)}
    theirs, found = GetGrades().preprocess(composed(result), {"nbgrader": told})
    ours = composed(result)
    with gradebook.reading(course) as book:
        grades = feedback._put_grades(ours, book.find_submission_notebook(NAME, NAME, "anna"))
    assert ours == theirs
    assert grades == {name: found["nbgrader"][name] for name in ("score", "max_score", "late_penalty")}
    assert grades == {"score": pytest.approx(0.5 + 0.25 + 3 - 1.5), "max_score": 10.0, "late_penalty": 1.5}
