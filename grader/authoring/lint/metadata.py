"""What an author says about a cell, checked: tags, and which cell tests what.

The options themselves are checked where they are expanded, in `shorthand`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from grader.authoring.myst import ChapterSource, SourceCell
from grader.model.findings import Finding
from grader.model.notebooks import Role
from grader.model.results import exercise_of

TAGS = ("demo", "gpu", "nbval-check-output", "nbval-ignore-output", "raises-exception")


@dataclass(frozen=True)
class CellFault:
    """Something wrong in a cell, before it is known how messages name the cell."""

    what: str
    remedy: str
    line: int = 0
    """Line in the cell's code, counted from 1; 0 stands for the cell itself."""


def role_of(cell: SourceCell) -> Role:
    """What the cell is for, by its settings, faulty or not."""
    if cell.settings.get("solution") is True and cell.settings.get("grade") is not True:
        return Role.SOLUTION
    if cell.settings.get("grade") is True:
        return Role.TEST
    return Role.CODE if cell.kind == "code" else Role.PROSE


def tag_faults(cell: SourceCell) -> Iterator[CellFault]:
    """What is wrong with the cell's tags, and with the tolerance of its comparison."""
    tags = cell.options.get("tags", [])
    for tag in tags:
        if tag not in TAGS:
            near = difflib.get_close_matches(tag, TAGS, n=1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(TAGS)}."
            yield CellFault(f"has an unknown tag {tag!r}", remedy)
    tolerance = cell.options.get("nbval_rtol")
    if tolerance is None:
        return
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 < tolerance < 1:
        yield CellFault(f"has nbval_rtol {tolerance!r}", "Write a number between 0 and 1, such as 1.0e-6.")
    if "nbval-check-output" not in tags:
        yield CellFault("has nbval_rtol, but its output is not compared", "Add the tag nbval-check-output.")


def pairing_findings(source: ChapterSource) -> Iterator[Finding]:
    """Duplicate grade ids, tests without an answer cell before them, answers without a test."""
    named = [cell for cell in source.cells if cell.grade_id]
    for rule in (_duplicates, _orphans, _untested):
        found = list(rule(source, named))
        yield from found
        if found:
            return  # the next rule would complain of the same cells


def _duplicates(source: ChapterSource, named: list[SourceCell]) -> Iterator[Finding]:
    first: dict[str, SourceCell] = {}
    for cell in named:
        other = first.setdefault(cell.grade_id, cell)
        if other is not cell:
            what = f"{cell.label} has the same name as the cell at line {other.line}"
            yield source.finding(cell.line, what, "Rename one of them: grades are recorded under this name.")


def _orphans(source: ChapterSource, named: list[SourceCell]) -> Iterator[Finding]:
    answers = set()
    for cell in named:
        if role_of(cell) is Role.SOLUTION:
            answers.add(cell.grade_id)
        elif role_of(cell) is Role.TEST:
            yield from _test_findings(source, cell, answers)


def _untested(source: ChapterSource, named: list[SourceCell]) -> Iterator[Finding]:
    names = {cell.grade_id for cell in named}
    for cell in named:
        if role_of(cell) is Role.SOLUTION and f"{cell.grade_id}_test" not in names:
            what = f"{cell.label} is never tested"
            yield source.finding(cell.line, what, f"Add a cell with :test: {cell.grade_id} and :points: 2.")


def _test_findings(source: ChapterSource, cell: SourceCell, answers: set[str]) -> Iterator[Finding]:
    exercise, tags = exercise_of(cell.grade_id), cell.options.get("tags", [])
    if exercise not in answers:
        near = difflib.get_close_matches(exercise, answers, n=1)
        remedy = f'Did you mean "{near[0]}"?' if near else "Answers stand before their tests."
        what = f'{cell.label} tests "{exercise}", and no answer cell above has that name'
        yield source.finding(cell.line, what, remedy)
    if cell.grade_id.endswith("_test") and "gpu" in tags:
        what = f"{cell.label} has the gpu tag, and a _test cell runs everywhere"
        yield source.finding(cell.line, what, f"Write :gpu_test: {exercise}, or take the tag away.")
    if "demo" in tags:
        yield source.finding(cell.line, f"{cell.label} is tagged demo: grading would skip it", "Take the tag away.")
