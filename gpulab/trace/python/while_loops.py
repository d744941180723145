"""Kernels whose `while` loops count their turns, as `for` loops over `range` do: see `loops`.

    while condition:          for … in turns():
        body                      if condition: pass
                                  else: break
                                  body

`break` and `continue` mean the same in both. Places in the source stay as they are, and the student's function is not
touched. Where the source cannot be had, or is not the one that was compiled, the code stays as it is.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from tokenize import TokenError
from types import CodeType
from typing import Any

TURNS = "__turns__"
"""The global name under which the new code finds `Loops.turns`."""
_KEPT = 256
_FUTURE_FLAGS = 0xFF_0000
"""Those of `from __future__ import …` in a code object's flags."""
_known: dict[int, tuple[CodeType, CodeType]] = {}
"""By identity: codes are equal that stand in different files."""


def counting(code: CodeType) -> CodeType:
    """The code of a function, in which `while` loops count their turns."""
    found = _known.get(id(code))
    if found is None:
        if len(_known) >= _KEPT:
            _known.clear()
        found = _known[id(code)] = (code, _rewritten(code) or code)
    return found[1]


def _rewritten(code: CodeType) -> CodeType | None:
    """The new code; None if there is no loop to rewrite, or the source does not give the code."""
    try:
        source = "".join(inspect.getblock(linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]))
        if "while" not in source:
            return None
        indented = source[:1].isspace()
        tree = ast.parse("if True:\n" + source if indented else source)
    except (SyntaxError, TokenError):
        return None
    ast.increment_lineno(tree, code.co_firstlineno - 1 - indented)
    if indented:
        tree.body = tree.body[0].body  # type: ignore[attr-defined] # an `if`
    if not tree.body or not isinstance(tree.body[0], ast.FunctionDef):
        return None
    plain = _compiled(tree, code)
    if plain is None or _content(plain) != _content(code):
        return None
    return _compiled(_Rewriter().visit(tree), code)


def _compiled(tree: ast.Module, code: CodeType) -> CodeType | None:
    """The function of a tree that has the name of a code object, with the same free variables."""
    whole = tree
    if code.co_freevars:
        outer = ast.parse(f"def outer():\n    {' = '.join(code.co_freevars)} = None").body[0]
        assert isinstance(outer, ast.FunctionDef)
        outer.body += tree.body
        whole = ast.Module([outer], [])
    flags = code.co_flags & _FUTURE_FLAGS
    found: Any = compile(ast.fix_missing_locations(whole), code.co_filename, "exec", flags, dont_inherit=True)
    for _ in range(2 if code.co_freevars else 1):
        found = next((one for one in found.co_consts if isinstance(one, CodeType)), None)
        if found is None:
            return None
    return found if found.co_name == code.co_name else None


def _content(code: CodeType) -> tuple[Any, ...]:
    constants = [type(one) if isinstance(one, CodeType) else (type(one), one) for one in code.co_consts]
    return code.co_code, constants, code.co_names, code.co_freevars


class _Rewriter(ast.NodeTransformer):
    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        if node.orelse:  # of a `for` loop it would run at another end
            return node
        leave = ast.If(node.test, [ast.Pass()], [ast.Break()])
        turns = ast.Call(ast.Name(TURNS, ast.Load()), [], [])
        loop = ast.For(ast.Name("__turn__", ast.Store()), turns, [leave, *node.body], [])
        for new in (leave, *leave.body, *leave.orelse, turns, turns.func, loop, loop.target):
            ast.copy_location(new, node.test)
        return loop
