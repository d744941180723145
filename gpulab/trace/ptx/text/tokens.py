"""Tokens of a PTX text, one after the other, and what holds for the next ones: names in scope, the source line."""

from __future__ import annotations

import re

from gpulab.trace.errors import UnsupportedError
from gpulab.trace.ptx.text.syntax import NOWHERE, Location

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(r'"[^"]*"|\.[A-Za-z_]\w*|[%$_A-Za-z][\w$.]*(?:::[\w.]+)*|\d[\w.]*|[{}()\[\],;:|!@<>=+\-*]')


class TokenReader:
    """Reads tokens in order.

    Args:
        text: PTX.
    """

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = _TOKEN.findall(_COMMENT.sub(" ", text))
        self._at = 0
        self._location = NOWHERE
        self._scopes: list[dict[str, str]] = []
        self._renamed = 0
        self._seen: dict[tuple[int, int, int], Location] = {}
        """Places so far: one that is inlined into another names only that one."""
        self._plain: set[str] = set()

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _skip(self, token: str) -> bool:
        if self._peek() == token:
            self._at += 1
            return True
        return False

    def _expect(self, token: str) -> None:
        if not self._skip(token):
            near = " ".join(self._tokens[max(0, self._at - 5) : self._at + 5])
            raise UnsupportedError(f"This PTX is not understood: expected {token!r} in '{near}'.", self._location.line)

    def _int(self) -> int:
        sign = -1 if self._skip("-") else 1
        return sign * int(self._next().rstrip("U"), 0)

    def _braces(self) -> None:
        depth = 1
        while depth:
            depth += {"{": 1, "}": -1}.get(self._next(), 0)

    def _statement_end(self) -> None:
        while self._next() != ";":
            pass

    def _name(self, name: str) -> str:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return name

    def _loc(self) -> None:
        self._at += 1
        file, line, column = self._int(), self._int(), self._int()
        outer = None
        while self._peek() == "," and self._peek(1) in ("function_name", "inlined_at"):
            self._at += 1
            if self._next() == "inlined_at":
                where = self._int(), self._int(), self._int()
                outer = self._seen.get(where, Location(*where))
            else:
                self._next()
                if self._skip("+"):
                    self._int()
        if line == 0 and not self._scopes:
            return
        if line == 0:  # "no line": it stays with the line before
            return
        self._location = self._seen[file, line, column] = Location(file, line, column, outer)
