"""Codes of a variant become words before a test sees the answer, and nothing else ever does."""

from __future__ import annotations

from typing import Any

import pytest

from gpulab.check import WrongAnswer
from grader.judging.codes import NoVariant, in_words

CODES = {"bcdf": "threads", "ghjk": "processes"}
ITEMS = ["chat", "primes"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"chat": "bcdf", "primes": "ghjk"}, {"chat": "threads", "primes": "processes"}),
        ({"chat": "bcdf"}, {"chat": "threads"}),
        ({"bcdf", "ghjk"}, {"threads", "processes"}),
        (frozenset({"bcdf"}), {"threads"}),
        ({"chat": 3, "primes": None}, {"chat": 3, "primes": None}),
        ({3, "bcdf"}, {3, "threads"}),
        (["threads"], ["threads"]),
        (None, None),
    ],
)
def test_codes_become_words(answer: Any, words: Any) -> None:
    """What is not an answer to a menu at all is left to the test, which says what it should be."""
    assert in_words(answer, CODES, ITEMS, "KINDS") == words


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"chat": "bcdf", "primes": "processes"}, "Write the code of the word, not the word"),
        ({"threads"}, "Write the code of the word, not the word"),
        ({"chat": "zzzz"}, "'zzzz' is not on your menu. Every student has different codes"),
        ({"bcdf", "zzzz"}, "'zzzz' is not on your menu"),
    ],
)
def test_words_and_codes_of_others_are_refused(answer: Any, says: str) -> None:
    with pytest.raises(WrongAnswer, match=says):
        in_words(answer, CODES, ITEMS, "KINDS")


def test_a_word_under_another_key_stays_none() -> None:
    """Tests of menus ignore entries that nobody asked for, or take several spellings of a key."""
    found = in_words({"chat": "bcdf", "note": "threads", "chats": "ghjk"}, CODES, ITEMS, "KINDS")
    assert found == {"chat": "threads", "note": "threads (not a code of yours)", "chats": "processes"}


def test_a_student_without_a_variant_loses_nothing() -> None:
    with pytest.raises(NoVariant, match="no variant was released for the name"):
        in_words({"chat": "threads"}, {}, ITEMS, "KINDS")
