"""What is said of numbers that follow from the expected ones by a function, or by a number for each row."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gpulab import check
from gpulab.check.relations import by_line, of_each

WAVE = 3 * np.sin(np.arange(1.0, 40.0))
MATRIX = np.arange(12.0).reshape(3, 4) ** 2 + 1


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (np.maximum(WAVE, 0), "that should be negative is 0"),
        (np.minimum(WAVE, 0), "that should be positive is 0"),
        (abs(WAVE), "absolute value"),
        (np.trunc(WAVE), "without its decimals"),
        (np.round(WAVE), "rounded to a whole number"),
        (np.floor(WAVE), "rounded down"),
        (np.minimum(WAVE, 2.0), "that should be above 2 is 2"),
        (np.maximum(WAVE, -1.5), "that should be below -1.5 is -1.5"),
        (1 - WAVE, "1 minus"),
        (WAVE**2, "square of"),
        (1 / WAVE, "reciprocal"),
        (np.exp(WAVE), "exponential"),
    ],
)
def test_a_function_of_each_number_is_named(made: np.ndarray, words: str) -> None:
    """The first function that gives all of them."""
    assert words in of_each(made, WAVE)


def test_numbers_that_no_function_gives_are_left_alone() -> None:
    """Nor those that are right, nor a constant."""
    assert of_each(WAVE[::-1], WAVE) == of_each(WAVE, WAVE) == of_each(0 * WAVE + 3, WAVE) == ""
    assert of_each(np.arange(9.0), np.arange(9.0) + 1e-7) == ""


def test_a_number_of_its_own_for_each_line_is_told() -> None:
    """A factor or a difference, of rows or of columns."""
    own = np.array([1.0, 2.0, 3.0])[:, None]
    assert by_line(MATRIX * own, MATRIX) == (
        "Each row is the right one times a number of its own: 1 in [0], 2 in [1], 3 in [2]."
    )
    assert by_line(MATRIX + own, MATRIX).startswith("In each row, all numbers are off by the same amount: 1 in [0]")
    assert by_line(MATRIX.T * own.T, MATRIX.T).startswith("Each column is the right one times a number")
    assert by_line(MATRIX + MATRIX**2, MATRIX) == by_line(MATRIX, MATRIX) == ""


def test_a_coarser_type_is_named() -> None:
    """Also in a tuple; not where the numbers differ by more."""
    right = torch.rand(50)
    with pytest.raises(check.WrongAnswer, match="are float16, which has too few digits: they should be float32"):
        check.close(right.half(), right, "it", rtol=1e-5)
    with pytest.raises(check.WrongAnswer, match="are float32, which has too few digits"):
        check.close((WAVE.astype(np.float32), 3.3), (WAVE, 3.3), "it")
    with pytest.raises(check.WrongAnswer) as caught:
        check.close((1.1 * right).half(), right, "it", rtol=1e-5)
    assert "digits" not in str(caught.value)
