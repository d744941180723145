"""Readings of this machine's GPU that a hidden test may hold an answer against; the judge of a test puts them in place.

How they are taken is for `grader.exercises.taking`, and what they say about an answer for `grader.exercises.confront`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any


class ReadingState(StrEnum):
    """What became of taking the readings for one exercise."""

    GOOD = "good"
    """The chapter's own solution agrees with them: answers are compared with them."""
    REFUSED = "refused"
    """They contradict the chapter's own solution."""
    UNUSABLE = "unusable"
    """No GPU gives such readings, or they spread too much."""
    ABSENT = "not here"
    """This machine lacks what they need."""
    FAILED = "failed"
    """An exception, or the process ended or ran out of time."""


_at_hand: Any = None


def at_hand() -> Any:
    """The readings for the exercise whose test runs, as plain values; None where there are none."""
    return _at_hand


@contextmanager
def use(readings: Any) -> Iterator[None]:
    """Has `at_hand` return these readings inside the block."""
    global _at_hand
    before, _at_hand = _at_hand, readings
    try:
        yield
    finally:
        _at_hand = before
