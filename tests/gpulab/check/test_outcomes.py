"""What a test concludes travels in fields: mismatches of a wrong answer, and why points are pending."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from gpulab import NeedsGPU, check
from gpulab.backend import Backend, use
from gpulab.check import services
from gpulab.check.outcomes import Mismatch, Undecided, WrongAnswer, collecting
from gpulab.measuring.speedup import Noisy


def wrong(function: Callable[..., Any], *arguments: Any) -> WrongAnswer:
    with pytest.raises(WrongAnswer) as caught:
        function(*arguments)
    return caught.value


def test_a_wrong_answer_has_fields_and_the_message_of_before() -> None:
    error = wrong(check.equal, 3, 4, "warps in 128 threads", {3: "Divide by 32."})
    assert (error.what, error.got, error.expected, error.misconception) == (
        "warps in 128 threads",
        "3",
        "4",
        "Divide by 32.",
    )
    assert str(error) == "warps in 128 threads: you returned 3, expected 4. Divide by 32."
    assert isinstance(error, AssertionError)


def test_what_no_mistake_names_has_the_difference() -> None:
    error = wrong(check.close, [1.0, 2.5], [1.0, 2.0], "two")
    assert error.mismatches == (Mismatch("two", "[1.0, 2.5]", "[1.0, 2.0]", "", "At [1]: 2.5 instead of 2.0."),)


def test_a_measured_value_has_its_ratio_or_its_mistake() -> None:
    error = wrong(check.within, 9.0, 3.0, "GB/s", 2, {9.2: "Both ways."})
    assert (error.expected, error.misconception) == ("3.0 within a factor of 2", "Both ways.")
    assert wrong(check.within, 9.0, 3.0, "GB/s", 2).mismatches[0].difference == "Yours is 3.0 times that."


def test_the_other_checks_have_fields_too() -> None:
    none = wrong(check.share, {"a": "x"}, {"a": "y", "b": "z"}, 2, "KINDS", {"a": {"x": "No."}})
    assert none.mismatches == (
        Mismatch("'a'", "'x'", "'y'", "No."),
        Mismatch("'b'", "", "'z'", "", "'b': no answer."),
    )
    assert wrong(check.share, [], {"a": 1}, 2, "KINDS").expected == "a dict with 1 items"
    raised = wrong(check.raises, KeyError, int, "x")
    assert (raised.got, raised.expected) == ("ValueError", "KeyError")
    assert wrong(check.raises, KeyError, int, "3").got == "3"
    endless: list[Any] = []
    endless.append(endless)
    assert "cannot be compared" in wrong(check.equal, endless, [], "a list").mismatches[0].difference


def test_fields_survive_pickling() -> None:
    """Exceptions travel between processes."""
    error = wrong(check.equal, 3, 4, "one", {3: "Off by one."})
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.mismatches) == (WrongAnswer, str(error), error.mismatches)


def test_an_answer_that_is_partly_right_is_recorded_where_somebody_collects(capsys: pytest.CaptureFixture[str]) -> None:
    right = {"a": 1, "b": 2}
    with collecting() as found:
        assert check.share({"a": 1, "b": 3, "c": 4}, right, 2, "KINDS") == 1.0
    assert found == [
        Mismatch("'b'", "3", "2"),
        Mismatch("KINDS", "['c']", difference="Not asked for: 'c'."),
    ]
    check.share({"a": 1, "b": 3}, right, 2, "KINDS")
    assert len(found) == 2
    assert "1 of 2 right" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "verdict", "cause"), [(NeedsGPU, "needs a GPU", ""), (Noisy, "harness error", "too noisy to tell")]
)
def test_pending_points_say_their_verdict(error: type[Undecided], verdict: str, cause: str) -> None:
    assert issubclass(error, Undecided)
    assert (error.verdict, error.cause) == (verdict, cause)


def test_services_are_free_in_a_notebook_and_declared_in_a_judge() -> None:
    services.require("counting")
    with use(Backend(services=frozenset({"speedup"}))):
        services.require("speedup")
        with pytest.raises(services.Undeclared, match=r'counting\. Add ":needs: counting" below the points'):
            services.require("counting")
    services.require("counting")
