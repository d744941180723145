"""The marked regions of a cell, answers and hidden tests, checked: nbgrader cuts them out by their marker lines alone.

A marker with a typing mistake would be released to students with everything below it.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from grader.authoring.lint.code import ExerciseKind, global_names, kind_of, parsed
from grader.authoring.lint.metadata import CellFault
from grader.authoring.myst import SourceCell
from grader.model.notebooks import HIDDEN, SOLUTION, Role

STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
"""What nbgrader puts in place of an answer."""

MARKER = re.compile(r"[ \t]*### (BEGIN|END) (SOLUTION|HIDDEN TESTS)[ \t]*")
ALMOST = re.compile(r"\b(begin|end)[ _-]*(solutions?|hidden[ _-]*tests?)\b", re.IGNORECASE)
OTHERS = re.compile(r"AUTOTEST|(BEGIN|END) MARK SCHEME")
WIDTH = 88
"""Characters of code that a cell shows side by side with the file browser; a longer line scrolls sideways."""
REGIONS = {Role.SOLUTION: "SOLUTION", Role.TEST: "HIDDEN TESTS"}


def region_faults(cell: SourceCell, role: Role) -> list[CellFault]:
    """The first marker that is misspelt, unpaired, in the wrong kind of cell, or around nothing."""
    return list(itertools.islice(_region_faults(cell, role), 1))  # the next ones would be its consequences


def width_faults(cell: SourceCell) -> Iterator[CellFault]:
    """Lines of code that a student sees and that do not fit the cell."""
    kept = cell.source
    for region in (HIDDEN, SOLUTION):
        kept = region.sub(lambda found: "\n" * found[0].count("\n"), kept)
    for number, line in enumerate(kept.splitlines(), start=1):
        if len(line) > WIDTH:
            yield CellFault(f"shows a line of {len(line)} characters", f"Break it: {WIDTH} fit the cell.", number)


def _region_faults(cell: SourceCell, role: Role) -> Iterator[CellFault]:
    wanted = REGIONS.get(role, "")
    opened = 0
    bodies: list[list[str]] = []
    for number, line in enumerate(cell.source.splitlines(), start=1):
        marker = MARKER.fullmatch(line)
        if not marker:
            if _looks_like_marker(line, cell.kind):
                remedy = 'Write "### BEGIN SOLUTION" or "### BEGIN HIDDEN TESTS", and END likewise, alone on the line.'
                yield CellFault(f"has {line.strip()!r}, which is almost a marker", remedy, number)
            elif OTHERS.search(line) and cell.kind == "code":
                yield CellFault(f"has {line.strip()!r}, an nbgrader directive", "This course does not use it.", number)
            elif opened:
                bodies[-1].append(line)
            continue
        edge, name = marker.groups()
        if name != wanted:
            where = {"SOLUTION": "an answer cell", "HIDDEN TESTS": "a test cell"}[name]
            yield CellFault(f"has a {edge} {name} marker, and is not {where}", f"Move it to {where}.", number)
        elif edge == "BEGIN" and opened:
            yield CellFault(
                f"has a second BEGIN {name} before the first one ends", f"End the one at line {opened}.", number
            )
        elif edge == "END" and not opened:
            yield CellFault(f"has an END {name} without a BEGIN", f'Add "### BEGIN {name}" above it.', number)
        elif edge == "BEGIN":
            opened = number
            bodies.append([])
        else:
            opened = 0
    if opened:
        yield CellFault(f"has a BEGIN {wanted} that never ends", f'Add "### END {wanted}".', opened)
    needs_one = role is Role.SOLUTION or (role is Role.TEST and cell.grade_id.endswith("_test"))
    if needs_one and not bodies:
        yield CellFault(f"has no {wanted} region", f'Put it between "### BEGIN {wanted}" and "### END {wanted}".')
    for body in bodies:
        if not any(line.strip() and not line.lstrip().startswith("#") for line in body):
            yield CellFault(f"has a {wanted} region without code", "Fill it, or take the markers away.")


def _looks_like_marker(line: str, kind: str) -> bool:
    match = ALMOST.search(line)
    if not match:
        return False
    return match[0].isupper() or (kind == "code" and line.lstrip().startswith("#"))


def released_faults(cell: SourceCell, role: Role, tree: ast.Module) -> Iterator[CellFault]:
    """What is wrong with the cell as students will see it.

    Args:
        cell: an answer or a test whose regions are in order.
        role: which of the two.
        tree: the whole cell, parsed.
    """
    if role is Role.SOLUTION:
        yield from _blank_faults(cell, tree)
    else:
        yield from _visible_faults(cell)


def _blank_faults(cell: SourceCell, tree: ast.Module) -> Iterator[CellFault]:
    name = cell.grade_id
    if kind_of(tree, name) is None:
        what = "defines a class" if name in global_names(tree) else "does not define"
        yield CellFault(
            f"{what} {name!r}", "An answer cell defines a function or a plain value that is named like its exercise."
        )
        return
    blank = parsed(SOLUTION.sub(_stub, cell.source))
    if isinstance(blank, CellFault):
        what = "is not Python once its answer is taken out"
        yield CellFault(what, "Indent the markers like the code between them.", blank.line)
    elif any(
        _indentation(region[0]) != _indentation(region[1].lstrip("\n")) for region in SOLUTION.finditer(cell.source)
    ):
        yield CellFault("has a SOLUTION marker indented otherwise than its answer", "Indent it like the code below it.")
    elif kind_of(tree, name) is ExerciseKind.FUNCTION and kind_of(blank, name) is not ExerciseKind.FUNCTION:
        yield CellFault("hides its own def line", "Leave the def line and its docstring above the marker.")


def _stub(match: re.Match[str]) -> str:
    return "\n".join(_indentation(match[0]) + line for line in STUB.split("\n"))


def _indentation(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]


def _visible_faults(cell: SourceCell) -> Iterator[CellFault]:
    visible = parsed(HIDDEN.sub("", cell.source))
    if isinstance(visible, CellFault):
        yield CellFault(
            "is not Python once its hidden tests are taken out", "Close the statement above them.", visible.line
        )
        return
    exercise = cell.grade_id.removesuffix("_test")
    names = {node.id for node in ast.walk(visible) if isinstance(node, ast.Name)}
    if cell.grade_id.endswith("_test") and exercise not in names:
        yield CellFault(
            "has no visible test", f"Check {exercise!r} once above the hidden tests, where students see it."
        )
