"""`check.menu`: how many entries of a menu are right, without telling which."""

from __future__ import annotations

import pytest

from gpulab import check

RIGHT = {"a": "up", "b": "down", "c": "left", "d": "up"}
WORDS = ("up", "down", "left")
DIGESTS = {item: check.digest("salt", item, word) for item, word in RIGHT.items()}


def points(answers: object) -> float:
    return check.menu(answers, DIGESTS, WORDS, 3.0, "WAYS", salt="salt", free=1)


def test_all_right_earns_all(capsys: pytest.CaptureFixture[str]) -> None:
    """Every entry right: all points, and nothing is printed."""
    assert points(RIGHT | {"more": 1}) == 3.0
    assert capsys.readouterr().out == ""


def test_some_right_earns_a_share_above_the_free_ones(capsys: pytest.CaptureFixture[str]) -> None:
    """Three of four with one free: two of three shares, and the number of right entries is printed."""
    assert points(RIGHT | {"a": "down"}) == 2.0
    assert capsys.readouterr().out == "WAYS: 3 of 4 entries are right.\n"


def test_a_guess_earns_nothing() -> None:
    """As many right entries as a guess gets raise, with their number and without saying which."""
    with pytest.raises(AssertionError, match=r"1 of 4 entries are right. Points begin with entry number 2"):
        points(dict.fromkeys(RIGHT, "left"))


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (["up"], "not a dict"),
        ({"a": "up"}, "no entry for b, c, d"),
        (RIGHT | {"b": "Down"}, "not in the menu: b: 'Down'"),
        (RIGHT | {"b": 3}, "not in the menu: b: 3"),
    ],
)
def test_what_is_no_menu_answer_is_named(answers: object, words: str) -> None:
    """A wrong form costs a sentence, not an entry."""
    with pytest.raises(AssertionError, match=words):
        points(answers)


def test_words_cannot_be_read_from_the_test() -> None:
    """The same word has another digest for another item and another salt."""
    assert len({*DIGESTS.values(), check.digest("other", "a", "up")}) == 5
