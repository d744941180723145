"""Which elements of a wrong array are wrong, and what they hold."""

import numpy as np
import pytest

from gpulab import check
from gpulab.check import WrongAnswer

DRAW = np.random.default_rng(7)
VECTOR, MATRIX, HEADS = DRAW.random(328) + 1, DRAW.random((70, 45)) + 1, DRAW.random((2, 21, 16)) + 1
PLACE = np.arange(328)


def told(answer, right):
    """The message about a wrong answer."""
    with pytest.raises(WrongAnswer) as caught:
        check.close(answer, right, "an array", rtol=1e-6)
    return str(caught.value)


def only(where, held, right=VECTOR):
    """The right array, with something else in some places."""
    return np.where(where, held, right)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (only(PLACE >= 256, np.nan), "Only the last 72 elements are wrong. All wrong elements are NaN."),
        (only(PLACE == 327, 9), "Only the last element is wrong."),
        (only(PLACE < 128, 0), "Only the first 128 elements are wrong. All wrong elements are 0."),
        (only(PLACE >= 128, VECTOR[PLACE % 128]), "Each run of 128 elements repeats the first 128."),
        (only(PLACE % 2 == 1, 2 * VECTOR), "Only every other element is wrong: 1, 3, … All wrong elements are 2 times"),
        (only(PLACE % 32 != 0, 0), "Only one element in 32 is right: 0, 32, … All wrong elements are 0."),
        (only(PLACE % 64 >= 61, VECTOR - 1), "In each run of 64 elements, only the last 3 are wrong. All wrong"),
        (only(PLACE > 2, np.roll(VECTOR, 3)), "Each wrong element holds the right number of the element 3 before it."),
        (
            only((PLACE > 8) & (PLACE < 90), -VECTOR),
            "Only the elements from 9 to 89 are wrong. All wrong elements have",
        ),
        (VECTOR[PLACE // 16 * 16], "Each run of 16 elements repeats its first number."),
    ],
)
def test_a_vector(answer, words):
    """The end, a run, every second element; another element's number, a constant, a factor."""
    assert words in told(answer, VECTOR)


@pytest.mark.parametrize(
    ("where", "held", "words"),
    [
        (np.s_[64:], np.nan, "Only the last 6 rows are wrong. All wrong elements are NaN."),
        (np.s_[:, 32:], 0, "Only the last 13 columns are wrong. All wrong elements are 0."),
        (np.s_[5], 7, "Only row 5 is wrong. All wrong elements are 7."),
        (np.s_[1:], MATRIX[:-1], "Each wrong element holds the right number of the row just before it."),
        (np.s_[:], MATRIX[:1], "All rows are the same as the first row should be."),
        (np.triu_indices(70, 1, 45), 0, "Only the elements above the diagonal are wrong."),
    ],
)
def test_a_matrix(where, held, words):
    """Rows, columns, or one side of the diagonal."""
    answer = MATRIX.copy()
    answer[where] = held
    assert words in told(answer, MATRIX)


def test_more_dimensions():
    """An axis is named by its number."""
    answer = HEADS.copy()
    answer[1] = HEADS[0]
    words = "Only the last part along axis 0 is wrong. Each wrong element holds the right number of the element 1"
    assert words in told(answer, HEADS)


def test_nothing_is_said_of_places_without_an_order():
    """Nor of a known mistake."""
    some = only(DRAW.random(328) < 0.5, DRAW.random(328))
    assert "Only" not in told(some, VECTOR)
    assert "wrong element" not in told(some, VECTOR)
    with pytest.raises(WrongAnswer) as caught:
        check.close(only(PLACE >= 256, 0), VECTOR, "an array", mistakes=[(only(PLACE >= 256, 0), "The last block.")])
    assert "Only" not in str(caught.value)
