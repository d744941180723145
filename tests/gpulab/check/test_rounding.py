"""An answer that was rounded is told so, whatever was asked."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gpulab import check

ASKED = "Is it rounded?"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (3, 3.4567),
        (3.46, 3.4567),
        (int(-3.97), -3.97),
        ([1.5, 2.33], [1.5, 2.3333]),
        ({"share": 0.667, "kind": "rows"}, {"share": 2 / 3, "kind": "rows"}),
        ({"ms": [1.0, 2.0]}, {"ms": [1.25, 2.4]}),
    ],
)
def test_a_rounded_answer_is_told_so(answer: Any, expected: Any) -> None:
    with pytest.raises(check.WrongAnswer, match=ASKED.replace("?", r"\?")):
        check.close(answer, expected, "a number")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(0, 0.25), (4.1, 3.4567), (3.46, float("inf")), (3, float("nan")), ([1.5], [1.49, 2.0]), ("3", 3.4), (None, 3.4)],
)
def test_no_other_answer_is(answer: Any, expected: Any) -> None:
    with pytest.raises(check.WrongAnswer) as wrong:
        check.close(answer, expected, "a number")
    assert ASKED not in str(wrong.value)


@pytest.mark.parametrize(("answer", "expected"), [(0.8, 0.76), (1.0, 0.6), ([2.0, 3.1], [2.0, 3.14]), (3, 3.9)])
def test_a_number_of_which_one_digit_is_gone_may_have_another_reason(answer: Any, expected: Any) -> None:
    test_no_other_answer_is(answer, expected)


def test_a_known_mistake_with_the_same_value_comes_first() -> None:
    with pytest.raises(check.WrongAnswer, match=r"Divide by 8\. Or is it rounded\?$"):
        check.close(2.0, 2.0625, "bytes", mistakes={2.0: "Divide by 8."})
    with pytest.raises(check.WrongAnswer, match=r"Do not round\.$"):
        check.close(2.0, 2.0625, "bytes", mistakes={2.0: "Do not round."})


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(915108480.0, 915108422.4), ([0.5, 0.10000000149011612], [0.5, 0.1]), ({"us": 0.30000001192092896}, {"us": 0.3})],
)
def test_an_answer_with_the_digits_of_a_float32_is_told_so(answer: Any, expected: Any) -> None:
    with pytest.raises(check.WrongAnswer, match="digits of a float32"):
        check.close(answer, expected, "a number")


@pytest.mark.parametrize(("answer", "expected"), [(0.10000000150, 0.1), (0.25, 0.2500003), (1e300, 1.1e300), (1, 1.5)])
def test_other_digits_are_not(answer: Any, expected: Any) -> None:
    with pytest.raises(check.WrongAnswer) as wrong:
        check.close(answer, expected, "a number")
    assert "float32" not in str(wrong.value)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_an_array_of_16_bits_is_told_so(kind: torch.dtype) -> None:
    right = torch.linspace(0.1, 3, 50)
    with pytest.raises(check.WrongAnswer, match="fits into 16 bits"):
        check.close(right.to(kind).float(), right, "fifty numbers", rtol=1e-5)


def test_whole_numbers_and_numbers_far_off_are_not() -> None:
    right = torch.arange(50.0) + 0.001
    for answer in (torch.arange(50.0), (2 * right).half().float(), right.double().numpy() + 1e-3):
        with pytest.raises(check.WrongAnswer) as wrong:
            check.close(answer, right, "fifty numbers", rtol=1e-7)
        assert "16 bits" not in str(wrong.value)
