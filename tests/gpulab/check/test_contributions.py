"""How often each number counts in a wrong sum, and where a misplaced number comes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from gpulab.check import contributions

Array = NDArray[np.float64]


def numbers(length: int) -> Array:
    return (np.arange(length) * 7919 % 4001 - 1500).astype(np.float64)


def each(call: Callable[[Array], float]) -> contributions.Calls:
    return lambda inputs: [call(x) for x in inputs]


def told(length: int, times: Array, steps: slice | None = None, right: int = 1) -> str:
    """What is said of a sum in which the elements count so often."""
    x = numbers(length)
    return contributions.in_sum(each(lambda x: float(x @ times)), x, float(x @ times), right, "the sum", steps=steps)


@pytest.mark.parametrize("length", [100, 1500])
def test_missing_and_repeated_elements_are_named(length: int) -> None:
    place = np.arange(length)
    assert told(length, np.where(place < 32, 0, 1)) == "In the sum, x[0] to x[31] are missing."
    assert told(length, np.where(place == 40, 2, 1)) == "In the sum, x[40] counts twice, not once."
    assert told(length, np.where(place % 4, 0, 1)) == "In the sum, all elements but x[0], x[4], x[8], … are missing."
    assert not told(length, np.ones(length))


def test_signs_and_elements_that_do_not_belong_are_named() -> None:
    place = np.arange(9)
    assert told(9, np.where(place == 1, -1, 1)) == "In the sum, x[1] is subtracted."
    assert told(9, 1 * (place == 3), right=0) == "In the sum, x[3] counts, but does not belong there."


def test_the_distances_of_the_steps_are_named() -> None:
    place = np.arange(256)
    short = told(256, 1.0 * (place % 32 == 0), slice(256))
    assert short.endswith("That is what steps with the distances 32, 64 and 128 give.")
    assert contributions.distances(np.ones(256)) == [1, 2, 4, 8, 16, 32, 64, 128]
    assert contributions.distances(1 - place) is None


@pytest.mark.parametrize("call", [lambda x: float(x @ x), lambda x: 1.0 + x.sum(), lambda x: float("nan")])
def test_nothing_is_said_of_other_results(call: Callable[[Array], float]) -> None:
    x = numbers(50)
    assert not contributions.in_sum(each(call), x, call(x), 1, "the sum")


def test_nothing_is_said_if_the_answer_does_not_take_other_inputs() -> None:
    def refuse(x: Array) -> float:
        raise ValueError

    assert not contributions.in_sum(each(refuse), numbers(5), 1.0, 1, "the sum")


@pytest.mark.parametrize("length", [100, 1500])
def test_a_few_lists_of_inputs_are_enough(length: int) -> None:
    handed: list[int] = []

    def calls(inputs: Sequence[Array]) -> list[float]:
        handed.append(len(inputs))
        return [float(x[3:].sum()) for x in inputs]

    x = numbers(length)
    assert contributions.in_sum(calls, x, float(x[3:].sum()), 1, "the sum")
    assert len(handed) <= 2 and sum(handed) < 30


def test_counts_of_different_values() -> None:
    assert not contributions.in_counts(lambda x, bins: np.bincount(x, minlength=bins))
    said = contributions.in_counts(lambda x, bins: np.bincount(x[1:], minlength=bins))
    assert said == "Of 1,000 different values: In the counts, x[0] is missing."


def test_where_a_misplaced_number_comes_from() -> None:
    x = np.arange(6.0).reshape(2, 3)
    wrong = x.T.copy()
    wrong[0, 1] = 5
    assert contributions.came_from(wrong, x.T, x) == "Element [0, 1] of the result is x[1, 2]: x[1, 0] belongs there."
    assert not contributions.came_from(x.T + 0.5, x.T, x)
    assert not contributions.came_from(x, x.T, x)
