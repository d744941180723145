"""The interpreter runs of a kernel what Triton's compiler has compiled for the same launch, and nothing else.

The compiler leaves out a branch whose condition it can decide, and everything in it. The interpreter decides some of
these conditions otherwise, as in `if isinstance(x.shape[0], int)`, and would run Python that no compiler has seen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from gpulab.trace.errors import LaunchError
from gpulab.trace.triton import accesses, language

CHECK = "_gpulab_compiled"
"""What the check is called in an interpreted kernel."""
COMPILED, LEFT_OUT = f"{CHECK}_was", f"{CHECK}_left_out"
"""The same for `was_compiled` and `LeftOut`."""
PLAIN = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)
"""What calls no function of anybody's."""
Place = tuple[Any, int, int]
"""A function, and line and column of an expression or statement in it, from its `def` on."""
_functions: list[Any] = []
"""Those that were rewritten; a check names its function by the place in this list."""


def install(interpreter: Any) -> None:
    """Has the interpreter check each branch that it takes, and read the same text as the compiler."""
    rewriter = interpreter.FunctionRewriter

    def source(self: Any, lines: list[str]) -> str:
        from triton.runtime.jit import JITFunction

        return str(JITFunction(self.fn).src)  # its own way takes the last line that begins with `def`, in a text, too

    def transformed(self: Any, text: str) -> Any:
        tree: ast.AST = ast.parse(text)
        if not str(self.fn.__module__).startswith("triton."):
            _functions.append(self.fn)
            tree = _Checks(len(_functions) - 1).visit(tree)
        tree = ast.fix_missing_locations(self.ast_transformer.visit(tree))
        return ast.increment_lineno(tree, self.def_file_lineno - 1)

    rewriter._prepare_source, rewriter._transform_ast = source, transformed
    for name, function in (CHECK, require_compiled), (COMPILED, was_compiled), (LEFT_OUT, LeftOut):
        setattr(interpreter, name, function)
    for operations, name in (interpreter.ReduceOps, "generic_reduce"), (interpreter.ScanOps, "generic_scan"):
        setattr(operations, name, _with_rewritten(getattr(operations, name)))


@contextmanager
def noted() -> Iterator[set[Place]]:
    """The places that the compiler visits in the block."""
    from triton.compiler.code_generator import CodeGenerator

    places: set[Place] = set()
    visit = CodeGenerator.visit

    def noting(self: Any, node: Any) -> Any:
        if hasattr(node, "lineno"):
            places.add((self.jit_fn.fn, node.lineno, node.col_offset))
        return visit(self, node)

    CodeGenerator.visit = noting
    try:
        yield places
    finally:
        CodeGenerator.visit = visit


def was_compiled(number: int, line: int, column: int) -> bool:
    """Whether the compiler has been there, too; the arguments are those of `require_compiled`."""
    return not accesses.running or (_functions[number], line, column) in accesses.running[-1].compiled


@dataclass(frozen=True)
class LeftOut:
    """Stands for an operand of `and` or `or` that the compiler has not visited, as its left side decided there.

    An argument of 1 is a constant to the compiler and a number to the interpreter, so `n > 1` decides in the compiler
    only. The left side is the value then.
    """

    number: int
    line: int
    column: int

    def refuse(self) -> None:
        """Raises the error of `require_compiled`."""
        require_compiled(self.number, self.line, self.column)


def require_compiled(number: int, line: int, column: int) -> None:
    """Passes if the compiler has been there, too.

    Args:
        number: of the function.
        line: from its `def`, which is line 1.
        column: from its `def`.

    Raises:
        LaunchError: it has not.
    """
    if not was_compiled(number, line, column):
        function = _functions[number]
        line += function.__code__.co_firstlineno + language.parsed(function).lineno - 2
        raise LaunchError(
            f"Kernel '{accesses.running[-1].kernel}', {language.place(function, line)}: Triton's compiler leaves this "
            "out, because it decides the condition before it otherwise than the interpreter does. On a GPU this would "
            "not run.",
            line,
        )


def _with_rewritten(operation: Any) -> Any:
    """A reduction or scan, which calls the interpreted form of a function of the student's, and not its Python."""

    def applied(self: Any, given: Any) -> Any:
        from gpulab.trace.triton.hook import interpreted

        before = self.combine_fn
        self.combine_fn = SimpleNamespace(fn=interpreted(before))
        try:
            return operation(self, given)
        finally:
            self.combine_fn = before

    return applied


class _Checks(ast.NodeTransformer):
    """Puts a check in front of everything that Python may leave out."""

    def __init__(self, number: int) -> None:
        self._number = number

    def visit_If(self, node: ast.If | ast.For | ast.While) -> ast.AST:
        node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        return self._rest(node, "body", "orelse")

    visit_For = visit_While = visit_If

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.body, node.orelse = self._value(node.body), self._value(node.orelse)
        return self._rest(node, "body", "orelse")

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node.values = [self.visit(node.values[0]), *map(self._operand, node.values[1:])]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        node.left, first = self.visit(node.left), self.visit(node.comparators[0])
        others = [one if _is_plain(one) else self._value(one) for one in node.comparators[1:]]
        node.comparators = [first, *others]
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        node.elt = self._value(node.elt)
        return self._rest(node, "elt")

    def _rest(self, node: ast.AST, *done: str) -> ast.AST:
        """The node, with its other fields visited."""
        for name, value in ast.iter_fields(node):
            if name not in done and isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
            elif name not in done and isinstance(value, list):
                setattr(node, name, [self.visit(one) if isinstance(one, ast.AST) else one for one in value])
        return node

    def _check(self, at: Any, name: str = CHECK) -> ast.Call:
        numbers = (ast.Constant(one) for one in (self._number, at.lineno, at.col_offset))
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [*numbers], []), at)

    def _operand(self, node: ast.expr) -> ast.expr:
        """`node if was_compiled(…) else LeftOut(…)`."""
        chosen = ast.IfExp(self._check(node, COMPILED), self.visit(node), self._check(node, LEFT_OUT))
        return ast.copy_location(chosen, node)

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        first = [ast.copy_location(ast.Expr(self._check(one)), one) for one in statements[:1]]
        return [*first, *map(self.visit, statements)]

    def _value(self, node: ast.expr) -> ast.expr:
        """`(check(…), node)[1]`."""
        pair = ast.Tuple([self._check(node), self.visit(node)], ast.Load())
        return ast.copy_location(ast.Subscript(pair, ast.Constant(1), ast.Load()), node)


def _is_plain(node: ast.expr) -> bool:
    """Whether an expression only reads names and numbers and computes with them."""
    return all(isinstance(one, PLAIN) for one in ast.walk(node))
