"""An exercise is timed from the judge, in a process with its own cell alone, against a reference with none of it."""

from __future__ import annotations

import pytest
from minikey import with_test

from grader.judging.session import grade
from grader.judging.speedups import Speedups
from grader.model.limits import Limits
from grader.model.needs import Need
from grader.model.results import CellResult
from grader.model.submission import from_answers

TEST = """\
from gpulab.measuring import speedup
from grader.exercises.tensor_cores.comparisons import PADDED

speed = speedup.against(double, PADDED, calls=2, rounds=3, {size})
speed.told_points(3, none_at=0.3, all_at=0.4, what="a layer", than="the product")
"""
SIZE = "tokens=2048, features=2048, outputs=2047"
"""Some 100 ms a call on a CPU, more than drawing the inputs and looking at the output take."""
QUARTER = "tokens=1024, features=1024, outputs=1023"
"""For an answer that is far from the bounds."""
SMALL = "tokens=64, features=64, outputs=57"
"""Where the time is not what matters."""
RIGHT = "def double(x, weight):\n    return x @ weight.T"
ONE_MORE = "def helper(x, weight):\n    return x @ weight.T\n\ndef double(x, weight):\n    return helper(x, weight)"


def cell(solution: str, shares: str = "", size: str = SIZE, call_seconds: float = 5) -> CellResult:
    key = with_test(TEST.format(size=size), Need.SPEEDUP)
    answers = {"double": solution} | ({"SHARES": shares} if shares else {})
    submission = from_answers(key, answers)
    (only,) = grade(
        submission, key, student="s", seed=1, limits=Limits(call_seconds=call_seconds), only=frozenset({"double_test"})
    ).cells
    return only


def graded_again(solution: str, shares: str = "", size: str = SIZE) -> CellResult:
    """What the message asks for where the machine was too busy to tell."""
    for _ in range(5):
        result = cell(solution, shares, size)
        if "grade again" not in result.message:
            break
    return result


@pytest.mark.alone
@pytest.mark.parametrize("solution", [RIGHT, ONE_MORE], ids=["plain", "with a helper in its cell"])
def test_an_honest_answer_is_timed(solution: str) -> None:
    result = graded_again(solution)
    assert (result.verdict.value, result.message) == ("passed", "")


@pytest.mark.parametrize(
    ("solution", "verdict"), [(RIGHT, "passed"), ("def double(x, weight):\n    return x", "failed")]
)
def test_what_is_only_compared_is_not_timed(solution: str, verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No reference is asked again whether it was slowed."""
    monkeypatch.setattr("grader.judging.session.SLOWED", 0.0)
    monkeypatch.setattr(
        "test_speedups.TEST",
        "from gpulab import speedup\nfrom grader.exercises.tensor_cores.comparisons import PADDED\n\n"
        "share = speedup.same(double, PADDED, times=3, {size})\n"
        "if share < 1:\n    raise AssertionError(str(share))",
    )
    assert cell(solution, size="tokens=8, features=4, outputs=3").verdict.value == verdict


def test_a_wrong_output_is_told() -> None:
    result = cell("def double(x, weight):\n    return x[:, :5]", size=SMALL)
    assert result.verdict.value == "failed"
    assert "did not return what the reference" in result.message


@pytest.mark.alone
def test_a_slow_answer_gets_no_points() -> None:
    """By a factor, so that the machine's own speed does not matter."""
    slow = "def double(x, weight):\n    for _ in range(6):\n        found = x @ weight.T\n    return found"
    result = graded_again(slow, size=QUARTER)
    assert (result.verdict.value, result.earned) == ("failed", 0)


def test_patched_clocks_and_helpers_change_nothing() -> None:
    """All that is patched is patched in a process that does not decide."""
    patched = """
import time
time.perf_counter = time.monotonic = time.time = lambda: 0.0
from gpulab import device
from gpulab.measuring import speedup
speedup.projection = lambda output, seed: [2048.0, 511.0, 1.0, 0.0]
device.synchronize = lambda: None
def double(x, weight):
    return None
"""
    result = cell(patched, size=SMALL)
    assert result.verdict.value == "failed"
    assert "did not return what the reference" in result.message


LAZY_TENSOR = """
import torch
class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        arguments = [one.factors[0] @ one.factors[1].T if isinstance(one, Lazy) else one for one in arguments]
        return function(*arguments, **(named or {}))
def double(x, weight):
    lazy = torch.empty(len(x), len(weight)).as_subclass(Lazy)
    lazy.factors = x, weight
    return lazy
"""
LAZY_ARRAY = """
class Lazy:
    def __init__(self, *factors):
        self.factors = factors
    def __array__(self, *more, **named):
        return (self.factors[0] @ self.factors[1].T).float().numpy()
def double(x, weight):
    return Lazy(x, weight)
"""


LAZY_LIAR = LAZY_ARRAY.replace("class Lazy:", "class Lazy:\n    __module__ = 'torch'")
LAZY_LIAR += "\nimport torch\ntorch.Tensor = Lazy\n"


@pytest.mark.parametrize(
    "solution", [LAZY_TENSOR, LAZY_ARRAY, LAZY_LIAR], ids=["tensor", "array", "under torch's name"]
)
def test_an_output_that_is_computed_when_it_is_looked_at_is_refused(solution: str) -> None:
    """One of a round's outputs is checked: an answer that computed only that one would seem many times as fast."""
    result = cell(solution, size=SMALL)
    assert (result.verdict.value, result.earned) == ("failed", 0)
    assert "got a value of type Lazy" in result.message


def test_work_that_is_left_out_now_and_then_is_seen() -> None:
    """The answer counts its calls, and gives an earlier output back for one in a while."""
    counting = """
import itertools
calls, kept = itertools.count(), []
def double(x, weight):
    if next(calls) != 4:
        kept[:] = [x @ weight.T]
    return kept[0]
"""
    result = cell(counting, size=SMALL)
    assert (result.verdict.value, result.earned) == ("failed", 0)
    assert "did not return what the reference" in result.message


@pytest.mark.alone
def test_what_another_cell_patched_is_not_there() -> None:
    """Its own cell alone: the speed of a patched matmul is not the answer's."""
    patch = 'SHARES = {}\nimport torch\ntorch.Tensor.__matmul__ = lambda self, other: "no"'
    result = graded_again(RIGHT, patch, QUARTER)
    assert (result.verdict.value, result.message) == ("passed", "")


def test_a_helper_in_another_cell_is_told() -> None:
    result = cell("def double(x, weight):\n    return multiply(x, weight)", "SHARES = {}\nmultiply = print", SMALL)
    assert result.verdict.value == "failed"
    assert "it is timed with its own cell alone" in result.message


def test_an_answer_that_exits_or_hangs_costs_itself_only() -> None:
    result = cell("import os\ndef double(x, weight):\n    os._exit(0)", size=SMALL)
    assert result.verdict.value == "crashed"
    result = cell("def double(x, weight):\n    while True: pass", size=SMALL, call_seconds=2)
    assert result.verdict.value == "timed out"


@pytest.mark.alone
def test_a_reference_slowed_beside_the_answer_leaves_the_row_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever made it slow, a crowded machine or a thread of the answer's: the ratio is worth nothing."""
    monkeypatch.setattr("grader.judging.session.SLOWED", 0.0)
    told = []
    for _ in range(5):  # a crowded machine can leave it pending before the reference is timed again
        result = cell(RIGHT)
        assert (result.verdict.value, result.earned) == ("harness error", 0)
        told.append(result.message)
        if "next to this answer as alone" in result.message:
            break
    assert "next to this answer as alone" in told[-1], told


class _Slow:
    """A reference's side that was slow during the answer."""

    name, channel = "", None

    def __init__(self) -> None:
        self.work = [(7, 1, 9.0), (1, 4, 0.3), (2, 4, 0.2), (3, 4, 0.4)]

        self.looks: list[int] = []

    def go(self, seed: int, calls: int, idle: bool) -> None:
        assert calls == 4
        if not idle:
            self.work.append((seed, calls, 0.1))

    def project(self, which: int, seed: int) -> list[float]:
        self.looks.append(which)
        return [1.0]


def test_slowing_is_the_ratio_of_medians() -> None:
    """Of the rounds with all calls; the one that warmed up does not count. Alone, too, all outputs are looked at."""
    side = _Slow()
    speedups = Speedups(link=None, reference=None, run=[side])  # type: ignore[arg-type, list-item]
    assert speedups.slowed() == pytest.approx(3.0)
    assert side.looks == [0, 1, 2, 3] * 3
