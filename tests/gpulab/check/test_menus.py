"""`check.menu` and `check.choice`: how many entries are right, without telling which, and nothing for a guess."""

from __future__ import annotations

import itertools

import pytest

from gpulab import check
from gpulab.check import menus

RIGHT = {"a": "up", "b": "down", "c": "left", "d": "up", "e": "down", "f": "left"}
WORDS = ("up", "down", "left")
DIGESTS = {item: check.digest("salt", item, word) for item, word in RIGHT.items()}
LETTERS = dict(zip("abcdefghij", "uuuuuuvvvw", strict=True))
CODES = tuple("pqrstuvw")
CHOSEN = [check.digest("salt", "", code) for code in "pqrs"]


def points(answers: object, notes: dict[str, dict[str, str]] | None = None) -> float:
    return check.menu(answers, DIGESTS, WORDS, 4.0, "WAYS", salt="salt", notes=notes)


def chosen(answers: object, notes: dict[str, str] | None = None) -> float:
    return check.choice(answers, CHOSEN, CODES, 4.0, "CODES", salt="salt", notes=notes)


def test_all_right_earns_all(capsys: pytest.CaptureFixture[str]) -> None:
    """Every entry right: all points, and nothing is printed."""
    assert points(RIGHT | {"more": 1}) == 4.0
    assert chosen(set("pqrs")) == chosen(frozenset("pqrs")) == 4.0
    assert capsys.readouterr().out == ""


def test_some_right_earn_a_part_beyond_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    """Four of six can be guessed; five earn half of the points, and their number is printed."""
    assert points(RIGHT | {"a": "down"}) == 2.0
    assert capsys.readouterr().out == "WAYS: 5 of 6 entries are right.\n"


def test_what_a_guess_gets_raises_with_its_number() -> None:
    with pytest.raises(AssertionError, match=r"2 of 6 entries are right. Points begin at 5, because fewer can"):
        points(dict.fromkeys(RIGHT, "left"))
    with pytest.raises(AssertionError, match=r"3 of 4 found, 1 false alarm. Points begin at"):
        chosen(set("pqrt"))


def test_more_entries_earn_nothing_where_names_tell_words() -> None:
    """What the author says can be guessed earns nothing, also where it is more than chance gets."""
    digests = {item: check.digest("", item, word) for item, word in LETTERS.items()}
    answer = LETTERS | dict.fromkeys("ghi", "u")
    assert check.menu(answer, digests, "uvw", 4.0, "LETTERS", salt="") == 1.0
    with pytest.raises(AssertionError, match=r"7 of 10 entries are right. Points begin at 8, because fewer can"):
        check.menu(answer, digests, "uvw", 4.0, "LETTERS", salt="", free=7)
    assert check.menu(LETTERS, digests, "uvw", 4.0, "LETTERS", salt="", free=7) == 4.0


def test_a_guess_is_worth_nothing() -> None:
    """Over all answers: one word for everything earns nothing, chance no more than a hundredth of the points."""
    free = menus.free_entries(DIGESTS, WORDS, "salt")
    rights = [sum(map(str.__eq__, guess, RIGHT.values())) for guess in itertools.product(WORDS, repeat=6)]
    assert sum(max(0, right - free) / (6 - free) for right in rights) / len(rights) <= 0.01
    same = {item: check.digest("salt", item, "up") for item in "abcdefgh"} | {"i": check.digest("salt", "i", "left")}
    assert menus.free_entries(same, WORDS, "salt") == 8
    free = menus.free_choices(4, 8)
    for size in range(1, 9):
        sets = [2 * len({*"pqrs"} & {*some}) - size for some in itertools.combinations(CODES, size)]
        assert sum(max(0, net - free) / (4 - free) for net in sets) / len(sets) <= 0.015


def test_hidden_notes_say_what_was_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    """What only the hidden tests know reaches the feedback, for the words that were chosen."""
    points(RIGHT | {"a": "down"}, {"a": {"down": "A rises.", "left": "A is no turn."}, "b": {"up": "B falls."}})
    assert capsys.readouterr().out.splitlines()[1:] == ["  'a': you said 'down'. A rises."]
    with pytest.raises(check.WrongAnswer) as caught:
        chosen(set("pqrt"), {"s": "look at s", "t": "T is innocent.", "p": "look at p"})
    assert str(caught.value).splitlines()[1:] == ["  't' is a false alarm: T is innocent.", "  Missed: look at s"]
    assert [one.misconception for one in caught.value.mismatches] == ["T is innocent.", "look at s"]


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (["up"], "not a dict"),
        ({"a": "up"}, "no entry for b, c, d, e, f"),
        (RIGHT | {"b": "Down"}, "not in the menu: b: 'Down'"),
        (RIGHT | {"b": "Down"}, "left. Capitals matter"),
        ({item.upper(): word for item, word in RIGHT.items()}, "no entry for a, b, c, d, e, f. Capitals matter"),
        (RIGHT | {"b": 3}, "not in the menu: b: 3"),
    ],
)
def test_what_is_no_menu_answer_is_named(answers: object, words: str) -> None:
    """A wrong form costs a sentence, not an entry."""
    with pytest.raises(AssertionError, match=words):
        points(answers)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (["p"], "a list is not a set of codes"),
        ({}, "write set()"),
        ({"P"}, "'P' is not on the menu. Capitals matter."),
        ({3}, "3 is not on the menu"),
        (set("xyz"), "set() splits a string"),
        ({"p, q"}, "That is more than one code"),
    ],
)
def test_what_is_no_choice_is_named(answers: object, words: str) -> None:
    with pytest.raises(AssertionError) as caught:
        chosen(answers)
    assert words in str(caught.value)


def test_words_cannot_be_read_from_the_test() -> None:
    """The same word has another digest for another item and another salt."""
    assert len({*DIGESTS.values(), check.digest("other", "a", "up")}) == 7
