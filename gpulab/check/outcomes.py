"""What a test concludes, as exceptions with fields: the answer is wrong, or its points cannot be decided here and now.

A judge reads the fields; a student reads the message. What an answer is compared with is up to `assertions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from gpulab.check import layout


@dataclass(frozen=True)
class Mismatch:
    """One value of an answer that is not what was expected. Each field is text, cut to what can be read."""

    what: str = ""
    """What was asked: `96 threads in warps of 32`."""
    got: str = ""
    """What came back, or the exception that was raised; empty where nothing came."""
    expected: str = ""
    misconception: str = ""
    """The known mistake that this value shows; empty when it is none of them."""
    difference: str = ""
    """Where or how the value differs, in a sentence; empty when the two values say it all."""


class WrongAnswer(AssertionError):
    """An answer is not what was expected. `what`, `got`, `expected` and `misconception` are of the first mismatch."""

    def __init__(self, message: str, *mismatches: Mismatch) -> None:
        super().__init__(message)
        self.mismatches = mismatches
        self._first = mismatches[0] if mismatches else Mismatch()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), *self.mismatches)

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback."""
        return layout.lines(str(self))

    @property
    def what(self) -> str:
        """What was asked."""
        return self._first.what

    @property
    def got(self) -> str:
        """What came back."""
        return self._first.got

    @property
    def expected(self) -> str:
        """What was expected."""
        return self._first.expected

    @property
    def misconception(self) -> str:
        """The known mistake that the answer shows; empty when it is none of them."""
        return self._first.misconception


class Undecided(Exception):
    """The points of a test can be neither given nor refused here and now: they are pending."""

    verdict: ClassVar[str] = "harness error"
    """The judge's verdict on the test cell."""
    cause: ClassVar[str] = ""
    """Why, in a few words, where the verdict leaves that open."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback."""
        return layout.lines(str(self))


# ---------------------------------------------------------------------------------------- without an exception

_collectors: list[list[Mismatch]] = []


def note_mismatches(mismatches: Iterable[Mismatch]) -> None:
    """Gives a judge, where there is one, what is wrong with an answer that earns points all the same."""
    found = list(mismatches)
    for collector in _collectors:
        collector += found


@contextmanager
def collecting() -> Iterator[list[Mismatch]]:
    """What is recorded in the block."""
    found: list[Mismatch] = []
    _collectors.append(found)
    try:
        yield found
    finally:
        _collectors[:] = [one for one in _collectors if one is not found]
