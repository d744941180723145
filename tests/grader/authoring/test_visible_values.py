"""A visible test that passes shows nothing in the notebook, or the points of a menu."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import nbformat
import pytest

from gpulab import check

ROOT = Path(__file__).parents[3]
TESTS = {
    cell.metadata["nbgrader"]["grade_id"]: ast.parse(cell.source)
    for path in sorted((ROOT / "notebooks").glob("*/*.ipynb"))
    for cell in nbformat.read(path, 4).cells
    if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade")
}
POINTS = (check.menu, check.choice)


def returns_values(function: ast.FunctionDef) -> bool:
    """Whether it returns a value anywhere; the functions inside it may."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Return) and one.value is not None:
            return True
        if not isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(one)
    return False


def shown(tree: ast.Module) -> str:
    """The call that ends a cell, if it has a value that the notebook would show."""
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Call):
        return ""
    name = ast.unparse(last.value.func)
    for local in tree.body:
        if isinstance(local, ast.FunctionDef) and local.name == name:
            return name if returns_values(local) else ""
    namespace: dict[str, Any] = {}
    for one in tree.body:
        if isinstance(one, (ast.Import, ast.ImportFrom)):
            exec(ast.unparse(one), namespace)
    function = eval(name, namespace)
    returns = inspect.signature(function).return_annotation
    return "" if function in POINTS or returns in (None, "None") else name


@pytest.mark.parametrize("grade_id", TESTS)
def test_a_visible_test_that_passes_shows_nothing(grade_id: str) -> None:
    assert not shown(TESTS[grade_id])


def test_what_would_be_shown_is_found() -> None:
    local = "def tried(x):\n    return x\ntried(1)"
    imported = "from gpulab.chapters.mixed_precision.checks import recorded\nrecorded(1)"
    quiet = "from gpulab import check\ncheck.equal(1, 1, 'one')"
    inner = "def tried(x):\n    def twice():\n        return 2 * x\n    twice()\ntried(1)"
    deep = "def tried(x):\n    for one in x:\n        return one\ntried([1])"
    texts = local, imported, quiet, inner, deep
    assert [shown(ast.parse(text)) for text in texts] == ["tried", "recorded", "", "", "tried"]
