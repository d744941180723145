"""The course's exercise in CUDA C++ is graded by running it, also without a GPU."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
import torch

from . import bank

CHAPTER = bank.ROOT / "solutions" / "02_cuda_basics" / "02_cuda_basics.ipynb"
RUN_ONLY = (
    "no guard",
    "one element too many",
    "the stride is the number of blocks",
    "the index overflows",
    "forgets the old value of y",
    "computes nothing",
)
"""Wrong answers that only a run can tell from a right one."""


def graded(source: object) -> None:
    """Runs the exercise's test cell, hidden tests included."""
    notebook = nbformat.read(Path(CHAPTER), as_version=4)  # type: ignore[no-untyped-call]
    (cell,) = (one for one in notebook.cells if one.metadata.get("nbgrader", {}).get("grade_id") == "SAXPY_CU_test")
    exec(compile(cell.source, "SAXPY_CU_test", "exec"), {"SAXPY_CU": source})


def source_of(answer: bank.Answer) -> object:
    names: dict[str, object] = {}
    exec(answer.source, names)
    return names["SAXPY_CU"]


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens without a GPU")
def test_right_answers_pass() -> None:
    right = [answer for answer in bank.answers("SAXPY_CU") if answer.kind.value == "right"]
    assert len(right) == 7
    for answer in right:
        graded(source_of(answer))


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens without a GPU")
@pytest.mark.parametrize("title", RUN_ONLY)
def test_what_only_a_run_can_tell_is_wrong(title: str) -> None:
    (answer,) = (answer for answer in bank.answers("SAXPY_CU") if answer.title == title)
    with pytest.raises(AssertionError) as told:
        graded(source_of(answer))
    assert answer.says.lower() in str(told.value).lower()
