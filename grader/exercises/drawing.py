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
    rejected = [0] * len(missing)
    """How often each mistake could not be told from another one: those that often cannot are looked at first."""
    found = []
    for _ in range(DRAWS):
        case = draw_case(draw)
        expected, drawn = right(*case), slips(*case)
        wrong: dict[int, tuple[Any, str]] = {}
        for place, left in enumerate(missing):
            if left:
                wrong[place] = _value(drawn[place]), drawn[place][1]
        if all(same(value, expected) for value, _ in wrong.values()):
            continue
        notes: dict[str, str] = {}
        for place in sorted(range(len(missing)), key=lambda one: (not missing[one], -rejected[one])):
            if place not in wrong:
                wrong[place] = _value(drawn[place]), drawn[place][1]
            value, note = wrong[place]
            if not same(value, expected) and notes.setdefault(_key(value), note) != note:
                rejected[place] += 1
                break
        else:
            found.append((case, expected, [wrong[place] for place in range(len(missing))]))
            for place, (value, _) in wrong.items():
                missing[place] = max(0, missing[place] - (not same(value, expected)))
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


def _key(value: Any) -> str:
    """The same for values that a message cannot tell apart."""
    return f"{float(value):.9g}" if isinstance(value, NUMBERS) else repr(value)
