"""What a row on the GPU gives points for speed for stands in the exercise's text, and lost points are told in words."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from courses import ROOT

from grader.authoring.lint.metadata import role_of
from grader.authoring.myst import read_source
from grader.model.course import Course
from grader.model.notebooks import Role
from grader.model.results import exercise_of
from grader.model.syntax import syntax_tree

CALCULATED = {"padded_linear": {"none_at": 1.03, "all_at": 1.15}, "overlapped": {"none_at": 1.05, "all_at": 0.9}}
"""Bounds that a row works out, or that stand in its module."""
IN_WORDS = {0.5: "half", 1.0: "the same speed", 2.0: "twice the speed"}


def timed() -> Iterator[tuple[str, str, str]]:
    """The exercises with points for speed: name, text, and code of the row."""
    for chapter in Course(ROOT).chapters():
        texts: dict[str, str] = {}
        text = ""
        for cell in read_source(chapter.source).cells:
            if cell.kind == "markdown":
                text = cell.source
            elif role_of(cell) is Role.SOLUTION:
                texts[cell.grade_id] = text
            elif role_of(cell) is Role.TEST and ("speedup.against" in cell.source or "pacing.compared" in cell.source):
                yield exercise_of(cell.grade_id), texts[exercise_of(cell.grade_id)], cell.source


ROWS = list(timed())


def said(bound: float) -> set[str]:
    """How a text may say it: as a factor, as percent, in a word."""
    return {
        f"{bound:g}",
        f"{abs(bound - 1):.0%}",
        f"{abs(1 / bound - 1):.0%}",
        f"{bound:.0%}",
        IN_WORDS.get(bound, f"{bound:g}"),
    }


def test_all_of_them_are_found() -> None:
    assert len(ROWS) >= 9


@pytest.mark.parametrize(("exercise", "text", "row"), ROWS, ids=[name for name, _, _ in ROWS])
def test_the_text_says_which_speed_earns_points(exercise: str, text: str, row: str) -> None:
    calls = [node for node in ast.walk(syntax_tree(row)) if isinstance(node, ast.Call)]
    names = [call.func.attr for call in calls if isinstance(call.func, ast.Attribute)]
    assert "points" not in names, "lost points would have no words: told_points has"
    bounds = dict(CALCULATED.get(exercise, {}))
    for call in calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "told_points":
            given = {one.arg: one.value for one in call.keywords}
            bounds |= {
                str(name): float(value.value)  # type: ignore[arg-type]
                for name, value in given.items()
                if name in ("none_at", "all_at") and isinstance(value, ast.Constant)
            }
    assert set(bounds) == {"none_at", "all_at"}
    assert {name: bound for name, bound in bounds.items() if not any(one in text for one in said(bound))} == {}
