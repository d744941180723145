"""Menus of a chapter, and the codes that stand for their words in one student's variant of it.

A menu is an exercise whose visible test calls `check.menu` or `check.choice`. Who has a variant is recorded in
`intake.variants`; `authoring.variant_notebooks` writes the notebooks.
"""

from __future__ import annotations

import ast
import hmac
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpulab.check import digest
from grader.model.course import CourseError
from grader.model.notebooks import Cell, Role, visible
from grader.model.syntax import syntax_tree

CALLS = ("check.menu", "check.choice")
LETTERS = "bcdfghjkmnpqrstvwxz"
"""Of codes: no vowels, so that no code is a word, and no letter that looks like a digit."""
LENGTH = 4


@dataclass(frozen=True)
class Codes:
    """How one student writes the words of one menu."""

    words: Mapping[str, str] = field(repr=False)
    """Code → word; empty for a student who has no variant."""
    items: tuple[str, ...] = ()
    """The keys of the answer; empty where it is a set."""


@dataclass(frozen=True)
class Menu:
    """An exercise whose answer is made of words from a list."""

    exercise: str
    items: Mapping[str, str]
    """Item → its right word; empty where the answer is a set."""
    chosen: tuple[str, ...]
    """The right words where the answer is a set."""
    words: tuple[str, ...]
    salt: str

    @property
    def digests(self) -> dict[str, str] | list[str]:
        """What stands in the test for the right words."""
        return self.digests_of({word: word for word in self.words})

    def digests_of(self, code_of: Mapping[str, str]) -> dict[str, str] | list[str]:
        """What stands in the test of a variant: hashes of codes in place of words, those of a set in sorted order."""
        if self.items:
            return {item: digest(self.salt, item, code_of[word]) for item, word in self.items.items()}
        return sorted(digest(self.salt, "", code_of[word]) for word in self.chosen)

    def codes_of(self, secret: bytes, student: str, chapter: str) -> dict[str, str]:
        """Word → the student's own code, all different; only the holder of the secret can compute them."""
        found: dict[str, str] = {}
        for word in self.words:
            for attempt in itertools.count():
                text = "\0".join((student, chapter, self.exercise, word, str(attempt)))
                drawn = hmac.digest(secret, text.encode(), "sha256")
                code = "".join(LETTERS[byte % len(LETTERS)] for byte in drawn[:LENGTH])
                if code not in found.values() and code not in self.words:
                    found[word] = code
                    break
        return found


def menus_of(cells: Iterable[Cell]) -> list[Menu]:
    """The menus among a chapter's cells, in order.

    Raises:
        CourseError: a test calls `check.menu` or `check.choice` in a way that cannot be read.
    """
    return [menu for cell in cells if cell.role is Role.TEST and (menu := _menu(cell)) is not None]


def call_in(tree: ast.Module) -> tuple[int, ast.Call] | None:
    """The statement of a test cell that checks a menu, as its position and its call; None where there is none."""
    for number, node in enumerate(tree.body):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in CALLS:
            return number, node.value
    return None


def _menu(cell: Cell) -> Menu | None:
    """What the visible test checks. Runs what stands in it before the call, which is the author's own code."""
    tree = syntax_tree(visible(cell.source))
    found = call_in(tree)
    if found is None:
        return None
    number, call = found
    namespace: dict[str, Any] = {cell.exercise: {}}

    def value(node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "<test>", "eval"), namespace)

    try:
        exec(compile(ast.Module(tree.body[:number], []), "<test>", "exec"), namespace)
        digests, words = value(call.args[1]), tuple(value(call.args[2]))
        salt = next(value(option.value) for option in call.keywords if option.arg == "salt")
        if isinstance(digests, Mapping):
            items = {
                item: next(word for word in words if digest(salt, item, word) == hashed)
                for item, hashed in digests.items()
            }
            return Menu(cell.exercise, items, (), words, salt)
        chosen = tuple(next(word for word in words if digest(salt, "", word) == hashed) for hashed in digests)
        return Menu(cell.exercise, {}, chosen, words, salt)
    except Exception as error:  # whatever a test cell may raise
        what = f"its menu cannot be read ({type(error).__name__}: {error})"
        raise CourseError(cell.grade_id, what, "Make the visible test one that passes on its own.") from error
