"""What a chapter's demonstrations import and define, for answers that use it: demonstrations are not run for a grade.

In a student's notebook they have run, so an answer with `np.sum` works there although its own cell imports nothing.
Only what an answer names is run before it: imports, functions, classes and constants. What else a demonstration
assigns depends on what it did, and no answer should.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from grader.model.syntax import syntax_tree

NAME = re.compile(r"(?<![\w.])[^\W\d]\w*")
UNDEFINED = re.compile(r"NameError: name '(\w+)' is not defined")
COMMANDS = ("%", "!")
"""How a line of IPython's own begins."""


@dataclass(frozen=True, eq=False)
class Statement:
    """One at the top level of a cell of the chapter's."""

    binds: frozenset[str]
    uses: tuple[str, ...] = ()
    """Names that occur in it, in order."""
    source: str = ""
    """What may be run before an answer; empty if nothing may."""


@dataclass
class GivenNames:
    """The names that demonstrations have bound so far, as cells go by in the order of the notebook."""

    _given: dict[str, Statement] = field(default_factory=dict)

    def demonstrate(self, source: str) -> None:
        """A demonstration goes by, and is not run."""
        for statement in statements(source):
            self._given |= dict.fromkeys(statement.binds, statement)

    def run(self, source: str) -> None:
        """Another cell of the chapter's goes by, and is run."""
        for statement in statements(source):
            self._drop(statement.binds)

    def solve(self, exercise: str, source: str) -> None:
        """The solution cell of an exercise goes by, which a student may call in later ones."""
        self._given[exercise] = Statement(frozenset({exercise}), tuple(NAME.findall(source)), source)

    def needed(self, source: str) -> str:
        """What to run before this cell of a student's: the statements that bind names in it. Each is given once."""
        if not self._given or source.startswith("%%"):
            return ""
        return "\n".join(self._take(NAME.findall(source)))

    def copy(self) -> GivenNames:
        """Another one, which knows the same."""
        return GivenNames(dict(self._given))

    def _take(self, names: Iterable[str]) -> list[str]:
        found: list[str] = []
        for name in names:
            statement = self._given.get(name)
            if statement is not None:
                self._drop(statement.binds)
                if statement.source:
                    found += [*self._take(statement.uses), statement.source]
        return found

    def _drop(self, names: Iterable[str]) -> None:
        for name in names:
            self._given.pop(name, None)


@functools.lru_cache(maxsize=4096)
def statements(source: str) -> tuple[Statement, ...]:
    """What a cell of the chapter's consists of."""
    if source.startswith("%%"):
        return ()
    lines = ("" if line.lstrip().startswith(COMMANDS) else line for line in source.split("\n"))
    return tuple(map(_statement, syntax_tree("\n".join(lines)).body))


def missed(message: str, demonstrations: Iterable[str]) -> str:
    """What to add to the message of an answer that missed a name which only running a demonstration sets."""
    name = UNDEFINED.search(message)
    if name and any(name[1] in one.binds for source in demonstrations for one in statements(source)):
        return f" ({name[1]} is set by a demonstration, which is not run for a grade: set it in your own cell.)"
    return ""


def _statement(node: ast.stmt) -> Statement:
    text = ast.unparse(node)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        # What is not installed stops no answer that merely holds the word.
        return Statement(_bound(node), (), f"try:\n    {text}\nexcept ImportError:\n    pass")
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return Statement(frozenset({node.name}), tuple(NAME.findall(text)), text)
    return Statement(_bound(node), (), text if _is_constant(node) else "")


def _bound(node: ast.stmt) -> frozenset[str]:
    """The names that a statement binds at whatever depth."""
    names: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
        elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(part.name)
        elif isinstance(part, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in part.names}
    return frozenset(names)


def _is_constant(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign):
        return False
    try:
        ast.literal_eval(node.value)
    except (ValueError, TypeError):
        return False
    return True
