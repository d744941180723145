"""Python's syntax trees, parsed by one thread at a time.

Before 3.11.8 and 3.12.2, CPython counts for all threads together how deeply `ast.parse` is nested: a thread that is
interrupted in the midst of it gets "SystemError: AST constructor recursion depth mismatch" (python/cpython#106905).
Submissions and the bank's answers are graded in threads.
"""

from __future__ import annotations

import ast
import os
import threading

_lock = threading.RLock()


def syntax_tree(source: str) -> ast.Module:
    """The syntax tree of a source.

    Raises:
        SyntaxError: it is not Python.
        ValueError: it holds a null byte.
        RecursionError, MemoryError: it is nested too deeply.
    """
    with _lock:
        return ast.parse(source)  # noqa: TID251


def _renew() -> None:
    """A fork has none of the other threads, of which one may have held the lock."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew)
