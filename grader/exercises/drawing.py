"""Draws hidden inputs until every known mistake has been shown, so that no verdict depends on luck."""

from __future__ import annotations

import random
from collections.abc import Callable
from numbers import Real
from typing import Any, TypeVar

Given = TypeVar("Given", bound=tuple[Any, ...])
"""The arguments of a case."""
Slips = list[tuple[Any, str]]
"""Wrong values, or functions of no arguments that compute them, each with what to say about it; in the same order for
every case. A function is called only for a case that may be needed."""

DRAWS = 20_000
NUMBERS = (float, int, Real)
"""The last one alone would do, but asking it takes longer."""


def telling_cases(
    draw_case: Callable[[random.Random], Given],
    right: Callable[..., Any],
    slips: Callable[..., Slips],
    seed: int,
    times: int = 3,
) -> list[tuple[Given, Any, Slips]]:
    """Drawn cases, each with its right and its wrong values, that show every mistake `times` times.

    A case in which two mistakes with different notes give the same value is left out, since a message could name the
    wrong one.

    Args:
        draw_case: gives the arguments of a case.
        right: of those arguments, the right value.
        slips: of those arguments, what each known mistake gives.
        seed: of the draws.
        times: in how many cases each mistake must differ from the right value.

    Raises:
        RuntimeError: a mistake cannot be shown.
    """
    draw = random.Random(seed)
    missing = [times] * len(slips(*draw_case(random.Random(seed))))
    found = []
    for _ in range(DRAWS):
        case = draw_case(draw)
        expected, drawn = right(*case), slips(*case)
        if all(same(_value(drawn[place]), expected) for place, left in enumerate(missing) if left):
            continue
        wrong = [(_value(slip), slip[1]) for slip in drawn]
        told = [place for place, (value, _) in enumerate(wrong) if not same(value, expected)]
        if _unambiguous([wrong[place] for place in told]):
            found.append((case, expected, wrong))
            for place in told:
                missing[place] = max(0, missing[place] - 1)
        if not any(missing):
            return found
    unseen = sorted({drawn[place][1] for place, left in enumerate(missing) if left})
    raise RuntimeError(f"in {DRAWS} draws, no {times} cases show: {unseen}")


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, numbers up to rounding."""
    if isinstance(one, NUMBERS) and isinstance(other, NUMBERS):
        return abs(float(one) - float(other)) <= 1e-6
    return bool(one == other)


def _value(slip: tuple[Any, str]) -> Any:
    return slip[0]() if callable(slip[0]) else slip[0]


def _unambiguous(told: Slips) -> bool:
    """Whether every wrong value has one note only."""
    notes: dict[str, str] = {}
    for value, note in told:
        key = f"{float(value):.9g}" if isinstance(value, NUMBERS) else repr(value)
        if notes.setdefault(key, note) != note:
            return False
    return True
