"""What a student reads of an exception that their code raised."""

from __future__ import annotations

import pytest

from grader.judging.judge_client import StudentError


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
