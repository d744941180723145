"""Everything that can be said against a chapter's source without running it, as one list of findings.

The rules are in `myst` (text), `shorthand` (options), `lint.metadata` (tags, pairs), `lint.regions` (markers),
`lint.code` (Python), `lint.needs` (what a test declares that it uses) and `lint.values` (how it compares).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from grader.authoring.lint.code import (
    ExerciseKind,
    foreign_names,
    global_names,
    global_reads,
    grader_faults,
    kind_of,
    meanings,
    misuse,
    parsed,
    rule_faults,
    shell_faults,
)
from grader.authoring.lint.metadata import CellFault, pairing_findings, role_of, tag_faults
from grader.authoring.lint.needs import agreement_faults
from grader.authoring.lint.regions import region_faults, released_faults, width_faults
from grader.authoring.lint.values import comparison_faults
from grader.authoring.myst import ChapterSource, SourceCell, read_source
from grader.model.findings import Finding, Findings
from grader.model.notebooks import HIDDEN, Role

IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<target>[^)\s]+)")
CODE_BLOCK = re.compile(r"^(`{3,}|~{3,}).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)


def checked_source(path: Path) -> ChapterSource:
    """The source at `path`, free of findings.

    Raises:
        CourseError: it is missing or not text.
        Findings: something is wrong with it.
    """
    source = read_source(path)
    if found := lint_cells(source):
        raise Findings(tuple(found))
    return source


def lint_cells(source: ChapterSource) -> list[Finding]:
    """What is wrong with the cells of a source, in order.

    In rounds, because one fault must not show as several: tags; then what the cells hold; then what they do with
    one another.
    """
    found = [_at(source, cell, fault) for cell in source.cells for fault in tag_faults(cell)]
    found = found or list(pairing_findings(source))
    if found:
        return sorted(found, key=_line)
    trees: dict[SourceCell, ast.Module] = {}
    for cell in source.cells:
        tree, faults = _cell_faults(source, cell)
        found += [_at(source, cell, fault) for fault in faults]
        if tree is not None and not faults:
            trees[cell] = tree
    found += _code_findings(source, trees)
    return sorted(found, key=_line)


def _cell_faults(source: ChapterSource, cell: SourceCell) -> tuple[ast.Module | None, list[CellFault]]:
    """A cell's code, parsed, and what is wrong with the cell by itself."""
    faults = list(region_faults(cell, role_of(cell)))
    if cell.kind != "code":
        return None, [*faults, *_prose_faults(source, cell)]
    faults += width_faults(cell)
    tree = parsed(cell.source)
    if isinstance(tree, CellFault):
        return None, [*faults, tree]
    return tree, [*faults, *shell_faults(tree, graded=role_of(cell) in (Role.SOLUTION, Role.TEST))]


def _code_findings(source: ChapterSource, trees: dict[SourceCell, ast.Module]) -> Iterator[Finding]:
    """What the chapter's code does with its exercises; cells that are broken by themselves are left out."""
    exercises = {
        cell.grade_id: kind_of(trees[cell], cell.grade_id) if cell in trees else None
        for cell in source.cells
        if role_of(cell) is Role.SOLUTION
    }
    for cell, tree in trees.items():
        role = role_of(cell)
        if role in (Role.SOLUTION, Role.TEST):
            faults = list(released_faults(cell, role, tree))
            if role is Role.TEST:
                faults += _test_faults(cell, tree, exercises)
        else:
            faults = []
        if role is not Role.TEST:
            faults += _rebinding_faults(cell, tree, exercises)
            faults += grader_faults(tree)
        yield from (_at(source, cell, fault) for fault in faults)
    yield from (_at(source, cell, fault) for cell, fault in _overwritten(trees, set(exercises)))


def _overwritten(trees: dict[SourceCell, ast.Module], exercises: set[str]) -> Iterator[tuple[SourceCell, CellFault]]:
    """Names of the page, exercises aside, to which a test gives another meaning, and which the page reads afterwards:
    in a notebook that is run from top to bottom, the tests are among its cells."""
    page: dict[str, str] = {}
    """Name → the import or the assignment that binds it; nothing where something else does."""
    by_tests: dict[str, tuple[SourceCell, int]] = {}
    for cell, tree in trees.items():
        said, bound = meanings(tree), global_names(tree)
        if role_of(cell) is Role.TEST:
            taken = {name: line for name, line in bound.items() if name in page and page[name] != said.get(name)}
            by_tests |= {name: (cell, line) for name, line in taken.items()}
            continue
        for name in sorted(global_reads(tree) & by_tests.keys() - bound.keys()):
            test, line = by_tests.pop(name)
            what = f"gives {name!r} another meaning, and {cell.label} in line {cell.line} reads it"
            yield test, CellFault(what, "Call it something else: tests run among the page's cells.", line)
        page |= {name: said.get(name, "") for name in bound.keys() - exercises}
        by_tests = {name: where for name, where in by_tests.items() if name not in bound}


def _test_faults(cell: SourceCell, tree: ast.Module, exercises: dict[str, ExerciseKind | None]) -> Iterator[CellFault]:
    exercise = cell.grade_id.removesuffix("_test").removesuffix("_gpu")
    yield from misuse(tree, exercises)
    yield from foreign_names(tree, set(exercises))
    values = {name for name, kind in exercises.items() if kind is ExerciseKind.VALUE}
    yield from comparison_faults(tree, exercises.keys() - values, values)
    yield from rule_faults(tree, exercise, on_gpu=cell.grade_id.endswith("_gpu"))
    yield from agreement_faults(cell.options, tree)
    visible = parsed(HIDDEN.sub("", cell.source))
    if isinstance(visible, ast.Module):
        hidden_only = set(global_names(tree)) - set(global_names(visible))
        for fault in foreign_names(visible, set(exercises)):
            if any(repr(name) in fault.what for name in hidden_only):
                what = fault.what.replace("from another cell", "that only the hidden part defines")
                yield CellFault(what, "Define it in the visible part: students run that alone.")
        yield from grader_faults(_kept_lines(cell.source))


def _kept_lines(source: str) -> ast.AST:
    """The visible part, parsed, with every line where it was."""
    kept = parsed(HIDDEN.sub(lambda hidden: "\n" * hidden[0].count("\n"), source))
    return kept if isinstance(kept, ast.Module) else ast.Module([], [])


def _rebinding_faults(
    cell: SourceCell, tree: ast.Module, exercises: dict[str, ExerciseKind | None]
) -> Iterator[CellFault]:
    """An exercise defined elsewhere too: a blank submission would earn its points, or lose them."""
    for name, line in global_names(tree).items():
        if name in exercises and name != cell.grade_id:
            what = f"defines {name!r}, which is the name of an exercise"
            yield CellFault(what, "Call it something else: it would stand in for the student's answer.", line)


def _prose_faults(source: ChapterSource, cell: SourceCell) -> Iterator[CellFault]:
    """Pictures that are not there, or say nothing to who cannot see them."""
    folder = source.path.with_suffix("")
    prose = CODE_BLOCK.sub(lambda block: "\n" * block[0].count("\n"), cell.source)
    for match in IMAGE.finditer(prose):
        line = prose.count("\n", 0, match.start()) + 1
        target = match["target"]
        if not match["alt"].strip():
            yield CellFault(
                f"shows {target!r} without a text for it", "Write what it shows: ![what it shows](…).", line
            )
        if "://" not in target and not (folder / target).is_file():
            remedy = f"Put it at {source.path.parent.name}/{source.name}/{target}, or draw it in a code cell."
            yield CellFault(f"shows {target!r}, and there is no such file", remedy, line)


def _at(source: ChapterSource, cell: SourceCell, fault: CellFault) -> Finding:
    line = cell.body_line + fault.line - 1 if fault.line else cell.line
    return source.finding(line, f"{cell.label} {fault.what}", fault.remedy)


def _line(finding: Finding) -> int:
    tail = finding.where.rpartition(":")[2]
    return int(tail) if tail.isdigit() else 0
