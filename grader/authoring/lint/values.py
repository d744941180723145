"""Comparisons in test cells that tell a NumPy scalar from Python's number, or leave the comparing to the answer itself.

`gpulab.check` takes answers apart into plain values; so does the socket of the judge, but not a student's notebook.
What a test reads from an answer is followed through names, indices, loops and the cell's own functions.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from grader.authoring.lint.metadata import CellFault

SCALARS = frozenset({"bool", "int", "float", "complex"})
"""Types that a NumPy scalar of the same meaning need not be an instance of; `numbers.Real` and `str` hold theirs."""
REMEDY = "Compare with gpulab.check, or take it through check.as_python() first."
OF_ARRAYS = "Ask check.is_equal(): for an array, == is no truth value."
EQUALITIES = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def comparison_faults(tree: ast.Module, functions: Collection[str], values: Collection[str]) -> Iterator[CellFault]:
    """Comparisons of an answer, or of a part of one, that do not go through `check`.

    Args:
        tree: the test cell.
        functions: the names of the chapter's exercises that are functions.
        values: of those that are values.
    """
    raw = _Raw(tree, functions, values)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[value, kinds]) if raw.is_raw(value):
                if SCALARS & {_last_name(kind) for kind in ast.walk(kinds)}:
                    yield CellFault(
                        f"asks whether {ast.unparse(value)!r} is a {ast.unparse(kinds)}", REMEDY, node.lineno
                    )
            case ast.Call(func=ast.Name(id="type"), args=[value]) if raw.is_raw(value):
                yield CellFault(f"asks for the type of {ast.unparse(value)!r}", REMEDY, node.lineno)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                sides = [left, *comparators]
                for place, operator in enumerate(ops):
                    pair = sides[place : place + 2]
                    searched = isinstance(operator, ast.In | ast.NotIn) and not raw.is_raw(pair[0])
                    compared = [side for side in pair if raw.is_raw(side)]
                    if len(compared) == 1 and not searched and not _is_none(operator, pair):
                        yield CellFault(f"compares {ast.unparse(compared[0])!r} by itself", REMEDY, node.lineno)
                    for side in pair if isinstance(operator, EQUALITIES) else ():
                        if isinstance(side, ast.Call) and _last_name(side.func) == "as_python":
                            yield CellFault(f"compares {ast.unparse(side)!r}", OF_ARRAYS, node.lineno)


class _Raw:
    """Which expressions of a test cell are an answer, or a part of one, as the student's code returned it."""

    def __init__(self, tree: ast.Module, functions: Collection[str], values: Collection[str]) -> None:
        self._functions = {node.name: node for node in ast.walk(tree) if isinstance(node, FunctionNode)}
        self._called = set(functions)
        """Names that call an exercise."""
        self._names = set(values)
        """Names that hold an answer."""
        self._plain = {name for node in ast.walk(tree) for name in _made_plain(node)}
        """Names that hold what `check.as_python` returned."""
        before = None
        while before != (len(self._called), len(self._names)):
            before = len(self._called), len(self._names)
            for node in ast.walk(tree):
                self._follow(node)

    def is_raw(self, node: ast.expr | None) -> bool:
        """Whether the expression is an answer, or a part of one."""
        match node:
            case ast.Name(id=name):
                return name in self._names
            case ast.Call(func=ast.Name(id=name)):
                return name in self._called
            case ast.Subscript(value=value) | ast.Starred(value=value) | ast.NamedExpr(value=value):
                return self.is_raw(value)
            case ast.Call(func=ast.Attribute(value=value, attr="items" | "values" | "get")):
                return self.is_raw(value)
            case ast.IfExp(body=body, orelse=orelse):
                return self.is_raw(body) or self.is_raw(orelse)
            case _:
                return False

    def _follow(self, node: ast.AST) -> None:
        """Notes the names that a statement gives to an answer, to a part of one, or to an exercise."""
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value)
            case ast.NamedExpr(target=target, value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, value)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                self._bind(target, value)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in self._functions:
                parameters = self._functions[name].args
                places = [*parameters.posonlyargs, *parameters.args]
                for place, value in zip(places, args, strict=False):
                    self._bind(ast.Name(place.arg), value)
                for keyword in keywords:
                    if keyword.arg:
                        self._bind(ast.Name(keyword.arg), keyword.value)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        names = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)} - self._plain
        if self.is_raw(value):
            self._names |= names
        elif isinstance(value, ast.Name) and value.id in self._called:
            self._called |= names


def _made_plain(node: ast.AST) -> set[str]:
    """Names that a statement gives to what `check.as_python` returns."""
    match node:
        case ast.Assign(targets=targets, value=ast.Call(func=function)) if _last_name(function) == "as_python":
            return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}
        case _:
            return set()


def _is_none(operator: ast.cmpop, pair: list[ast.expr]) -> bool:
    return isinstance(operator, ast.Is | ast.IsNot) and any(
        isinstance(side, ast.Constant) and side.value is None for side in pair
    )


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
