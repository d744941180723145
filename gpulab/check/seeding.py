"""Where the random inputs of a test come from: fixed while a student works, secret while the judge grades.

Decides nothing about who is the judge: the judge tells it.
"""

from __future__ import annotations

NOTEBOOK_SEED = 20260101
"""The seed outside grading: a student sees the same inputs on every run."""

_current = NOTEBOOK_SEED


def seed() -> int:
    """The number that a test draws its random inputs from; the same at every call in a process.

    Returns:
        The judge's secret seed while it grades, `NOTEBOOK_SEED` everywhere else.
    """
    return _current


def set_seed(value: int | None) -> None:
    """Make `seed()` return `value` in this process from now on; None goes back to the notebook's own."""
    global _current
    _current = NOTEBOOK_SEED if value is None else int(value)
