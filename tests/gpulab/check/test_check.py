"""`gpulab.check`: what passes, what does not, and the words that a student reads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from plain_values import WEIRD

from gpulab import check
from gpulab.check import values
from gpulab.unwritten import rubbish


def complaint(function: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """What the failing check says."""
    with pytest.raises(AssertionError) as caught:
        function(*arguments, **options)
    return str(caught.value)


class TestEqual:
    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            (3, 3),
            (np.int64(3), 3),
            (np.bool_(True), True),
            (np.float64(0.5), 0.5),
            (np.array(3), 3),
            (1, 1.0),
            (10**30, 10**30),
            ("a", "a"),
            (np.str_("a"), "a"),
            (None, None),
            ((1, [2, 3]), [1, (2, 3)]),
            ([np.int32(1), np.float64(2)], [1, 2.0]),
            ({3, 1, 2}, {1, 2, 3}),
            (frozenset({1}), {1}),
            ({(1, 2), (3, 4)}, {(3, 4), (1, 2)}),
            ({"b": [1], "a": 2}, {"a": 2, "b": [1]}),
            (float("nan"), float("nan")),
            (torch.Size([2, 3]), (2, 3)),
            (np.arange(3), np.arange(3)),
            (torch.arange(3), np.arange(3)),
            (np.zeros((0, 2)), np.zeros((0, 2))),
            (torch.ones(2, dtype=torch.bfloat16), np.ones(2, np.float32)),
        ],
    )
    def test_same_value_passes(self, answer: Any, expected: Any) -> None:
        check.equal(answer, expected, "value")

    @pytest.mark.parametrize(
        ("answer", "expected", "words"),
        [
            (4, 3, "value: you returned 4, expected 3."),
            (3.0, 3, "You returned a float (3.0), expected an int."),
            (True, 1, "You returned a bool (True), expected an int."),
            (1, True, "You returned an int (1), expected a bool."),
            ("3", 3, "You returned a str ('3'), expected an int."),
            (None, 3, "You returned None: is there a return statement, and is it reached?"),
            (..., 3, "the blank is still there"),
            (len, 3, "was it called?"),
            (torch.tensor([3]), 3, ".item()"),
            (np.arange(2), [0, 1], ".tolist()"),
            (np.arange(2), (np.arange(2), 1), "You returned a NumPy array, expected a tuple."),
            ([1, 2], {1, 2}, "You returned a list, expected a set."),
            ({1, 2}, [1, 2], "You returned a set, expected a list."),
            ([1, 2], [1, 2, 3], "It has 2 items instead of 3."),
            ([1], [], "It has 1 item instead of 0."),
            ([1, [2, 3]], [1, [2, 4]], "At [1][1]: 3 instead of 4."),
            ({"a": {"b": 1}}, {"a": {"b": 2}}, "At ['a']['b']: 1 instead of 2."),
            ([{"a": 1}], [{"a": 1, "b": 2}], "At [0]: Missing keys: 'b'."),
            ((60.0, 2), (60, 2), "At [0]: 60.0 instead of 60: expected an int, not a float."),
            ({1: "x"}, {1: "x", 2: "y"}, "Missing keys: 2."),
            ({"x": 1, "y": 2}, {"x": 1}, "Unexpected keys: 'y'."),
            ({1, 2}, {2, 3}, "Missing: 3. Unexpected: 1."),
            ({True}, {1}, "Missing: 1. Unexpected: True."),
            ({1.0}, {1}, "Missing: 1. Unexpected: 1.0."),
            ("Threads", "threads", "Capitals and spaces matter."),
            (np.zeros((2, 3)), np.zeros((3, 2)), "Its shape is (2, 3) instead of (3, 2)."),
            (np.array([1, 2, 9]), np.array([1, 2, 3]), "1 of 3 elements differs at [2]: 9 instead of 3."),
            (np.array([9]), np.array([3]), "The only element differs at [0]: 9 instead of 3."),
            (np.ones(2), np.ones(2, int), "Its elements are float64 instead of int64."),
            (np.ones(2, bool), np.ones(2), "Its elements are bool instead of float64."),
            (1.0 + 1e-12, 1.0, "you returned 1.000000000001, expected 1.0."),
            (1.0, float("nan"), "you returned 1.0, expected nan."),
        ],
    )
    def test_other_value_fails_and_says_why(self, answer: Any, expected: Any, words: str) -> None:
        assert words in complaint(check.equal, answer, expected, "value")

    def test_sets_of_floats_accept_ints(self) -> None:
        check.equal({1, 2}, {1.0, 2.0}, "value")

    def test_names_the_misconception(self) -> None:
        mistakes = {40: "every thread pays for itself", 30: "a warp walks all branches"}
        said = complaint(check.equal, 30, 10, "two warps", mistakes)
        assert said == "two warps: you returned 30, expected 10. a warp walks all branches"

    def test_first_matching_misconception_wins(self) -> None:
        said = complaint(check.equal, [1], [2], "value", [([1], "first"), ([1], "second")])
        assert said.endswith("first")

    def test_misconception_that_is_right_here_is_not_named(self) -> None:
        """On an input where wrong and right coincide, the mistake cannot be the reason."""
        said = complaint(check.equal, 10.0, 10, "value", {10: "pays per thread"})
        assert "pays per thread" not in said
        check.equal(10, 10, "value", {10: "pays per thread"})

    def test_misconception_is_recognized_by_value_whatever_its_type(self) -> None:
        assert "forgot" in complaint(check.equal, np.float64(5.0), 4, "value", {5: "forgot"})

    def test_long_values_are_elided(self) -> None:
        said = complaint(check.equal, list(range(1000)), ["x" * 5000], "value")
        assert len(said) < 800
        assert "(1000 items)" in said
        assert "(5000 characters)" in said

    def test_an_object_equal_to_everything_is_refused(self) -> None:
        for name in ("always equal", "lying int", "of lying type", "lying array", "lying tensor"):
            with pytest.raises(AssertionError):
                check.equal(WEIRD[name](), 3, name)

    def test_subclass_is_compared_by_what_it_holds(self) -> None:
        """A subclass of int counts as the int that it holds, not as what its own methods say."""
        check.equal(WEIRD["lying int"](), 5, "value")


class TestClose:
    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            (1.0 + 1e-10, 1.0),
            (1, 1.0),
            (1.0, 1),
            ([1.0, 2], [1, 2 + 1e-10]),
            ({"a": 1.0}, {"a": 1.0 + 1e-10}),
            (float("inf"), float("inf")),
            (10**400, 10**400),
            (10**400 + 1, 10**400),
            (1e308, 1e308 * (1 + 1e-12)),
            (1j, 1j + 1e-12),
            (np.ones(3) + 1e-12, np.ones(3)),
            (torch.ones(3, dtype=torch.float64) + 1e-12, np.ones(3)),
            (np.array([np.nan, np.inf]), np.array([np.nan, np.inf])),
            ("a", "a"),
            (None, None),
        ],
    )
    def test_near_value_passes(self, answer: Any, expected: Any) -> None:
        check.close(answer, expected, "value")

    @pytest.mark.parametrize(
        ("answer", "expected", "words"),
        [
            (1.1, 1.0, "value: you returned 1.1, expected 1.0."),
            (float("nan"), 1.0, "not a finite number"),
            (float("inf"), 1.0, "not a finite number"),
            (float("-inf"), float("inf"), "you returned -inf, expected inf."),
            (True, 1.0, "You returned a bool (True), expected a float."),
            ("1.0", 1.0, "You returned a str ('1.0'), expected a float."),
            (None, 1.0, "is there a return statement, and is it reached?"),
            (10**400, 1.0, "an int of 1329 bits"),
            (1 + 0j, 1.0, "You returned a complex"),
            ([1.0, 5.0], [1.0, 2.0], "At [1]: 5.0 instead of 2.0."),
            ([1.0], np.ones(1), "You returned a list, expected a NumPy array."),
            (np.ones((3, 1)), np.ones(3), "Its shape is (3, 1) instead of (3,)."),
            (np.array([1, np.nan]), np.ones(2), "1 of 2 elements differs at [1]: nan instead of 1.0."),
            (np.array([1, np.inf]), np.ones(2), "differs at [1]: inf instead of 1.0."),
        ],
    )
    def test_far_value_fails_and_says_why(self, answer: Any, expected: Any, words: str) -> None:
        assert words in complaint(check.close, answer, expected, "value")

    @pytest.mark.parametrize("kind", ["float32", "float64", "int32"])
    def test_an_element_that_no_thread_wrote_is_told_from_a_wrong_one(self, kind: str) -> None:
        answer = rubbish(4, np.dtype(kind))
        answer[:3] = 1
        note = "That is what gpulab.empty fills arrays with"
        assert note in complaint(check.close, answer, np.ones(4, kind), "value")
        answer[3] = 0 if kind == "int32" else np.nan
        assert note not in complaint(check.close, answer, np.ones(4, kind), "value")

    def test_tolerances_are_those_asked_for(self) -> None:
        check.close(102.0, 100.0, "value", rtol=0.02)
        complaint(check.close, 102.1, 100.0, "value", rtol=0.02)
        check.close(0.5, 0.0, "value", atol=0.5)
        complaint(check.close, 0.5, 0.0, "value")

    def test_misconception_is_recognized_within_the_tolerance(self) -> None:
        said = complaint(check.close, 9.75 * (1 + 1e-8), 19.5, "value", mistakes={9.75: "an FMA is two FLOPs"})
        assert said.endswith("an FMA is two FLOPs")

    def test_difference_below_six_digits_is_shown(self) -> None:
        assert "you returned 1.00000001, expected 1.0." in complaint(check.close, 1.00000001, 1.0, "value")


class TestWithin:
    def test_ratio_decides(self) -> None:
        check.within(10.0, 29.9, "bandwidth", factor=3)
        check.within(np.float32(29.9), 10, "bandwidth", factor=3)
        assert complaint(check.within, 12.0, 24.6, "bandwidth", factor=1.15) == (
            "bandwidth: you returned 12.0, expected 24.6 within a factor of 1.15. Yours is 0.487805 times that."
        )

    @pytest.mark.parametrize("answer", [0, -1.0, float("nan"), float("inf"), 10**400, None, "9", True, [9.0]])
    def test_no_rate_at_all_is_refused(self, answer: Any) -> None:
        assert complaint(check.within, answer, 9.0, "bandwidth", factor=3).startswith("bandwidth: you returned")

    def test_names_the_misconception(self) -> None:
        said = complaint(check.within, 5.1, 10.0, "copy", factor=1.15, mistakes={5.0: "a copy reads and writes"})
        assert said.endswith("a copy reads and writes")


class TestShare:
    right = {"download": "coroutines", "resize": "processes", "query": "threads", "hash": "processes"}  # noqa: RUF012 - never changed

    def test_all_right_earns_exactly_the_points(self, capsys: pytest.CaptureFixture[str]) -> None:
        earned = check.share(dict(self.right), self.right, 2, "WORKERS")
        assert earned == 2.0
        assert type(earned) is float
        assert capsys.readouterr().out == ""

    def test_each_item_counts_the_same(self, capsys: pytest.CaptureFixture[str]) -> None:
        answers = {**self.right, "resize": "threads"}
        earned = check.share(answers, self.right, 2, "WORKERS", {"resize": {"threads": "the GIL lets one compute"}})
        assert earned == 1.5
        assert type(earned) is float
        assert capsys.readouterr().out == (
            "WORKERS: 3 of 4 right.\n  'resize': you said 'threads'. the GIL lets one compute\n"
        )

    def test_missing_and_extra_keys_are_named(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert check.share({"download": "coroutines", "tea": 1}, self.right, 2, "WORKERS") == 0.5
        said = capsys.readouterr().out
        assert "'resize': no answer." in said
        assert "Not asked for: 'tea'." in said

    def test_extra_keys_alone_cost_nothing(self) -> None:
        assert check.share({**self.right, "tea": 1}, self.right, 2, "WORKERS") == 2.0

    def test_nothing_right_fails_and_says_why(self) -> None:
        said = complaint(check.share, {"resize": "threads"}, self.right, 2, "W", {"resize": {"threads": "the GIL"}})
        assert said.startswith("W: none of the 4 is right.")
        assert "the GIL" in said

    def test_not_a_dict_fails(self) -> None:
        assert "You returned a list, expected a dict." in complaint(check.share, ["threads"], self.right, 2, "W")

    def test_wrong_answers_do_not_tell_the_right_ones(self, capsys: pytest.CaptureFixture[str]) -> None:
        check.share({**self.right, "hash": "threads"}, {**self.right, "hash": "fibres"}, 2, "W")
        assert "fibres" not in capsys.readouterr().out


class TestRaises:
    def test_right_exception_passes(self) -> None:
        check.raises(ValueError, int, "x")
        check.raises((KeyError, ValueError), int, "x")

    def test_none_or_another_fails(self) -> None:
        assert complaint(check.raises, ValueError, int, "3") == (
            "called with '3': you returned 3, expected ValueError. It should have raised an exception."
        )
        assert (
            complaint(check.raises, KeyError, int, "x") == "called with 'x': it raised ValueError, expected KeyError."
        )
        assert "it raised SystemExit" in complaint(check.raises, KeyError, sys.exit)


EXPECTED = [
    None,
    True,
    3,
    10**500,
    1.0,
    float("nan"),
    float("inf"),
    1 + 2j,
    "a",
    b"a",
    [1, 2.5],
    (1, [2]),
    {1, 2.5, "x"},
    {"a": 1.0, "b": [2]},
    [],
    np.ones((2, 3)),
    np.array([True, False]),
    np.arange(3),
    torch.ones(3),
]


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit itself is tested in test_values; here it would only take its time."""
    monkeypatch.setattr(values, "MAX_PARTS", 5_000)


def survives(function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """The check passes, or raises AssertionError with words of reasonable length."""
    try:
        function(*arguments, **options)
    except AssertionError as error:
        assert str(error)
        assert len(str(error)) < 1500


@pytest.mark.parametrize("name", WEIRD)
def test_whatever_comes_back_a_check_passes_or_raises_assertion_error(name: str) -> None:
    mistakes = [(WEIRD[other](), other) for other in ("NaN", "int array", "nested", "tensor", "huge int")]
    right = {"a": "threads", "b": 2}
    for expected in EXPECTED:
        for function in (check.equal, check.close):
            survives(function, WEIRD[name](), expected, "value", mistakes=mistakes)
            survives(function, [WEIRD[name]()], [expected], "value")
        survives(check.close, {"a": WEIRD[name]()}, {"a": expected}, "value", rtol=0.1, atol=1e300)
    survives(check.within, WEIRD[name](), 3.0, "value", factor=2, mistakes={1.5: "half"})
    survives(check.share, WEIRD[name](), right, 2, "value")
    survives(check.share, {"a": WEIRD[name](), "b": 2}, right, 2, "value", {"a": {"x": "y"}})
    survives(check.share, {"a": WEIRD[name](), "c": WEIRD[name]()}, right, 2, "value")
    survives(check.raises, ValueError, lambda: WEIRD[name]())


def test_a_mistake_is_named_by_the_answers_to_all_calls() -> None:
    """[60, 30] is another mistake than [60, 60]; a call without a known pattern has mistakes of its own."""
    known = [([60, 30], "swapped"), ([60, 60], "always the device's")]
    for answers, words in (([60, 30], "swapped"), ([60, 60], "always"), ([30, 7], "seven"), ([30, None], "return")):
        with pytest.raises(check.WrongAnswer, match=words):
            check.series(answers, [30, 60], ["on the GPU", "on the CPU"], known, each=[None, {7: "seven"}])
    check.series([30, np.int64(60)], [30, 60], ["on the GPU", "on the CPU"], known)
    check.series([30, 60 + 1e-12], [30.0, 60.0], ["on the GPU", "on the CPU"], known, rtol=1e-9)
    with pytest.raises(check.WrongAnswer, match=r"on the CPU: you returned 60\.0"):
        check.series([30, 60.0], [30, 60], ["on the GPU", "on the CPU"], known)


def test_a_named_mistake_answers_the_question_about_elements_that_were_never_written() -> None:
    """Two arrays that begin alike: the place of the difference and the mistake are told, without a second guess."""
    right = np.arange(100, dtype=np.float32)
    answer = right.copy()
    answer[50:] = rubbish(50, np.dtype(np.float32))
    nothing = complaint(check.equal, answer, right, "copy")
    named = complaint(
        check.equal, answer, right, "copy", [(np.where(right < 50, right, np.float32(np.nan)), "Half a grid.")]
    )
    assert "the first at [50]" in nothing and "has any thread written" in nothing
    assert named.endswith("instead of 50.0. Half a grid.")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (1, "you returned 1, expected a dict with the keys 'low', 'high'."),
        (None, "you returned None, expected a dict with the keys 'low', 'high'. Is there a return statement?"),
        (
            [1, 2],
            "you returned [1, 2], expected a dict with the keys 'low', 'high'. A list has no keys: return a dict.",
        ),
        ({}, "you returned {}, expected a dict with the keys 'low', 'high'. Missing: 'low', 'high'."),
        (
            {"low": 1, "hihg": 2},
            "you returned a dict with the keys 'low', 'hihg', expected a dict with the keys 'low', 'high'."
            " Missing: 'high'. Not asked for: 'hihg'.",
        ),
    ],
)
def test_keys_says_what_is_missing(answer: Any, told: str) -> None:
    check.keys({"high": 2, "low": 1}, ["low", "high"], "f()")
    with pytest.raises(check.WrongAnswer) as failed:
        check.keys(answer, ["low", "high"], "f()")
    assert str(failed.value) == f"f(): {told}"


@pytest.mark.parametrize(
    ("answer", "value", "right"),
    [
        (np.float32(0.5), 0.5, True),
        (np.zeros(3), 0, False),
        (torch.ones(2), 1.0, False),
        ([np.int64(1), 2], [1, 2], True),
        (np.array([1, 2]), [1, 2], False),
        (np.array([1, 2]), np.array([1, 2]), True),
        (None, 0, False),
        (True, 1, False),
    ],
)
def test_whether_an_answer_is_a_value_can_be_asked_of_an_array_too(answer: object, value: object, right: bool) -> None:
    assert check.is_equal(answer, value) is right
