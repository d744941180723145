"""Compares the `needs` that a test cell declares with what its code uses of `gpulab`.

Imports are followed under any name, in the syntax tree: `from gpulab import trace as t` makes `t.counting` known. A use
that the tree does not show (`getattr`, a helper in another module) is refused by the judge when the test runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from grader.authoring.lint.metadata import CellFault
from grader.model.needs import FUNCTIONS, Need, calls_of, declared_words

PACKAGE = "gpulab"


def agreement_faults(options: Mapping[str, Any], tree: ast.Module) -> Iterator[CellFault]:
    """Needs that a test cell uses and does not declare, or declares and does not use."""
    declared = declared_words(options.get("needs"))
    used = used_needs(tree)
    complete = ", ".join(dict.fromkeys([*(word for word in declared if word in list(used)), *used]))
    for need, (written, line) in used.items():
        if need not in declared:
            what = f"uses {written} and does not declare the need {need.value!r}"
            yield CellFault(what, f'Add ":needs: [{complete}]" below its points.', line)
    for word in declared:
        if word in list(Need) and word not in used:
            remedy = f'Write ":needs: [{complete}]".' if complete else "Take the entry out."
            yield CellFault(f"declares the need {word!r}, and never uses {calls_of(Need(word))}", remedy)


def used_needs(tree: ast.Module) -> dict[Need, tuple[str, int]]:
    """Each need that the code has, with how it is written at its first use, and the line."""
    names, stars = _imported(tree)
    found: dict[Need, tuple[str, int]] = {}
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute)]
    for node in sorted(uses, key=lambda one: (one.lineno, one.col_offset)):
        if not isinstance(node.ctx, ast.Load):
            continue
        for dotted in _meanings(node, names, stars):
            if need := _need_of(dotted):
                found.setdefault(need, (ast.unparse(node), node.lineno))
    return found


def _imported(tree: ast.Module) -> tuple[dict[str, str], list[str]]:
    """Name in the cell → dotted name in `gpulab` that it stands for; and modules that are imported with `*`."""
    names: dict[str, str] = {}
    stars: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                names[alias.asname or whole] = whole
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            stars += [node.module for alias in node.names if alias.name == "*"]
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    names = {name: dotted for name, dotted in names.items() if dotted.partition(".")[0] == PACKAGE}
    stars = [module for module in stars if module.partition(".")[0] == PACKAGE]
    assignments = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    for _ in assignments:  # a chain of new names is no longer than that
        for node in assignments:
            for dotted in _meanings(node.value, names, stars):
                new = {target.id: dotted for target in node.targets if isinstance(target, ast.Name)}
                names |= {name: one for name, one in new.items() if name not in names}
    return names, stars


def _meanings(node: ast.expr, names: Mapping[str, str], stars: list[str]) -> list[str]:
    """The dotted names in `gpulab` that an expression may stand for; none for most."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return []
    known = [names[node.id]] if node.id in names else [f"{module}.{node.id}" for module in stars]
    return [".".join([base, *reversed(parts)]) for base in known]


def _need_of(dotted: str) -> Need | None:
    """The need of one function, by whichever of its modules' names it is reached."""
    *modules, function = dotted.split(".")
    return next((FUNCTIONS[one, function] for one in modules if (one, function) in FUNCTIONS), None)
