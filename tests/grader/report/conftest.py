"""The results of a small class, for tests of what is shown of them."""

from __future__ import annotations

import pytest
from class_results import NEEDS_GPU, PARTIAL, added
from recorded_class import NAME, TESTS, judged, result_of

from grader.model.results import SubmissionResult, Usage, Verdict


@pytest.fixture
def results():
    """A class in which everything happens that can."""
    return [
        result_of("ada", NEEDS_GPU, usage=Usage(1.0, 2.0, 400.0)),
        result_of("ben", PARTIAL, NEEDS_GPU),
        result_of("cleo", added(3), NEEDS_GPU),
        result_of("dan", added(9), repairs=("One deleted.", "x")),
        result_of("eve", judged("double_test", Verdict.TIMED_OUT, message="The call gave no answer within 10 s.")),
        result_of("fay", judged("double_test", Verdict.CRASHED, message="The process ended.")),
        result_of("gus", judged("bandwidth_test", Verdict.HARNESS_ERROR, message="Our fault.")),
        result_of("hal", *(judged(name, Verdict.NOT_ATTEMPTED) for name in list(TESTS)[:3]), NEEDS_GPU),
        SubmissionResult("ivy", NAME, problem="work/submitted/ivy/01_small.ipynb: the file is empty. Ask again."),
    ]
