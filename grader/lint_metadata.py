"""What an author says about a cell, checked: nbgrader's fields, points, grade ids, tags, and which cell tests what.

nbgrader's own validator says only that "metadata may be corrupted"; this one says which cell and what to write.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.findings import Finding
from grader.myst import Source, SourceCell
from grader.notebooks import Role
from grader.results import exercise_of

TAGS = ("demo", "gpu", "nbval-check-output", "nbval-ignore-output", "raises-exception")

SHAPES = {
    Role.SOLUTION: {"grade": False, "locked": False, "solution": True, "task": False},
    Role.TEST: {"grade": True, "locked": True, "solution": False, "task": False},
    Role.CODE: {"grade": False, "locked": True, "solution": False, "task": False},  # read-only, by its own wish
}
FIELDS: dict[str, type | tuple[type, ...]] = {
    "schema_version": int,
    "grade": bool,
    "grade_id": str,
    "locked": bool,
    "solution": bool,
    "task": bool,
    "points": (int, float),
}
GRADE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")  # nbgrader's letters; the length is what a cell id may have


@dataclass(frozen=True)
class Fault:
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


def settings_faults(cell: SourceCell, chapter: str) -> Iterator[Fault]:
    """What is wrong with the cell's nbgrader settings and tags."""
    yield from _tag_faults(cell)
    if "nbgrader" not in cell.options:
        return
    if not cell.settings:
        yield Fault("has an nbgrader entry without settings", "Write them below it, indented.")
        return
    faults = list(_field_faults(cell, chapter))
    yield from faults
    shape = {name: cell.settings.get(name) for name in SHAPES[Role.TEST]}
    if not faults and shape not in SHAPES.values():
        what = "is neither an answer, nor a test, nor read-only"
        yield Fault(what, f"An answer has {_words(Role.SOLUTION)}; a test has {_words(Role.TEST)}.")


def _field_faults(cell: SourceCell, chapter: str) -> Iterator[Fault]:
    settings, role = cell.settings, role_of(cell)
    again = f'then run "grader build {chapter}".'
    for name, value in settings.items():
        if name not in FIELDS:
            near = difflib.get_close_matches(str(name), FIELDS, n=1)
            yield Fault(f"has an unknown setting {name!r}", f"Did you mean {near[0]!r}?" if near else "Take it out.")
        elif not isinstance(value, FIELDS[name]) or (FIELDS[name] is not bool and isinstance(value, bool)):
            quoted = name == "grade_id"
            yield Fault(
                f"has {name} {value!r}, which YAML reads as a {type(value).__name__}",
                f'Put it in quotes: {name}: "…", {again}' if quoted else f"Write a plain {_kind(name)}, {again}",
            )
    for name in ("grade_id", "schema_version", "grade", "locked", "solution", "task"):
        if name not in settings:
            default = {"schema_version": "3", "grade_id": '"…"'}.get(name, str(SHAPES[role].get(name, False)).lower())
            yield Fault(f"has no {name}", f'Add "{name}: {default}", {again}')
    if settings.get("schema_version", 3) != 3:
        yield Fault(f"has schema_version {settings['schema_version']}", f'Write "schema_version: 3", {again}')
    identity = settings.get("grade_id")
    if isinstance(identity, str) and not GRADE_ID.fullmatch(identity):
        yield Fault(f"has a grade_id {identity!r}", "Use 1 to 64 letters, digits, _ and -.")
    if role is Role.TEST and "points" not in settings:
        yield Fault("has no points", f'Add "points: 2", {again}')
    elif role is Role.TEST and isinstance(settings["points"], int | float) and not 0 < settings["points"] < 1000:
        yield Fault(f"has {settings['points']} points", f"Give it more than 0, {again}")
    elif role is not Role.TEST and "points" in settings:
        yield Fault("has points, and is no test", "Points belong to the test cell.")


def _tag_faults(cell: SourceCell) -> Iterator[Fault]:
    tags = cell.options.get("tags", [])
    for tag in tags:
        if tag not in TAGS:
            near = difflib.get_close_matches(tag, TAGS, n=1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(TAGS)}."
            yield Fault(f"has an unknown tag {tag!r}", remedy)
    tolerance = cell.options.get("nbval_rtol")
    if tolerance is None:
        return
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 < tolerance < 1:
        yield Fault(f"has nbval_rtol {tolerance!r}", "Write a number between 0 and 1, such as 1.0e-6.")
    if "nbval-check-output" not in tags:
        yield Fault("has nbval_rtol, but its output is not compared", "Add the tag nbval-check-output.")


def pairing_findings(source: Source) -> Iterator[Finding]:
    """Duplicate grade ids, tests without an answer cell before them, answers without a test."""
    named = [cell for cell in source.cells if cell.grade_id]
    for rule in (_duplicates, _orphans, _untested):
        found = list(rule(source, named))
        yield from found
        if found:
            return  # the next rule would complain of the same cells


def _duplicates(source: Source, named: list[SourceCell]) -> Iterator[Finding]:
    first: dict[str, SourceCell] = {}
    for cell in named:
        other = first.setdefault(cell.grade_id, cell)
        if other is not cell:
            what = f"{cell.label} has the same grade_id as the cell at line {other.line}"
            yield source.finding(cell.line, what, "Rename one of them: grades are recorded under this name.")


def _orphans(source: Source, named: list[SourceCell]) -> Iterator[Finding]:
    answers = set()
    for cell in named:
        if role_of(cell) is Role.SOLUTION:
            answers.add(cell.grade_id)
        elif role_of(cell) is Role.TEST:
            yield from _test_findings(source, cell, answers)


def _untested(source: Source, named: list[SourceCell]) -> Iterator[Finding]:
    names = {cell.grade_id for cell in named}
    for cell in named:
        if role_of(cell) is Role.SOLUTION and f"{cell.grade_id}_test" not in names:
            what = f"{cell.label} is never tested"
            yield source.finding(cell.line, what, f'Add a test cell with grade_id: "{cell.grade_id}_test".')


def _test_findings(source: Source, cell: SourceCell, answers: set[str]) -> Iterator[Finding]:
    name, exercise = cell.grade_id, exercise_of(cell.grade_id)
    if exercise == name:
        what = f"{cell.label} is a test, and its grade_id does not say of what"
        yield source.finding(cell.line, what, 'Call it "<exercise>_test", or "<exercise>_gpu".')
    elif exercise not in answers:
        near = difflib.get_close_matches(exercise, answers, n=1)
        remedy = f'Did you mean "{near[0]}{name[len(exercise) :]}"?' if near else "Answers stand before their tests."
        what = f'{cell.label} tests "{exercise}", and no answer cell above has that name'
        yield source.finding(cell.line, what, remedy)
    tags = cell.options.get("tags", [])
    if name.endswith("_gpu") and "gpu" not in tags:
        yield source.finding(cell.line, f"{cell.label} has no gpu tag", 'Add "tags: [gpu]": it runs on a GPU only.')
    if name.endswith("_test") and "gpu" in tags:
        what = f"{cell.label} has the gpu tag, and a _test cell runs everywhere"
        yield source.finding(cell.line, what, f'Call it "{exercise}_gpu", or take the tag away.')
    if "demo" in tags:
        yield source.finding(cell.line, f"{cell.label} is tagged demo: grading would skip it", "Take the tag away.")


def _kind(name: str) -> str:
    return {"schema_version": "number", "points": "number"}.get(name, "true or false")


def _words(role: Role) -> str:
    return ", ".join(f"{name}: {str(value).lower()}" for name, value in SHAPES[role].items())
