"""Menus: exercises whose answer is a word from a list for each of several items.

The test tells how many entries are right, not which, and the right ones stand in it as salted hashes only. Points begin
above what a guess gets, so that a guess is worth nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

from gpulab.check.outcomes import WrongAnswer
from gpulab.check.values import DictOf, TooLarge, plain, show


def digest(salt: str, item: str, word: str) -> str:
    """What stands in a test for the right word of an item: the first twelve hexadecimal digits of a hash."""
    return hashlib.sha256(f"{salt}:{item}:{word}".encode()).hexdigest()[:12]


def menu(
    answers: Any, digests: Mapping[str, str], words: Collection[str], points: float, what: str, *, salt: str, free: int
) -> float:
    """The part of `points` that a dict of answers earns: none up to `free` right entries, then in proportion.

    Prints how many entries are right when not all are. Entries that nobody asked for do not matter.

    Args:
        answers: the student's dict.
        digests: item → `digest` of its right word.
        words: of the menu.
        points: what all items together are worth.
        what: the name of the exercise.
        salt: of the digests.
        free: right entries that earn nothing.

    Raises:
        WrongAnswer: it is not a dict, an item is missing, a word is not in the menu, or too few entries are right.
    """
    try:
        mine = plain(answers)
    except TooLarge as error:
        raise WrongAnswer(f"{what}: you returned a value that cannot be compared: {error}.") from None
    if not isinstance(mine, DictOf):
        raise WrongAnswer(f"{what}: {show(mine)} is not a dict with an entry for each of {', '.join(digests)}.")
    given = {key: value for key, value in mine.pairs if isinstance(key, str)}
    missing = [item for item in digests if item not in given]
    if missing:
        raise WrongAnswer(f"{what}: no entry for {', '.join(missing)}.")
    strange = [item for item in digests if not isinstance(given[item], str) or given[item] not in words]
    if strange:
        shown = ", ".join(f"{item}: {show(given[item])}" for item in strange)
        raise WrongAnswer(f"{what}: not in the menu: {shown}. The words are {', '.join(words)}.")
    right = sum(digest(salt, item, given[item]) == expected for item, expected in digests.items())
    found = f"{what}: {right} of {len(digests)} entries are right."
    if right <= free:
        raise WrongAnswer(f"{found} Points begin with entry number {free + 1}.")
    if right < len(digests):
        print(found)
    return float(points) * (right - free) / (len(digests) - free)
