"""Drawn cases: every mistake is shown, as often as asked, and never next to one that looks the same."""

from __future__ import annotations

import random

import pytest

from grader.exercises.drawing import Slips, same, telling_cases


def draw_case(draw: random.Random) -> tuple[int, int]:
    return draw.randint(0, 5), draw.randint(0, 5)


def total(one: int, other: int) -> int:
    return one + other


def slips(one: int, other: int) -> Slips:
    return [(one * other, "a product"), (one - other, "a difference"), (max(one, other), "the larger one")]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("times", [1, 3, 8])
def test_every_mistake_is_shown(seed: int, times: int) -> None:
    found = telling_cases(draw_case, total, slips, seed, times)
    for place in range(3):
        assert sum(wrong[place][0] != right for _, right, wrong in found) >= times
    for case, right, wrong in found:
        assert right == total(*case) and wrong == slips(*case)
        told = [(value, note) for value, note in wrong if value != right]
        assert len({value for value, _ in told}) == len(told)


def test_a_case_that_shows_nothing_new_is_not_asked() -> None:
    assert len(telling_cases(draw_case, total, slips, 1, 3)) <= 9


def test_another_seed_draws_other_cases() -> None:
    first, again, other = (telling_cases(draw_case, total, slips, seed) for seed in (1, 1, 2))
    assert first == again != other


def test_a_function_is_called_only_for_a_case_that_may_be_needed() -> None:
    drawn, computed = [], []

    def draw(source: random.Random) -> tuple[int, int]:
        drawn.append(draw_case(source))
        return drawn[-1]

    def counted(one: int, other: int) -> Slips:
        def always() -> int:
            computed.append((one, other))
            return one + other + 1

        def seldom() -> int:
            return one + other + 2 * (one == other == 5)

        return [(always, "one too many"), (seldom, "two fives")]

    found = telling_cases(draw, total, counted, 1)
    assert len(drawn) > 3 * len(computed)
    assert all(wrong[0] == (right + 1, "one too many") for _, right, wrong in found)


def test_what_cannot_be_shown_is_an_error() -> None:
    def unseen(one: int, other: int) -> Slips:
        return [*slips(one, other), (other + one, "the other way round")]

    with pytest.raises(RuntimeError, match="the other way round"):
        telling_cases(draw_case, total, unseen, 1)


def test_two_mistakes_that_are_told_the_same_may_look_the_same() -> None:
    def twice(one: int, other: int) -> Slips:
        return [(one * other, "a product"), (other * one, "a product")]

    assert telling_cases(draw_case, total, twice, 1)


def test_numbers_are_the_same_up_to_rounding_and_other_values_if_equal() -> None:
    assert same(0.1 + 0.2, 0.3) and not same(0.3, 0.31)
    assert same([1, "a"], [1, "a"]) and not same([1], [2]) and not same(None, 0.0)
