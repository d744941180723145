"""Turns the codes of a student's variant back into the words of the menu, before a test sees the answer.

The chapter's key knows words only; which student has which codes is decided by the driver (`intake.variants`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpulab.check.outcomes import Mismatch, Undecided, WrongAnswer


class NoVariant(Undecided):
    """The chapter has variants, and none of them is known to be this student's."""


def in_words(answer: Any, codes: Mapping[str, str], items: list[str], what: str) -> Any:
    """The answer with words in place of codes; what is neither a dict nor a set is left to the test.

    An entry that the test does not ask for never becomes a word: the test may spell its keys differently.

    Args:
        answer: the student's plain value.
        codes: code → word.
        items: the keys that a dict is asked for.
        what: the name of the exercise.

    Raises:
        WrongAnswer: a word stands in it, or a code that is not the student's.
        NoVariant: there are no codes.
    """
    if not codes:
        remedy = "Name the submission as in the roster, or release a variant for this name."
        raise NoVariant(f"{what}: no variant was released for the name under which this notebook is graded. {remedy}")
    if isinstance(answer, dict):
        return {key: _word(part, codes, what, key in items) for key, part in answer.items()}
    if isinstance(answer, (set, frozenset)):
        return {_word(part, codes, what, True) for part in answer}
    return answer


def _word(part: Any, codes: Mapping[str, str], what: str, asked: bool) -> Any:
    if not isinstance(part, str):
        return part
    if part in codes:
        return codes[part]
    if not asked:
        return f"{part[:80]} (not a code of yours)"
    if part in codes.values():
        message = f"{what}: {part!r} is a word of the menu. Write the code of the word, not the word."
    else:
        message = f"{what}: {part[:80]!r} is not on your menu. Every student has different codes."
    raise WrongAnswer(f"{message} Your codes are listed above the exercise.", Mismatch(got=repr(part[:80])))
