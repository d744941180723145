"""What a student reads of an exception that their code raised."""

from __future__ import annotations

from typing import cast

import pytest

from grader.judging.judge import classify
from grader.judging.judge_client import Link, StudentError, raised
from grader.judging.shell import message_of
from grader.model.results import Verdict


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("list index out of range", "IndexError: list index out of range"),
        ("IndexError: twice", "IndexError: twice"),
        ("", "IndexError"),
        (
            "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU.",
            'IndexError: there is no GPU here, so nothing can be pinned or put on "cuda". Ask first: '
            "pin_memory=torch.cuda.is_available(), device=gpulab.device().",
        ),
    ],
)
def test_an_exception_is_told_in_a_sentence(text: str, told: str) -> None:
    assert StudentError("IndexError", text, "line 1").told() == told


def test_numba_without_a_gpu() -> None:
    text = "Error at driver init: \nCUDA driver library cannot be found.\nEnsure that a compatible driver is installed"
    told = StudentError("CudaSupportError", text, "line 7: cuda.detect()").told()
    assert told.startswith("CudaSupportError: numba.cuda needs a GPU for this, and there is none here.")


@pytest.mark.parametrize(
    ("place", "told"),
    [
        (
            "line 7: add[-(-n // 128), 128](x, out)",
            "'add' is an ordinary function. A kernel needs a decorator above it",
        ),
        ("line 7: first = numbers[0]", "'function' object is not subscriptable"),
    ],
)
def test_a_launch_of_what_is_no_kernel(place: str, told: str) -> None:
    error = StudentError("TypeError", "'function' object is not subscriptable", place)
    assert error.told().startswith(f"TypeError: {told}")


def test_a_missing_key_is_quoted_once() -> None:
    with pytest.raises(KeyError) as error:
        raise raised(["KeyError", "'dur'", "line 2"])
    assert str(error.value) == "'dur'"


def test_of_an_exporters_report_the_cause_is_kept_and_colors_are_not() -> None:
    report = (
        "Failed to export the model with torch.export. \x1b[96mThis is step 1/3\x1b[0m of exporting the model.\n"
        "- Create an issue.\n\n## Exception summary\n\n<class 'torch._dynamo.exc.UserError'>: The keys are [0]. "
        "For more information about this error, see: https://pytorch.org\n\n(Refer to the full stack trace above.)"
    )
    told = "Failed to export the model with torch.export: UserError: The keys are [0]."
    assert message_of(RuntimeError(report)) == told
    assert message_of(ValueError("\x1b[31mred\x1b[0m")) == "red"


def test_what_a_test_notes_on_an_exception_comes_after_the_line() -> None:
    error = StudentError("KeyError", "'limit'", "line 2: row['limit']")
    error.add_note("The keys of a row are id and size.")
    told = "Your code raised KeyError: 'limit' (line 2: row['limit']). The keys of a row are id and size."
    assert classify(error, cast(Link, None)) == (Verdict.FAILED, told)
