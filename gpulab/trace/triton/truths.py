"""`and`, `or`, `not`, `min` and `max` of blocks, in Triton's interpreter: element by element, as in a compiled kernel.

The interpreter runs them as Python, to which every block is true: `a and b` would be `b`. They are replaced by calls
when it rewrites a kernel's source, as it does for comparisons like `a < b < c`.
"""

from __future__ import annotations

import ast
import builtins
import functools
from typing import Any, Literal

Kind = Literal["and", "or"]
PREFIX = "_gpulab_truth_"
"""How names begin that are put into an interpreted kernel."""


def install(interpreter: Any) -> None:
    """Has the interpreter replace them. Kernels find the names that its module has."""
    for function in (decided, combined, negated, extreme):
        setattr(interpreter, f"{PREFIX}{function.__name__}", function)
    transformer = interpreter.ASTTransformer
    transformer.visit_BoolOp, transformer.visit_UnaryOp, transformer.visit_Call = _both, _opposite, _call


def decided(kind: Kind, value: Any) -> bool:
    """Whether the rest of an expression is not evaluated: behind a constant only, never behind a block or a number."""
    from triton.language import constexpr, tensor

    if isinstance(value, tensor):
        return False
    return bool(value.value if isinstance(value, constexpr) else value) is (kind == "or")


def combined(kind: Kind, left: Any, right: Any) -> Any:
    """`left and right`, or `left or right`, where `left` did not decide."""
    from triton.language import tensor

    from gpulab.trace.triton.branches import LeftOut

    if isinstance(right, LeftOut):
        if not isinstance(left, tensor):
            right.refuse()
        return left
    if not isinstance(left, tensor):
        return right
    if not isinstance(right, tensor):
        return right if decided(kind, right) else left
    left, right = (one if one.dtype.scalar.is_int1() else one != 0 for one in (left, right))
    return left & right if kind == "and" else left | right


def negated(value: Any) -> Any:
    """`not value`."""
    from triton.language import tensor

    return value == 0 if isinstance(value, tensor) else not value


def extreme(function: Any, *values: Any) -> Any:
    """`function(*values)`, where `function` goes by the name `min` or `max`."""
    from triton import language

    if function not in (builtins.min, builtins.max) or not any(isinstance(one, language.tensor) for one in values):
        return function(*values)
    return functools.reduce(language.minimum if function is builtins.min else language.maximum, values)


def _called(function: Any, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(f"{PREFIX}{function.__name__}", ast.Load()), list(arguments), [])


def _both(self: Any, node: ast.BoolOp) -> ast.expr:
    """`a and b` as `so_far if decided("and", so_far := a) else combined("and", so_far, b)`."""
    kind = ast.Constant("and" if isinstance(node.op, ast.And) else "or")
    found, *others = (self.visit(one) for one in node.values)
    name = f"{PREFIX}{node.lineno}_{node.col_offset}"
    so_far = ast.Name(name, ast.Load())
    for other in others:
        first = _called(decided, kind, ast.NamedExpr(ast.Name(name, ast.Store()), found))
        found = ast.IfExp(first, so_far, _called(combined, kind, so_far, other))
    whole: ast.expr = ast.copy_location(found, node)
    return whole


def _opposite(self: Any, node: ast.UnaryOp) -> ast.expr:
    visited: ast.UnaryOp = self.generic_visit(node)
    return ast.copy_location(_called(negated, visited.operand), node) if isinstance(node.op, ast.Not) else visited


def _call(self: Any, node: ast.Call) -> ast.expr:
    visited: ast.Call = self.generic_visit(node)
    if isinstance(node.func, ast.Name) and node.func.id in ("min", "max") and not node.keywords:
        return ast.copy_location(_called(extreme, node.func, *visited.args), node)
    return visited
