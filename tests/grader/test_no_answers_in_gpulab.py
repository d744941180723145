"""`gpulab`, which every student's process imports, holds nothing that answers an exercise.

What answers one is found by trying everything that is there (`answer_search`) on the calls that the tests make
(`recorded_calls`).
"""

from __future__ import annotations

import importlib
import pkgutil
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from answer_search import Call, Exercise, Finding, search
from recorded_calls import in_child, recorded

import gpulab
from grader.model.course import Course

ROOT = Path(__file__).resolve().parents[2]
SEARCHED = ("gpulab.chapters.ddp_scaling", "gpulab.chapters.inference", "gpulab.chapters.profiling")
"""Packages that are searched."""
PRELOADER = "gpulab.chapters.inference.preload"
"""It only imports, and takes long."""


@pytest.fixture(scope="module")
def exercises(tmp_path_factory: pytest.TempPathFactory) -> list[Exercise]:
    """Every exercise of the course, with calls and right results."""
    import torch

    torch.set_num_threads(1)
    folder, found = tmp_path_factory.mktemp("recorded"), []
    for chapter in Course(ROOT).chapters():
        of_chapter = in_child(lambda chapter=chapter: recorded(chapter), folder / f"{chapter.name}.pickle")
        assert of_chapter, f"{chapter.name}: nothing was recorded"
        found += of_chapter
    return found


def modules() -> list[types.ModuleType]:
    names = [one.name for one in pkgutil.walk_packages(gpulab.__path__, "gpulab.")]
    return [importlib.import_module(name) for name in names if name.startswith(SEARCHED) and name != PRELOADER]


@pytest.mark.slow
def test_every_exercise_is_known_by_a_call_or_a_value(exercises: list[Exercise]) -> None:
    unknown = [one.name for one in exercises if not one.calls and one.value is None]
    assert set(unknown) <= {"profile_step"}, "of these the search would find no answer"  # it returns a profiler
    assert len({one.name for one in exercises}) >= 80


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_gpulab_answers_no_exercise(exercises: list[Exercise], tmp_path: Path) -> None:
    found: list[Finding] = []
    for module in modules():
        place = tmp_path / f"{module.__name__}.pickle"
        of_module = in_child(lambda module=module: search(module, exercises), place)
        assert of_module is not None, f"{module.__name__}: the search ended early"
        found += of_module
    listed = "\n".join(map(str, found))
    assert not found, f"these belong into grader/exercises, where no student can call them:\n{listed}"


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


PROGRAM = "\n".join(f"number_{number} = {number} + {number}" for number in range(6))
MENU = ("caches", "registers", "streams")


def exercise(answer: Callable[..., Any], *calls: tuple[Any, ...]) -> Exercise:
    return Exercise(
        "09_planted", "steps", ("x", "scale"), tuple(Call(one, {}, answer(*one)) for one in calls), None, ()
    )


def planted(**held: Any) -> types.ModuleType:
    module = types.ModuleType("gpulab.planted")
    for name, value in held.items():
        if callable(value):
            value.__module__ = module.__name__
        setattr(module, name, value)
    return module


@pytest.mark.parametrize("fault", [{"_rounded": _rounded}, {"Tools": Tools}])
def test_a_callable_that_answers_is_found(fault: dict[str, Any]) -> None:
    """With other names, another order, in a record, as a method, up to a factor."""
    draw = np.random.default_rng(4)
    steps = exercise(
        lambda x, scale: np.clip(np.rint(x / scale), -9, 9),
        *((draw.standard_normal(20), scale) for scale in (0.25, 0.5, 0.3)),
    )
    found = search(planted(**fault, _doubled=_doubled), [steps])
    assert [one.exercise for one in found] == ["steps"]
    assert found[0].what.startswith(next(iter(fault)))


def test_a_value_that_answers_is_found() -> None:
    wanted = [
        Exercise("09_planted", name, (), (), value, ())
        for name, value in {"CODES": {"streams", "registers", "caches"}, "SCRIPT": PROGRAM + "\nend = 1"}.items()
    ]
    found: Sequence[Finding] = search(planted(MENU=MENU, PROGRAM=PROGRAM), wanted)
    assert {str(one) for one in found} == {
        "gpulab.planted: MENU answers CODES",
        "gpulab.planted: PROGRAM answers SCRIPT",
    }
