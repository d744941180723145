"""A test cell's names, kept away from the functions of the notebook that read variables of the same name.

A student calls a helper function `flat`; the test of the exercise has an array `flat`. In the judge they are in
different processes. In a notebook both are variables of one namespace, and the student's answer would find the array.
Such a test therefore runs as the body of a function, so that its names are its own. Every other cell runs as it is.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

_INNER = ("py_func", "fn", "__wrapped__")
"""Where Numba, Triton, and functools keep the function that they were given."""


class OwnNames(ast.NodeTransformer):
    """Puts a test cell into a function if it would replace a variable that a function of the notebook reads.

    Args:
        names: the notebook's variables.
    """

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """The cell as it is to run."""
        if is_test(node):
            bound = replaced(node, self._names)
            # A cell that is run again replaces its own functions: what they read is its own, too.
            others = {name: value for name, value in self._names.items() if name not in bound}
            if bound & read_by_functions(others, self._names):
                return _in_a_function(node)
        return node


def is_test(cell: ast.Module) -> bool:
    """Whether a cell is a test: it imports `check`, a chapter's checks, or `seed`, and calls all functions it defines.

    A student's cell may import `check`, too, but the functions in it are for other cells.
    """
    read = {node.id for node in ast.walk(cell) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    if any(isinstance(one, (ast.FunctionDef, ast.ClassDef)) and one.name not in read for one in cell.body):
        return False
    imports = [one for one in cell.body if isinstance(one, ast.ImportFrom) and str(one.module).startswith("gpulab")]
    names = {str(one.module) for one in imports} | {alias.name for one in imports for alias in one.names}
    return "seed" in names or any(name.endswith(("check", "checks")) for name in names)


def replaced(cell: ast.Module, names: dict[str, Any]) -> set[str]:
    """The variables that are there and that a cell gives another value; importing the same thing again does not."""
    found: set[str] = set()
    for node in ast.walk(cell):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Import):
            found |= {name for alias in node.names if not isinstance(names.get(name := _bound(alias)), ModuleType)}
        elif isinstance(node, ast.ImportFrom):
            module = sys.modules.get(str(node.module))
            found |= {
                name
                for alias in node.names
                if names.get(name := _bound(alias)) is not getattr(module, alias.name, None)
            }
    return found & names.keys()


def read_by_functions(functions: dict[str, Any], names: dict[str, Any]) -> set[str]:
    """The variables of a notebook that these of its functions, kernels, and classes read.

    Args:
        functions: by their names; other values are skipped.
        names: the notebook's variables, which its functions have as their globals.
    """
    values = [
        one for value in functions.values() for one in (vars(value).values() if isinstance(value, type) else [value])
    ]
    codes = [code for value in values for code in _codes(value, names)]
    return {
        str(step.argval)
        for code in codes
        for step in dis.get_instructions(code)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }


def _bound(alias: ast.alias) -> str:
    return (alias.asname or alias.name).split(".")[0]


def _codes(value: Any, names: dict[str, Any]) -> Iterator[CodeType]:
    """The code of a function that has these variables as its globals, and of all functions in it."""
    for _ in range(5):  # decorators may be stacked
        inner = next((vars(value)[name] for name in _INNER if name in getattr(value, "__dict__", ())), None)
        if inner is None:
            break
        value = inner
    if getattr(value, "__globals__", None) is not names:
        return
    waiting = [value.__code__]
    while waiting:
        yield (code := waiting.pop())
        waiting += [one for one in code.co_consts if isinstance(one, CodeType)]


def _in_a_function(cell: ast.Module) -> ast.Module:
    """The cell as a function that is called once; the value of its last line stays the cell's."""
    body, last = [*cell.body], cell.body[-1]
    if isinstance(last, ast.Expr):
        body[-1] = ast.copy_location(ast.Return(last.value), last)
    made = ast.parse("def test_cell(): pass\ntest_cell()")
    function, call = made.body
    assert isinstance(function, ast.FunctionDef)
    function.body = body
    for node in ast.walk(call):
        if hasattr(node, "lineno"):
            ast.copy_location(node, last)
    ast.copy_location(function, cell.body[0])
    return ast.Module([function, call], cell.type_ignores)
