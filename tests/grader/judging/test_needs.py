"""What a test cell declares decides which processes it gets; how it spells an import does not."""

from __future__ import annotations

from typing import Any

import pytest
from minikey import DOUBLE_KERNEL, with_test

from grader.judging.session import grade
from grader.model.limits import Limits
from grader.model.needs import Need
from grader.model.results import CellResult
from grader.model.submission import from_answers
from grader.processes import client

PRODUCT = "def double(x, weight):\n    return x @ weight.T"
PADDED = "from grader.exercises.tensor_cores.comparisons import PADDED\n"
SIZE = "calls=2, rounds=3, tokens=1024, features=1024, outputs=1023"
TIMED = f"{PADDED}speed = {{call}}(double, PADDED, {SIZE})\nspeed.points(3, none_at=0.05, all_at=0.1)\n"
COUNTED = """\
import numpy
x = numpy.arange(100, dtype=numpy.float32)
with {call}() as launches:
    answer = double(x)
assert [one["global_reads"] for one in launches] == [100], launches
"""
SPELLINGS = {
    Need.SPEEDUP: {
        "from gpulab import speedup": "speedup.against",
        "from gpulab.measuring.speedup import against": "against",
        "from gpulab.measuring import speedup as s": "s.against",
    },
    Need.COUNTING: {
        "from gpulab import trace": "trace.counting",
        "from gpulab.trace.counted_launches import counting": "counting",
        "from gpulab import trace as t": "t.counting",
    },
}
ANSWERS = {Need.SPEEDUP: PRODUCT, Need.COUNTING: DOUBLE_KERNEL}
TESTS = {Need.SPEEDUP: TIMED, Need.COUNTING: COUNTED}


def graded(test: str, answer: str, *needs: Need) -> CellResult:
    """The result of the one test; graded again where the machine was too busy to tell."""
    key = with_test(test, *needs)
    for _ in range(5):
        submission, only = from_answers(key, {"double": answer}), frozenset({"double_test"})
        (result,) = grade(submission, key, student="s", seed=1, limits=Limits(), only=only).cells
        if not result.cause:
            break
    return result


@pytest.mark.parametrize("need", [pytest.param(Need.SPEEDUP, marks=pytest.mark.alone), Need.COUNTING])
def test_the_same_answer_gets_the_same_processes_and_result_in_every_spelling(
    need: Need, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked: list[str] = []
    link = client.JudgeProcess.link

    def noting(judge: client.JudgeProcess, student: client.StudentProcess, to: str = "notebook") -> None:
        linked.append(to)
        link(judge, student, to=to)

    monkeypatch.setattr(client.JudgeProcess, "link", noting)
    found: set[Any] = set()
    for statement, call in SPELLINGS[need].items():
        linked.clear()
        result = graded(f"{statement}\n{TESTS[need].format(call=call)}", ANSWERS[need], need)
        found.add((tuple(dict.fromkeys(linked)), result.verdict.value, result.earned, result.message))
    processes = ("notebook", "reference", "clean") if need is Need.SPEEDUP else ("notebook", "counter", "clean")
    assert found == {(processes, "passed", 3.0, "")}


@pytest.mark.parametrize("need", SPELLINGS)
def test_an_undeclared_use_is_our_fault_in_every_spelling(need: Need) -> None:
    """It must not be graded in other processes, and otherwise, without a word."""
    for statement, call in SPELLINGS[need].items():
        result = graded(f"{statement}\n{TESTS[need].format(call=call)}", ANSWERS[need])
        assert (result.verdict.value, result.earned) == ("harness error", 0.0)
        assert f'Add ":needs: {need.value}" below the points of the test cell' in result.message


def test_words_alone_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comment that speaks of counting and timing costs nothing."""
    started: list[client.StudentProcess] = []
    begin = client.StudentProcess.__init__

    def noting(self: client.StudentProcess, *arguments: Any, **named: Any) -> None:
        started.append(self)
        begin(self, *arguments, **named)

    monkeypatch.setattr(client.StudentProcess, "__init__", noting)
    test = "# trace.counting( speedup.against( launch.script(\nassert double(2) == 4"
    assert graded(test, "def double(x):\n    return 2 * x").verdict.value == "passed"
    assert len(started) == 1


@pytest.mark.alone
def test_one_test_may_count_and_time() -> None:
    """As the row of `transpose_tiled` does on a GPU: its kernel is counted before its speed is."""
    answer = f"{DOUBLE_KERNEL}\ndoubled = double\n\n"
    answer += "def double(x, weight=None):\n    return doubled(x) if weight is None else x @ weight.T"
    test = "from gpulab import trace, speedup\n" + COUNTED.format(call="trace.counting")
    test += TIMED.format(call="speedup.against")
    result = graded(test, answer, Need.COUNTING, Need.SPEEDUP)
    assert (result.verdict.value, result.message) == ("passed", "")
