"""Exercises that measure are decided by what they do on a simulated GPU, not by how busy this machine is."""

from __future__ import annotations

import random
import statistics
from typing import Any

import pytest
from minikey import with_test

from grader.dev.noise import verdict
from grader.exercises.measuring import figures
from grader.exercises.measuring.machine import FIRST_SLOW, Machine, Nonsense
from grader.judging.session import grade
from grader.model.limits import Limits
from grader.model.needs import Need
from grader.model.results import CellResult
from grader.model.submission import from_answers

TEST = """\
from gpulab import seed, virtual_gpu
from grader.exercises.measuring.figures import copies, require_measured

found = []
for case in copies(seed()):
    with virtual_gpu.running(case.machine):
        found.append((case, double(*case.arguments)))
require_measured(found)
"""
START = """\
import statistics, time, timeit
from datetime import datetime
import numpy, torch
from gpulab import device, measure, synchronize

def buffers(nbytes):
    source = torch.ones(nbytes, dtype=torch.uint8, device=device())
    target = torch.empty_like(source)
    target.copy_(source)
    return source, target
"""
LOOP = """\
def double(nbytes):
    source, target = buffers(nbytes)
    times = []
    for _ in range({runs}):
        synchronize()
        start = {clock}
        {work}
        {wait}
        times.append({clock} - start)
    return {figure}
"""
PLAIN = {"runs": 9, "clock": "time.perf_counter()", "work": "target.copy_(source)", "wait": "synchronize()"}
PLAIN["figure"] = "2 * nbytes / statistics.median(times) / 1e9"


def answer(**changed: Any) -> str:
    return START + LOOP.format(**{**PLAIN, **changed})


WARM = "[target.copy_(source) for _ in range(10)]\n    "
TIMER = START + (
    "from torch.utils.benchmark import Timer\ndef double(nbytes):\n    source, target = buffers(nbytes)\n"
    "    timer = Timer('{work}', globals={{'a': source, 'b': target}})\n    return {figure} / 1e9"
)
GUARDED = "torch.cuda.synchronize() if torch.cuda.is_available() else None"
RIGHT = {
    "plain": answer(),
    "nanoseconds": answer(clock="time.monotonic_ns()", figure="2 * nbytes / numpy.median(times)"),
    "clock_gettime": answer(clock="time.clock_gettime(time.CLOCK_MONOTONIC)"),
    "clock_gettime_ns": answer(
        clock="time.clock_gettime_ns(time.CLOCK_REALTIME)", figure="2 * nbytes / numpy.median(times)"
    ),
    "datetime": answer(clock="datetime.now().timestamp()"),
    "a guarded wait": answer(wait=GUARDED),
    "a slice": answer(work="target[:] = source", wait="torch.cuda.current_stream().synchronize()"),
    "a clone, the best run": answer(work="source.clone()", figure="2 * nbytes / min(times) / 1e9"),
    "sleeps in between": answer(work="time.sleep(0); target.copy_(source)", runs=5),
    "a tensor's median": answer(figure="(2 * nbytes / torch.tensor(times).double().median() / 1e9).item()"),
    "blocks of four": answer(
        runs=7, work="[target.copy_(source) for _ in range(4)]", figure="8 * nbytes / statistics.median(times) / 1e9"
    ),
    "timeit": START
    + "def double(nbytes):\n    source, target = buffers(nbytes)\n    synchronize()\n"
    + "    runs = timeit.repeat(lambda: (target.copy_(source), synchronize()), number=2, repeat=9)\n"
    + "    return 4 * nbytes / statistics.median(runs) / 1e9",
    "torch.utils.benchmark": TIMER.format(work="b.copy_(a)", figure="2 * nbytes / timer.adaptive_autorange().median"),
    "nine results of a timer": TIMER.format(
        work="b.copy_(a)", figure="2 * nbytes / statistics.median(timer.timeit(1).mean for _ in range(9))"
    ),
    "one look between two copies": START
    + "def double(nbytes):\n    source, target = buffers(nbytes)\n    times = []\n    for _ in range(6):\n"
    + "        target.copy_(source)\n        synchronize()\n        times.append(time.perf_counter())\n"
    + "    return 2 * nbytes / numpy.median(numpy.diff(times)) / 1e9",
    "a stream, inference mode": START
    + "@torch.inference_mode()\ndef double(nbytes):\n    source, target = buffers(nbytes)\n"
    + "    synchronize()\n    with torch.cuda.stream(torch.cuda.Stream()):\n"
    + "        return 2 * nbytes / measure(target.copy_, source, runs=9).median_ms / 1e6",
}
WRONG = {
    "a constant": (START + "def double(nbytes):\n    return 1.5", "was it measured"),
    "a guess": (START + "import random\ndef double(nbytes):\n    time.sleep(1)\n    return random.random()", "No copy"),
    "waits for the time": (
        START
        + "def double(nbytes):\n    end = time.time() + 5\n"
        + "    while time.time() < end: pass\n    return time.time() % 7",
        "No copy",
    ),
    "a mean": (answer(runs=30, figure="2 * nbytes / statistics.mean(times) / 1e9"), "take the median"),
    "not synchronized": (answer(wait="pass"), "Not synchronized"),
    "a mean after many untimed copies": (
        answer(runs=10, figure="2 * nbytes / statistics.mean(times) / 1e9").replace("times =", f"{WARM}times ="),
        "take the median",
    ),
    "one block after many untimed copies": (
        answer(runs=1, work="[target.copy_(source) for _ in range(10)]", figure="20 * nbytes / times[0] / 1e9").replace(
            "times =", f"{WARM}times ="
        ),
        "Fewer than three measurements",
    ),
    "a median of two": (answer(runs=2), "Fewer than three measurements"),
    "the mean of a timer": (
        TIMER.format(work="a.clone()", figure="2 * nbytes / timer.timeit(10).median"),
        "Fewer than three measurements",
    ),
    "fills the target inside the clock": (
        answer(work="target.fill_(1); target.copy_(source)"),
        "is timed, such as the cr",
    ),
    "milliseconds": (answer(figure="1e3 * statistics.median(times)"), "a time, not a rate"),
    "GiB": (answer(figure="2 * nbytes / statistics.median(times) / 2**30"), "GiB"),
    "two runs": (answer(runs=1, figure="2 * nbytes / min(times) / 1e9"), "more than once"),
    "rounded": (answer(figure="round(2 * nbytes / statistics.median(times) / 1e9, 1)"), "It is rounded"),
    "another size": (
        answer()
        .replace("(nbytes):\n", "(nbytes):\n    size, nbytes = nbytes, 1 << 20\n")
        .replace("2 * nbytes /", "2 * size /"),
        "another size than the one that was asked for",
    ),
    "NumPy": (answer(work="numpy.ones(nbytes).copy()", runs=9).replace("    target.copy_(source)\n", ""), "No copy"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_answers_pass_however_they_measure(name: str) -> None:
    cell = with_test(TEST, Need.VIRTUAL_GPU).cell("double_test")
    assert [verdict(cell, RIGHT[name], seed) for seed in range(3)] == [None] * 3


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_fail_and_are_told_why(name: str) -> None:
    cell = with_test(TEST, Need.VIRTUAL_GPU).cell("double_test")
    source, words = WRONG[name]
    for seed in range(3):
        problem = verdict(cell, source, seed)
        assert isinstance(problem, AssertionError) and words in str(problem), problem


def test_an_unknown_clock_is_undecided() -> None:
    cell = with_test(TEST, Need.VIRTUAL_GPU).cell("double_test")
    source = answer(clock="__import__('os').times().elapsed", figure="nbytes / (sum(times) + id(times) % 1e6)")
    assert isinstance(verdict(cell, source, 1), figures.UnknownClock)


# ------------------------------------------------------------------------------------------------- in the judge


def judged(source: str) -> CellResult:
    key = with_test(TEST, Need.VIRTUAL_GPU)
    submission, only = from_answers(key, {"double": source}), frozenset({"double_test"})
    (result,) = grade(submission, key, student="s", seed=1, limits=Limits(), only=only).cells
    return result


def test_the_judge_tells_right_from_wrong() -> None:
    """Also where the cell, which runs before the test, keeps the device and a clock by name."""
    by_name = "from time import perf_counter\nDEVICE = device()\n"
    right = (
        answer(clock="perf_counter()")
        .replace("device=device()", "device=DEVICE")
        .replace("def buf", by_name + "def buf")
    )
    assert (judged(right).verdict.value, judged(right).message) == ("passed", "")
    wrong = judged(WRONG["not synchronized"][0])
    assert (wrong.verdict.value, wrong.earned) == ("failed", 0.0)
    assert "Not synchronized" in wrong.message


def test_no_rate_is_where_the_answer_runs() -> None:
    """Everything that the process holds is looked through for a machine, and the clock's own insides."""
    looking = "import gc\ndef double(nbytes):\n    kinds = [type(one).__name__ for one in gc.get_objects()]\n"
    looking += "    clock = [cell.cell_contents for cell in time.perf_counter.__closure__ or ()]\n"
    looking += "    return sum(kind in ('Machine', 'Case', 'Cost') for kind in kinds) or str(clock)"
    assert "You returned a str" in judged(START + looking).message


def test_operations_that_no_gpu_sends_cost_the_row_only() -> None:
    source = "import gc\nfrom gpulab.virtual_gpu.operations import OperationRecorder\ndef double(nbytes):\n"
    source += (
        "    [one.ask('copy', 0, 1e30) for one in gc.get_objects() if type(one) is OperationRecorder]\n    return 1.0"
    )
    result = judged(source)
    assert (result.verdict.value, result.earned) == ("crashed", 0.0)
    assert "could not be read" in result.message


# --------------------------------------------------------------------------------------------------- the machine


def durations(machine: Machine, count: int) -> list[float]:
    found = []
    machine.run([["kept", 1000, 1, False], ["kept", 1000, 2, False]])
    for _ in range(count):
        start = machine.run([["wait", -1], ["clock"]])
        found.append(machine.run([["copy", 0, 1000, 1, 2], ["wait", 0], ["clock"]]) - start)
    return found


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("first_slow", FIRST_SLOW)
def test_a_slow_moment_spoils_every_mean_and_no_median(seed: int, first_slow: int) -> None:
    machine = Machine(random.Random(seed), "copy", 1000, first_slow)
    for count in (5, 20, 100):
        found, right = durations(machine, count), machine.seconds("copy", 1000)
        assert statistics.median(found) == pytest.approx(right, rel=0.01)
    first = durations(Machine(random.Random(seed), "copy", 1000, first_slow), 30)[1:]
    assert statistics.mean(first) > 1.05 * statistics.median(first)


def test_memory_that_was_freed_costs_nothing_again() -> None:
    machine = Machine(random.Random(1), "copy", 1000, 1)
    begun = machine.run([["clock"]])
    made = machine.run([["alloc", 10**6, 1], ["clock"]])
    freed = machine.run([["free", 10**6], ["clock"]])
    again = machine.run([["alloc", 10**6, 1], ["clock"]])
    assert (again - freed) * 1000 < made - begun


def test_a_loop_that_waits_for_the_clock_ends_soon() -> None:
    machine = Machine(random.Random(1), "copy", 1000, 1)
    start, looks = machine.run([["clock"]]), 0
    while machine.run([["clock"]]) < start + 5:
        looks += 1
    assert looks < 12_000


MEMORIES = [["alloc", 1000, 1], ["alloc", 1000, 2], ["pin", 1000, 3], ["kept", 4000, 4, False]]


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        (["copy", 0, 1000, 1, 2], "copy"),
        (["copy", 0, 1001, 1, 2], "touch"),
        (["copy", 0, 1000, 1, 5], "touch"),
        (["copy", 0, 1000, 1, 3], "touch"),
        (["copy", 0, 1000, 1, 1], "touch"),
        (["copy", 0, 2000, 4, 4], "copy"),
        (["h2d", 0, 1000, True, True, 1, 3], "h2d pinned"),
        (["h2d", 0, 1000, True, True, 1, 0], "h2d pageable"),
        (["h2d", 0, 4000, True, True, 4, 3], "h2d pageable"),
        (["h2d", 0, 1001, False, True, 1, 0], "touch"),
        (["d2h", 0, 1000, True, True, 3, 1], "d2h pinned"),
        (["d2h", 0, 1000, True, True, 1, 3], "touch"),
        (["matmul", 0, 2 * 5**3, "float32", False, False, [1, 2, 4]], "matmul float32"),
        (["matmul", 0, 10**6, "float32", False, False, [1, 2, 4]], "touch"),
        (["matmul", 0, 2, "float32", False, False, [1, 2]], "touch"),
        (["matmul", 0, 2, "float32", False, False, [1, 2, [3]]], "touch"),
    ],
    ids=repr,
)
def test_only_what_memories_hold_is_copied_and_multiplied(operation: Any, kind: str) -> None:
    """An operation on more than there is room for counts as some other kernel."""
    machine = Machine(random.Random(1), "copy", 1000, 1)
    machine.run([*MEMORIES, operation])
    assert machine.done.keys() - {"alloc", "pin"} == {kind}


@pytest.mark.parametrize(
    "operations",
    [
        "copy",
        [["copy", 0, -1, 1, 2]],
        [["copy", 0, 1e3, 1, 2]],
        [["copy", 0, 1000]],
        [["copy", 0, 10**30, 1, 2]],
        [["sleep", float("nan")]],
        [["no"]],
        [[]],
        [7],
    ],
    ids=repr,
)
def test_nonsense_is_refused(operations: Any) -> None:
    with pytest.raises(Nonsense):
        Machine(random.Random(1), "copy", 1000, 1).run(operations)
