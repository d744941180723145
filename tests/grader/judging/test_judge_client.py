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
