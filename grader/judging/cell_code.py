"""Test cells as compiled code: compiled once by the driver, for the judges of all submissions."""

from __future__ import annotations

import ast
import base64
import functools
import marshal
from dataclasses import dataclass
from types import CodeType

from grader.model.syntax import syntax_tree


@dataclass(frozen=True)
class CellCode:
    """A compiled test cell."""

    names: frozenset[str]
    """All that it reads anywhere."""
    body: CodeType
    value: CodeType | None
    """The expression that it ends in; None when it ends in none."""


@functools.lru_cache(maxsize=1024)
def compiled(source: str) -> CellCode:
    """The code of a cell; of one that is no Python, code that says so."""
    try:
        tree = syntax_tree(source)
        names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        last = tree.body[-1] if tree.body else None
        value = None
        if isinstance(last, ast.Expr):
            tree.body.pop()
            value = _code(ast.Expression(last.value), "eval")
        return CellCode(names, _code(tree, "exec"), value)
    except (SyntaxError, ValueError) as error:
        return compiled(f"raise {type(error).__name__}({str(error)!r})")


def _code(tree: ast.Module | ast.Expression, mode: str) -> CodeType:
    """Its code with all that it asserts, whether or not this Python leaves that out (`-O`, PYTHONOPTIMIZE)."""
    code: CodeType = compile(tree, "<test>", mode, dont_inherit=True, optimize=0)
    return code


@functools.lru_cache(maxsize=1024)
def packed(source: str) -> str:
    """The code of a cell as text, for another process of this Python."""
    code = compiled(source)
    return base64.b64encode(marshal.dumps((tuple(code.names), code.body, code.value))).decode()


def unpacked(text: str) -> CellCode:
    """What `packed` made the text of."""
    names, body, value = marshal.loads(base64.b64decode(text))
    return CellCode(frozenset(names), body, value)
