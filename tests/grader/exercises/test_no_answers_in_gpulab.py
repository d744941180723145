"""`gpulab`, which every student's process imports, holds nothing that answers an exercise.

What answers one is found by trying everything that is there on the calls that the tests make (`answer_finder`).
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import random
import secrets
import signal
import subprocess
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from answer_finder import planted, reachable
from answer_finder.children import Killed, in_child
from answer_finder.known import Call, Exercise, Finding
from answer_finder.recording import recorded
from answer_finder.search import prepare, search

from grader.model.course import Course

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[3]
ALWAYS = ("gpulab.chapters.inference", "gpulab.chapters.profiling")
"""Packages that every run searches, in which answers have been found before."""
SEED = os.environ.get("SEARCH_SEED") or secrets.token_hex(4)
SHARE = 0.15
"""Of the other modules, drawn anew for every run: all of `gpulab` takes five minutes of the processor's time."""
EVERYWHERE = bool(os.environ.get("SEARCH_ALL"))
SECONDS_TO_RECORD, SECONDS_TO_SEARCH = 300, 200
"""Of the clock on the wall, for a chapter and for a module."""


@pytest.fixture(scope="module")
def exercises(tmp_path_factory: pytest.TempPathFactory) -> list[Exercise]:
    """Every exercise of the course, with calls and right results."""
    import torch

    torch.set_num_threads(1)
    folder, found = tmp_path_factory.mktemp("recorded"), []
    for chapter in Course(ROOT).chapters():
        found += in_child(lambda chapter=chapter: recorded(chapter), folder, chapter.name, SECONDS_TO_RECORD)
    prepare(found)
    return found


def searched(module: types.ModuleType, exercises: Sequence[Exercise], folder: Path) -> list[Finding]:
    """What the search finds in a module; a callable that ends the search is named.

    The limit on a try may fall into compiled code that has no way to pass an exception on, and then ends the process:
    a search that a signal ended is made once more.
    """
    tried = folder / "tried"

    def work() -> list[Finding]:
        return search(module, exercises, lambda name: tried.write_text(name, encoding="utf-8"))

    try:
        with contextlib.suppress(Killed):
            return in_child(work, folder, module.__name__, SECONDS_TO_SEARCH, tries=True)
        return in_child(work, folder, module.__name__, SECONDS_TO_SEARCH, tries=True)
    except Exception as error:
        last = tried.read_text(encoding="utf-8") if tried.exists() else "nothing"
        remedy = f"Say in {reachable.__name__}.NOT_CALLED why it is not called."
        raise AssertionError(f"{module.__name__}: the search ended with {last}: {error}. {remedy}") from error


def found_twice(module: types.ModuleType, exercises: Sequence[Exercise], folder: Path) -> set[Finding]:
    """What two searches find: a rate may be near the right one once by chance."""
    first = set(searched(module, exercises, folder))
    return first and first & set(searched(module, exercises, folder))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_exercise_is_known_by_a_call_or_a_value(exercises: list[Exercise]) -> None:
    unknown = [one.name for one in exercises if not one.calls and one.value is None]
    assert set(unknown) <= {"profile_step"}, "of these the search would find no answer"  # it returns a profiler
    assert len({one.name for one in exercises}) >= 100


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_gpulab_answers_no_exercise(exercises: list[Exercise], tmp_path: Path) -> None:
    draw = random.Random(SEED)
    chosen = [
        one for one in reachable.modules() if draw.random() < SHARE or EVERYWHERE or one.__name__.startswith(ALWAYS)
    ]
    found = [one for module in chosen for one in found_twice(module, exercises, tmp_path)]
    listed = "\n".join(map(str, found))
    assert not found, (
        f"these belong into grader/exercises, where no student can call them (SEARCH_SEED={SEED}):\n{listed}"
    )


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_planted_answers_are_found(exercises: list[Exercise], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them once stood in `gpulab`, or is of a kind that the search must know.

    Time is not short here: they lie beside no chapter of their own, whose exercises would be tried first. One that
    measures may be missed on a busy machine, so what one search misses is looked for twice more.
    """
    monkeypatch.setattr("answer_finder.search.SECONDS_TOGETHER", 30.0)
    missed = set(planted.ANSWERED.items())
    for _ in range(3):
        missed -= {(one.what, one.exercise) for one in searched(planted, exercises, tmp_path)} if missed else set()
    assert not missed


def test_what_is_not_called_is_there() -> None:
    """No reason outlives what it was for."""
    modules = list(reachable.modules())
    there = {f"{module.__name__}.{name}" for module in modules for name, _ in reachable.everything(module)}
    assert set(reachable.NOT_CALLED) <= there | {module.__name__ for module in modules}


# ------------------------------------------------------------------------------------------------- planted faults


@dataclass(frozen=True)
class Steps:
    values: np.ndarray
    scale: float


def _rounded(limit: float, values: np.ndarray) -> Steps:
    return Steps(np.clip(np.rint(values / limit), -9, 9), limit)


class Tools:
    @staticmethod
    def nearest(x: np.ndarray, scale: float) -> np.ndarray:
        return np.clip(np.rint(x / scale), -9, 9) * scale


def _doubled(values: np.ndarray, scale: float) -> np.ndarray:
    return 2 * values / scale


def _decorated(values: np.ndarray, limit: float) -> str:
    return str(np.clip(np.rint(values / limit), -9, 9))


LIBC = ctypes.CDLL(None)
PROGRAM = "\n".join(f"number_{number} = {number} + {number}" for number in range(6))
MENU = ("caches", "registers", "streams")


def exercise(answer: Callable[..., Any], *calls: tuple[Any, ...]) -> Exercise:
    return Exercise(
        "09_planted", "steps", ("x", "scale"), tuple(Call(one, {}, answer(*one)) for one in calls), None, ()
    )


def module(**held: Any) -> types.ModuleType:
    made = types.ModuleType("gpulab.planted")
    for name, value in held.items():
        if callable(value):
            value.__module__ = made.__name__
        setattr(made, name, value)
    return made


@pytest.mark.parametrize("fault", [{"_rounded": _rounded}, {"Tools": Tools}])
def test_a_callable_that_answers_is_found(fault: dict[str, Any], tmp_path: Path) -> None:
    """With other names, another order, in a record, as a method, up to a factor."""
    draw = np.random.default_rng(4)
    steps = exercise(
        lambda x, scale: np.clip(np.rint(x / scale), -9, 9),
        *((draw.standard_normal(20), scale) for scale in (0.25, 0.5, 0.3)),
    )
    found = searched(module(**fault, _doubled=_doubled, _decorated=_decorated), [steps], tmp_path)
    assert [one.exercise for one in found] == ["steps"]
    assert found[0].what.startswith(next(iter(fault)))


def test_a_value_that_answers_is_found(tmp_path: Path) -> None:
    wanted = [
        Exercise("09_planted", name, (), (), value, ())
        for name, value in {"CODES": {"streams", "registers", "caches"}, "SCRIPT": PROGRAM + "\nend = 1"}.items()
    ]
    found = searched(module(MENU=MENU, PROGRAM=PROGRAM), wanted, tmp_path)
    assert {str(one) for one in found} == {
        "gpulab.planted: MENU answers CODES",
        "gpulab.planted: PROGRAM answers SCRIPT",
    }


def test_python_code_cannot_end_a_search(tmp_path: Path) -> None:
    """It sends signals to whatever it is given for a process, or runs what is registered for the end."""

    def ends(x: int) -> int:
        for end in (os._exit, lambda x: os.kill(os.getpid(), signal.SIGKILL), lambda x: atexit._run_exitfuncs()):
            with contextlib.suppress(PermissionError):
                end(x)
                return 0
        return 2 * x

    known = [Exercise("09_planted", "one", ("x",), (Call((3,), {}, 6), Call((4,), {}, 8)), None, ())]
    assert [one.what for one in searched(module(ends=ends), known, tmp_path)] == ["ends"]


def test_what_a_search_starts_can_be_ended(tmp_path: Path) -> None:
    """A fork that could not end would go on with the search, and fork again."""

    def forks(x: int) -> int:
        if (child := os.fork()) == 0:
            os._exit(2 * x)
        lasting = subprocess.Popen(["sleep", "100"])
        os.kill(lasting.pid, signal.SIGTERM)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) + (lasting.wait(10) + signal.SIGTERM)

    known = [Exercise("09_planted", "one", ("x",), (Call((3,), {}, 6), Call((4,), {}, 8)), None, ())]
    assert [one.what for one in searched(module(forks=forks), known, tmp_path)] == ["forks"]


def test_a_callable_that_ends_its_process_is_named(tmp_path: Path) -> None:
    def ends(x: int) -> int:
        LIBC._exit(x)  # not `exit`, whose handlers may wait for threads that a fork does not have
        return x

    with pytest.raises(AssertionError, match="the search ended with ends: it ended its process"):
        searched(module(ends=ends), [Exercise("09_planted", "one", ("x",), (Call((1,), {}, 2),), None, ())], tmp_path)


def test_a_search_that_a_signal_ended_is_made_once_more(tmp_path: Path) -> None:
    def falls(x: int) -> int:
        if not (first := tmp_path / "first").exists():
            first.touch()
            LIBC.abort()
        return 2 * x

    known = [Exercise("09_planted", "one", ("x",), (Call((3,), {}, 6), Call((4,), {}, 8)), None, ())]
    assert [one.what for one in searched(module(falls=falls), known, tmp_path)] == ["falls"]

    def always(x: int) -> int:
        LIBC.abort()
        return x

    with pytest.raises(AssertionError, match="the search ended with always: SIGABRT"):
        searched(module(always=always), known, tmp_path)


def test_memory_that_nobody_has_written_to_is_no_answer(tmp_path: Path) -> None:
    """It may hold the right result, which an earlier try left there."""
    torch.set_num_threads(1)  # a fork has none of its parent's threads
    calls = [Call((x,), {}, x.softmax(1)) for x in (torch.randn(64, 500), torch.randn(32, 300))]

    def right(x: torch.Tensor) -> torch.Tensor:
        return x.softmax(1)

    def unwritten(x: torch.Tensor) -> torch.Tensor:
        for _ in range(4):
            del_soon = x.softmax(1)
        del del_soon
        return torch.empty_like(x)

    known = [Exercise("09_planted", "row_softmax", ("x",), tuple(calls), None, ())]
    found = searched(module(right=right, unwritten=unwritten), known, tmp_path)
    assert [one.what for one in found] == ["right"]
