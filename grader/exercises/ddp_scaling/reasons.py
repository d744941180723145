"""DDP and scaling: points for a set of reasons, right ones against wrong ones. The reasons stand in the test cell."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any


def credit(found: Set[Any], reasons: Mapping[str, str], wrong: Mapping[str, str], points: float, what: str) -> float:
    """The part of `points` that a set earns: right codes minus wrong ones, over all that are right.

    Prints a line for each code that is missing or wrong.

    Args:
        found: the student's codes.
        reasons: right code → a hint for those who missed it.
        wrong: other code of the menu → why it is wrong.
        points: what exactly the right codes are worth.
        what: the name of the exercise.

    Returns:
        A Python float in (0, points].

    Raises:
        AssertionError: there are as many wrong codes as right ones, or more.
    """
    hits = [code for code in reasons if code in found]
    alarms = sorted((code for code in found if code not in reasons), key=repr)
    lines = [f"{str(code)[:40]!r}: {wrong.get(code, 'that is not on the menu.')}" for code in alarms]
    lines += [f"Missed: {hint}" for code, hint in reasons.items() if code not in hits]
    head = f"{what}: {len(hits)} of {len(reasons)} reasons, {len(alarms)} that are none."
    if len(hits) <= len(alarms):
        raise AssertionError("\n  ".join([head, *lines]))
    if lines:
        print("\n  ".join([head, *lines]))
    return float(points) * (len(hits) - len(alarms)) / len(reasons)
