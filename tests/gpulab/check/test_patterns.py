"""What all numbers of a wrong answer have in common."""

import numpy as np
import pytest

from gpulab import check
from gpulab.check import WrongAnswer

RIGHT = np.array([1.0, 5.0, -2.0, 8.0], np.float32)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (2 * RIGHT, "All numbers are 2 times as large as expected."),
        (RIGHT / 1000, "All numbers are 0.001 times as large as expected."),
        (-RIGHT, "All numbers have the wrong sign."),
        (RIGHT + 3, "All numbers are 3 too large."),
        (RIGHT - 0.5, "All numbers are 0.5 too small."),
        (RIGHT[::-1].copy(), "They are the right numbers in reverse order."),
        (np.roll(RIGHT, 1), "They are the right numbers, each 1 place too far to the back."),
        (RIGHT[[1, 3, 0, 2]], "They are the right numbers in another order."),
    ],
)
def test_a_pattern_is_told_after_the_first_difference(answer, words):
    """The place of the first difference stays."""
    with pytest.raises(WrongAnswer, match=r"elements differ, the first at \[0\]") as caught:
        check.close(answer, RIGHT, "four numbers")
    assert str(caught.value).endswith(words)


def test_a_known_mistake_goes_without():
    """The note says what was done, so the pattern adds nothing."""
    with pytest.raises(WrongAnswer) as caught:
        check.close(2 * RIGHT, RIGHT, "four numbers", mistakes=[(2 * RIGHT, "Summed, not averaged.")])
    assert str(caught.value).endswith("Summed, not averaged.")


def test_two_dimensions():
    """A square array may be transposed, or turned along an axis."""
    square = np.arange(9.0).reshape(3, 3)
    with pytest.raises(WrongAnswer, match=r"It is the right array, transposed."):
        check.equal(square.T.copy(), square, "a square")
    with pytest.raises(WrongAnswer, match=r"The numbers of each row are in reverse order."):
        check.equal(square[:, ::-1].copy(), square, "a square")


def test_lists_count_as_well():
    """A list of numbers, and a shift by one item."""
    with pytest.raises(WrongAnswer, match=r"At \[0\]: 2 instead of 1. All numbers are 1 too large."):
        check.equal([2, 5, 11], [1, 4, 10], "three numbers")


def test_the_right_numbers_of_another_type_are_in_order():
    """Only their type is told."""
    whole = np.arange(5)
    with pytest.raises(WrongAnswer) as caught:
        check.equal(whole.astype(np.float32), whole, "whole numbers")
    assert str(caught.value).endswith("Its elements are float32 instead of int64.")
    with pytest.raises(WrongAnswer) as caught:
        check.equal([0.0, 1.0, 2.0], [0, 1, 2], "whole numbers")
    assert str(caught.value).endswith("expected an int, not a float.")


@pytest.mark.parametrize(
    "answer",
    [
        RIGHT * np.array([2, 2, 2, 3]),
        RIGHT + np.array([1, 1, 1, 0]),
        np.full(4, np.nan, np.float32),
        np.zeros(4, np.float32),
        RIGHT * np.float32(1.0001),
        RIGHT[:2],
    ],
)
def test_nothing_is_said_without_a_pattern(answer):
    """Nor of numbers that are off by rounding, are not finite, or are too few."""
    with pytest.raises(WrongAnswer) as caught:
        check.equal(answer, RIGHT, "four numbers")
    assert "All numbers" not in str(caught.value)
    assert "right numbers" not in str(caught.value)


def test_another_type_is_no_pattern():
    """The numbers are right, so nothing is said of their order."""
    with pytest.raises(WrongAnswer) as caught:
        check.equal(np.arange(5.0), np.arange(5), "five ints")
    assert str(caught.value).endswith("Its elements are float64 instead of int64.")


def test_a_matrix_upside_down_is_recognized_within_the_tolerance():
    """A kernel's sums differ from the expected ones in their last digits."""
    right = np.random.default_rng(5).random((6, 4)).astype(np.float32)
    with pytest.raises(WrongAnswer) as caught:
        check.close(np.flipud(right) * np.float32(1.0001), right, "a matrix", rtol=1e-3)
    assert str(caught.value).endswith("They are the right numbers in reverse order.")
