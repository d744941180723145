"""Menus: exercises whose answer is a word from a list for each of several items, or a set of words from a list.

The test tells how many entries are right, not which, and the right ones stand in it as salted hashes only. Points begin
where guessing ends: what one word for everything, or a draw by chance, would get right earns nothing.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Collection, Mapping, Sequence
from math import comb
from typing import Any

from gpulab.check.outcomes import Mismatch, WrongAnswer, note_mismatches
from gpulab.check.values import DictOf, SetOf, TooLarge, plain, show

GUESSED = 0.01
"""Part of the points that a guess may be worth on average."""


def digest(salt: str, item: str, word: str) -> str:
    """What stands in a test for the right word of an item: the first twelve hexadecimal digits of a hash."""
    return hashlib.sha256(f"{salt}:{item}:{word}".encode()).hexdigest()[:12]


def menu(
    answers: Any,
    digests: Mapping[str, str],
    words: Collection[str],
    points: float,
    what: str,
    *,
    salt: str,
    notes: Mapping[str, Mapping[str, str]] | None = None,
    free: int = 0,
) -> float:
    """The part of `points` that a dict of answers earns: none up to what a guess gets right, then in proportion.

    Prints how many entries are right when not all are. Entries that nobody asked for do not matter.

    Args:
        answers: the student's dict.
        digests: item → `digest` of its right word.
        words: of the menu.
        points: what all items together are worth.
        what: the name of the exercise.
        salt: of the digests.
        notes: what to say about wrong words of an item; from the hidden tests, so that only feedback shows it.
        free: at least so many right entries earn nothing; for items whose names give away their words, which
            `free_entries` cannot know. Less than the number of items.

    Raises:
        WrongAnswer: it is not a dict, an item is missing, a word is not in the menu, or too few entries are right.
    """
    mine = _plain(answers, what)
    if not isinstance(mine, DictOf):
        raise WrongAnswer(f"{what}: {show(mine)} is not a dict with an entry for each of {', '.join(digests)}.")
    given = {key: value for key, value in mine.pairs if isinstance(key, str)}
    missing = [item for item in digests if item not in given]
    if missing:
        raise WrongAnswer(f"{what}: no entry for {', '.join(missing)}.{_capitals(given, missing)}")
    strange = [item for item in digests if not isinstance(given[item], str) or given[item] not in words]
    if strange:
        shown = ", ".join(f"{item}: {show(given[item])}" for item in strange)
        hint = _capitals([given[item] for item in strange], words)
        raise WrongAnswer(f"{what}: not in the menu: {shown}. The words are {', '.join(words)}.{hint}")
    wrong = [item for item, expected in digests.items() if digest(salt, item, given[item]) != expected]
    said = {item: (notes or {}).get(item, {}).get(given[item], "") for item in wrong}
    lines = [f"{item!r}: you said {given[item]!r}. {note}" for item, note in said.items() if note]
    found = [Mismatch(repr(item), show(given[item]), misconception=note) for item, note in said.items() if note]
    right = len(digests) - len(wrong)
    head = f"{what}: {right} of {len(digests)} entries {'is' if right == 1 else 'are'} right."
    guessed = max(free, free_entries(digests, words, salt))
    return _points(right, len(digests), guessed, points, head, lines, found)


def choice(
    answers: Any,
    digests: Collection[str],
    words: Collection[str],
    points: float,
    what: str,
    *,
    salt: str,
    notes: Mapping[str, str] | None = None,
) -> float:
    """The part of `points` that a set of words earns, by hits − false alarms, beyond what a guess gets.

    Prints how many hits and false alarms there are, unless just the right words are chosen.

    Args:
        answers: the student's set.
        digests: `digest` of each right word, for the item "".
        words: of the menu.
        points: what all right words together are worth.
        what: the name of the exercise.
        salt: of the digests.
        notes: what to say to those who missed a word, or chose it wrongly; from the hidden tests.

    Raises:
        WrongAnswer: it is not a set, a word is not on the menu, or hits − false alarms is no more than a guess gets.
    """
    mine = _plain(answers, what)
    if not isinstance(mine, SetOf):
        note = "{} is an empty dict; write set()." if isinstance(mine, DictOf) and not mine.pairs else "Write {…}."
        raise WrongAnswer(f"{what}: a {type(answers).__name__} is not a set of codes. {note}")
    chosen = list(mine.elements)
    if strange := [word for word in chosen if not isinstance(word, str) or word not in words]:
        hint = _hint(strange, words)
        raise WrongAnswer(f"{what}: {show(strange[0])} is not on the menu.{hint}")
    right = {word for word in words if digest(salt, "", word) in digests}
    alarms, missed = [[w for w in words if w in chosen and w not in right], [w for w in right if w not in chosen]]
    kinds = {**dict.fromkeys(alarms, "a false alarm"), **dict.fromkeys(sorted(missed), "missed")}
    said = {word: note for word in kinds if (note := (notes or {}).get(word, ""))}
    lines = [f"{repr(word) + ' is a false alarm' if word in alarms else 'Missed'}: {n}" for word, n in said.items()]
    found = [Mismatch(word if word in alarms else "", kinds[word], misconception=n) for word, n in said.items()]
    hits = len(right) - len(missed)
    head = f"{what}: {hits} of {len(digests)} found, {len(alarms)} false alarm{'' if len(alarms) == 1 else 's'}."
    free = free_choices(len(digests), len(words))
    return _points(hits - len(alarms), len(digests), free, points, head, lines, found)


def _hint(strange: Sequence[Any], words: Collection[str]) -> str:
    """What may have been meant by entries that are not on the menu."""
    text = str(strange[0])
    inside = [word for word in words if word in text]
    apart = [word for word in inside if not any(word in other != word for other in inside)]
    if len(apart) > 1:
        return " That is more than one code: quote each one by itself, with commas between them."
    if len(strange) > 1 and all(isinstance(one, str) and len(one) == 1 for one in strange):
        return " Those are single letters: set() splits a string. Write {…} around the codes."
    near = difflib.get_close_matches(text, words, n=1)
    return f" Did you mean {near[0]!r}?" if near else _capitals(strange, words)


def free_entries(digests: Mapping[str, str], words: Collection[str], salt: str) -> int:
    """How many right entries earn nothing: as many as one word for all items gets, and as chance does.

    At most all but one: in a small menu only the whole answer earns points.
    """
    constant = max(sum(digest(salt, item, word) == it for item, it in digests.items()) for word in words)
    items, chance = len(digests), 1 / len(words)
    odds = [comb(items, k) * chance**k * (1 - chance) ** (items - k) for k in range(items + 1)]
    enough = (free for free in range(constant, items) if _worth(enumerate(odds), free, items) <= GUESSED)
    return next(enough, items - 1)


def free_choices(right: int, words: int) -> int:
    """Up to which hits − false alarms a set earns nothing: what a set of any size, drawn by chance, gets.

    At most all but one, as in `free_entries`.
    """
    sizes = [
        [
            (2 * hits - size, comb(right, hits) * comb(words - right, size - hits) / comb(words, size))
            for hits in range(size + 1)
        ]
        for size in range(1, words + 1)
    ]
    enough = (free for free in range(right) if max(_worth(odds, free, right) for odds in sizes) <= GUESSED)
    return next(enough, right - 1)


def _worth(odds: Any, free: int, most: int) -> float:
    """The mean part of the points, from pairs of a count and its probability."""
    return float(sum(chance * max(0, count - free) / (most - free) for count, chance in odds))


def _capitals(written: Collection[Any], right: Collection[str]) -> str:
    """What to say if something that was written differs from a right word by its capitals only."""
    small = {word.lower() for word in right}
    return " Capitals matter." if any(isinstance(one, str) and one.lower() in small for one in written) else ""


def _plain(answers: Any, what: str) -> Any:
    try:
        return plain(answers)
    except TooLarge as error:
        raise WrongAnswer(f"{what}: you returned a value that cannot be compared: {error}.") from None


def _points(
    count: int, most: int, free: int, points: float, head: str, lines: list[str], found: list[Mismatch]
) -> float:
    if count <= free:
        words = f"{head} Points begin at {free + 1}, because fewer can be guessed."
        raise WrongAnswer("\n  ".join([words, *lines]), *found)
    if count < most:
        note_mismatches(found)
        print("\n  ".join([head, *lines]))
    return float(points) * (count - free) / (most - free)
