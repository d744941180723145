"""Readings of the GPU: how they are taken and kept, and how a test holds an answer against them."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from minikey import with_test

from gpulab.check import equal
from gpulab.check.outcomes import WrongAnswer
from gpulab.doctor import hardware
from gpulab.doctor.hardware import Gpu
from grader.exercises import confront, on_gpu, taking
from grader.exercises.confront import Absent, Confrontation, Unusable
from grader.judging.session import grade
from grader.machine import doctor, kept_readings
from grader.model import readings
from grader.model.notebooks import ChapterKey
from grader.model.readings import ReadingState
from grader.model.results import CellResult, Verdict
from grader.model.submission import from_answers


def same(answer: Any, taken: Any) -> None:
    if taken == "noise":
        raise Unusable("noise")
    equal(answer, taken, "what the GPU said")


def raising(error: Exception) -> Callable[[], Any]:
    def take() -> Any:
        raise error

    return take


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> dict[str, Confrontation]:
    found: dict[str, Confrontation] = {}
    monkeypatch.setattr(confront, "declared", lambda: found)
    monkeypatch.setattr(taking, "declared", lambda: found)
    return found


# --------------------------------------------------------------------------------------------------- in a hidden test


def test_without_readings_nothing_is_compared() -> None:
    confront.confront("no such exercise", object())


def test_an_answer_that_the_gpu_contradicts_is_wrong(declared: dict[str, Confrontation]) -> None:
    declared["warp"] = Confrontation("warp", "The warp size.", lambda: 32, same)
    with readings.use(32):
        confront.confront("warp", 32)
        with pytest.raises(WrongAnswer, match="what the GPU said"):
            confront.confront("warp", 64)
    confront.confront("warp", 64)


def test_readings_that_cannot_be_used_cost_nothing(declared: dict[str, Confrontation]) -> None:
    declared["warp"] = Confrontation("warp", "The warp size.", lambda: 32, same)
    with readings.use("noise"):
        confront.confront("warp", 64)


def graded(test: str, answer: str, taken: Any) -> CellResult:
    key = with_test(test)
    submission = from_answers(key, {"double": answer})
    only = frozenset({"double_test"})
    (cell,) = grade(submission, key, student="ada", seed=1, readings=taken, only=only).cells
    return cell


def test_a_judge_has_the_readings_of_its_exercise() -> None:
    look = "from grader.model.readings import at_hand\nassert at_hand() == {'sms': [1, 2]}, at_hand()\nx = double(1)"
    cell = graded(look, "def double(x):\n    return x", {"double": {"sms": [1, 2]}, "other": 3})
    assert cell.verdict is Verdict.PASSED, cell.message
    assert graded(look, "def double(x):\n    return x", {"other": 3}).verdict is not Verdict.PASSED


def test_a_student_cannot_see_the_readings() -> None:
    answer = "def double(x):\n    from grader.model.readings import at_hand\n    return repr(at_hand())"
    cell = graded("assert double(1) == 'None', double(1)", answer, {"double": 42})
    assert "42" not in cell.message


# -------------------------------------------------------------------------------------------------------- taking them


def said(declared: dict[str, Confrontation], cells: list[str], gpu: bool = True) -> list[Any]:
    lines: list[Any] = []
    taking.serve({"cells": cells, "exercises": [*declared, "another"]}, lines.append, gpu)
    return lines


def test_each_reading_is_held_against_the_chapters_own_solution(declared: dict[str, Confrontation]) -> None:
    declared["good"] = Confrontation("good", "", lambda: 1, same)
    declared["refused"] = Confrontation("refused", "", lambda: 2, same)
    declared["noisy"] = Confrontation("noisy", "", lambda: "noise", same)
    declared["lacking"] = Confrontation("lacking", "", raising(Absent("a second GPU")), same)
    wanted, *lines = said(declared, ["import math", "good = 1\nrefused = 1\nnoisy = 1\nlacking = 1"])
    assert wanted == list(declared)
    assert [line[:2] for line in lines] == [
        ["good", ReadingState.GOOD],
        ["refused", ReadingState.REFUSED],
        ["noisy", ReadingState.UNUSABLE],
        ["lacking", ReadingState.ABSENT],
    ]
    assert [line[3] for line in lines] == [1, 2, "noise", None]
    assert lines[3][2] == "a second GPU"


def test_a_reading_that_fails_ends_its_process(declared: dict[str, Confrontation]) -> None:
    declared["broken"] = Confrontation("broken", "", raising(RuntimeError("CUDA error: misaligned address")), same)
    declared["after"] = Confrontation("after", "", lambda: 1, same)
    _, *lines = said(declared, ["broken = after = 1"])
    assert [line[:2] for line in lines] == [["broken", ReadingState.FAILED]]
    assert "misaligned address" in lines[0][2]


def test_an_exercise_whose_own_solution_does_not_run_is_a_failure(declared: dict[str, Confrontation]) -> None:
    declared["warp"] = Confrontation("warp", "", lambda: 1, same)
    _, line = said(declared, ["raise ValueError"])
    assert line[1] is ReadingState.FAILED


def test_without_a_gpu_nothing_runs(declared: dict[str, Confrontation]) -> None:
    declared["warp"] = Confrontation("warp", "", raising(AssertionError("taken")), same)
    _, line = said(declared, ["raise SystemExit"], gpu=False)
    assert line[1] is ReadingState.ABSENT


KEY = with_test("double(1)")
SCRIPT = """
import json, os, signal, sys, time
request = json.load(sys.stdin)
def say(line):
    print(json.dumps(line), flush=True)
wanted = [name for name in ("one", "two", "three") if name in request["exercises"]]
say(wanted)
for name in wanted:
    DEED
"""


def key_of_three() -> ChapterKey:
    cells = tuple(
        types.SimpleNamespace(role=cell.role, source=cell.source, tags=cell.tags, grade_id=name)
        for cell in KEY.cells if cell.role.value == "solution"
        for name in ("one", "two", "three")
    )  # fmt: skip
    return ChapterKey("01_small", cells, {})  # type: ignore[arg-type]


def took(deed: str) -> dict[str, kept_readings.Reading]:
    return kept_readings.take(key_of_three(), (sys.executable, "-c", SCRIPT.replace("DEED", deed)))


GOOD = "say([name, 'good', '', [1]])"


def test_readings_come_line_by_line() -> None:
    assert took(GOOD) == dict.fromkeys(("one", "two", "three"), kept_readings.Reading(ReadingState.GOOD, "", [1]))


@pytest.mark.parametrize(
    "deed",
    [
        f"os._exit(1) if name == 'two' else {GOOD}",
        f"os.kill(os.getpid(), signal.SIGSEGV) if name == 'two' else {GOOD}",
        f"(say([name, 'failed', 'CUDA error', None]), os._exit(0)) if name == 'two' else {GOOD}",
        f"time.sleep(60) if name == 'two' else {GOOD}",
    ],
)
def test_a_reading_that_ends_its_process_costs_no_other(deed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_readings, "SECONDS", 2.0)
    found = took(deed)
    assert {name: one.state for name, one in found.items()} == {
        "one": ReadingState.GOOD, "two": ReadingState.FAILED, "three": ReadingState.GOOD,
    }  # fmt: skip


def test_a_process_that_says_nothing_leaves_nothing() -> None:
    assert kept_readings.take(key_of_three(), (sys.executable, "-c", "raise SystemExit(1)")) == {}


# ------------------------------------------------------------------------------------------------------- keeping them


@pytest.fixture
def a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """A machine that reports a GPU; gives the list of times that its readings were taken."""
    times: list[str] = []

    def take(key: ChapterKey) -> dict[str, kept_readings.Reading]:
        times.append(key.name)
        return {
            "one": kept_readings.Reading(ReadingState.GOOD, "", [1.5]),
            "two": kept_readings.Reading(ReadingState.REFUSED, "too hot", [2]),
        }

    gpu = Gpu("NVIDIA Test", 80_000, 1980, 1980, "580.1")
    monkeypatch.setattr(hardware, "gpus", lambda: (gpu,))
    monkeypatch.setattr(kept_readings, "take", take)
    monkeypatch.setattr(kept_readings, "_known", {})
    monkeypatch.setenv("GPULAB_HOME", str(tmp_path / "home"))
    yield times


def test_only_good_readings_are_given_out(a_gpu: list[str]) -> None:
    assert kept_readings.of_this_machine(KEY) == {"one": [1.5]}


def test_readings_are_taken_once(a_gpu: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    kept_readings.of_this_machine(KEY)
    kept_readings.of_this_machine(KEY)
    monkeypatch.setattr(kept_readings, "_known", {})  # as a new process
    assert kept_readings.of_this_machine(KEY) == {"one": [1.5]}
    assert len(a_gpu) == 1
    kept_readings.taken(KEY, again=True)
    assert len(a_gpu) == 2


def test_another_driver_takes_them_anew(a_gpu: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    kept_readings.of_this_machine(KEY)
    other = Gpu("NVIDIA Test", 80_000, 345, 1980, "590.2")
    monkeypatch.setattr(hardware, "gpus", lambda: (other,))
    kept_readings.of_this_machine(KEY)
    assert len(a_gpu) == 2


def test_the_doctor_says_what_was_kept(a_gpu: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    course = types.SimpleNamespace(chapters=lambda: [None])
    monkeypatch.setattr(doctor, "load_key", lambda chapter: KEY)
    (row,) = doctor._readings(course)  # type: ignore[arg-type]
    assert (row.state, row.found) == ("good", "not taken yet; grading a chapter takes them")
    kept_readings.of_this_machine(KEY)
    (row,) = doctor._readings(course)  # type: ignore[arg-type]
    assert (row.state, row.found) == ("fair", "1 of 2 used; two: refused: too hot")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"fingerprint": 1}', "\x00"])
def test_a_damaged_file_is_taken_anew(a_gpu: list[str], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept_readings.of_this_machine(KEY)
    kept_readings._path(KEY).write_text(text)
    monkeypatch.setattr(kept_readings, "_known", {})
    assert kept_readings.of_this_machine(KEY) == {"one": [1.5]}
    assert len(a_gpu) == 2


def test_a_home_that_is_a_file_fails_nothing(a_gpu: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "file"
    home.touch()
    monkeypatch.setenv("GPULAB_HOME", str(home))
    assert kept_readings.of_this_machine(KEY) == {"one": [1.5]}


def test_a_gpu_that_nobody_gets_fails_nothing(a_gpu: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(key: ChapterKey) -> dict[str, kept_readings.Reading]:
        raise TimeoutError("no turn at the GPU")

    monkeypatch.setattr(kept_readings, "take", busy)
    assert kept_readings.of_this_machine(KEY) == {}


def test_without_a_gpu_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    if hardware.device_name() != "cpu":
        pytest.skip("there is a GPU here")
    monkeypatch.setattr(kept_readings, "take", raising(AssertionError("taken")))
    assert kept_readings.of_this_machine(KEY) == {}


# ------------------------------------------------------------------------------------------------------------- timing


def test_times_that_spread_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_gpu, "times_ms", lambda *_: [1.0, 1.02, 0.98, 1.01, 1.01, 1.03, 9.0])
    assert on_gpu.median_ms(lambda: None) == 1.01
    monkeypatch.setattr(on_gpu, "times_ms", lambda *_: [1.0, 2.0, 0.5, 3.0, 1.5])
    with pytest.raises(Unusable, match="spread"):
        on_gpu.median_ms(lambda: None)
