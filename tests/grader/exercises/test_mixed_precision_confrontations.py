"""The answers to chapter 05 against readings of a GPU, and against broken ones.

What is read on a GPU is read here on the CPU by the same code: float16, the scaler, and the trainings follow the same
rules there. Autocast's rules for CUDA are asked of fake tensors.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from altering import altered
from confronted import findings, sentences
from courses import ROOT
from torch._subclasses.fake_tensor import FakeTensorMode

from gpulab.check import WrongAnswer
from gpulab.training.problem import weights_of
from grader.authoring.myst import read_source
from grader.dev import gpu_rows
from grader.exercises.mixed_precision import bugs, clipped, confrontations, halves, scaling
from grader.model.course import Course

BY_EXERCISE = {one.exercise: one for one in confrontations.CONFRONTATIONS}
CHANGED = "the judge notices a changed argument, not a reading"


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def held(
    exercise: str, plausible: dict[str, Any], broken: dict[str, Any], passing: dict[str, str] | None = None
) -> None:
    trains = exercise.startswith("train_")
    assert findings(BY_EXERCISE[exercise], "05", plausible, broken, passing, remembered=trains) == []


@functools.cache
def taken(take: Callable[[str], Any]) -> Any:
    """Readings of the CPU."""
    return take("cpu")


def test_every_exercise_says_how_it_meets_the_gpu() -> None:
    met = gpu_rows.met(read_source(Course(ROOT).chapter("05").source))
    assert len(met) == 10
    assert all(one.ways for one in met)
    assert sentences(confrontations.CONFRONTATIONS) == []


def test_fp16_limits() -> None:
    found = taken(halves.limits)
    broken = {
        "subnormals flushed to zero": altered(found, smallest_subnormal=2.0**-14),
        "bfloat16": {"max": 3.39e38, "smallest_normal": 2.0**-126, "smallest_subnormal": 2.0**-133, "epsilon": 2.0**-7},
        "nothing measured": dict.fromkeys(found, 0.0),
        "an infinity": altered(found, max=math.inf),
    }
    held("fp16_limits", {"any GPU": found}, broken)


def test_underflow_fraction() -> None:
    found = taken(halves.lost)
    network, zeros = found
    assert network["lost"][0] > 50 > network["lost"][2] > 0  # enough is lost, and enough is not
    flushed = [sum(0 < abs(value) * scale < 2.0**-14 for value in network["gradients"]) for scale in halves.SCALES]
    broken = {
        "more with a larger scale": [altered(network, lost=network["lost"][::-1])],
        "more than there are": [altered(network, lost=[300, 300, 300, 0, 0])],
        "subnormals flushed to zero": [altered(network, lost=flushed)],
        "of nothing": [altered(zeros, lost=[1, 0, 0, 0, 0])],
    }
    passing = {"changes its argument": CHANGED} | dict.fromkeys(
        ("gives up where the gradients add up to zero", "gives up where the largest gradient is zero"),
        "the gradients of a network have both signs and do not add up to 0",
    )
    passing["infinite ones count as lost"] = "the gradients of a network are finite"
    passing["leaves out what becomes infinite"] = passing["infinite ones count as lost"]
    passing["asks after the multiplication which ones are zero"] = "no gradient of a network is so small"
    passing["equal gradients count once"] = "no two gradients of a network are equal"
    passing["exactly half of the smallest number is kept"] = "no gradient of a network is exactly that half"
    passing["the scale itself in float16"] = "at 65536 nothing is lost, and float16 holds the other scales"
    held("underflow_fraction", {"any GPU": found}, broken, passing)


def test_largest_safe_scale() -> None:
    found = taken(halves.safe)
    broken = {
        "not a power of two": [one | {"scale": 3.0} for one in found],
        "the search never began": [one | {"scale": 2.0**-40} for one in found],
        "the search never ended": [one | {"scale": 2.0**60} for one in found],
        "one step too far": [one | {"scale": 2 * one["scale"]} for one in found],
    }
    rows = ("the first row of an array, all of a list", "the last row of an array")
    rows = (*rows, "Python's max, in one dimension only")
    passing = dict.fromkeys(rows, "the readings are single rows; the hidden test has arrays")
    passing["from a negative exponent back to 1 where something is lost"] = (
        "no reading loses a gradient at such a scale"
    )
    formulas = ("formula with 65519", "formula with 65519.99", "formula with 65520, which becomes infinite itself")
    passing |= dict.fromkeys(formulas, "no reading lies above 65519 and up to 65520, times a power of two")
    held("largest_safe_scale", {"any GPU": found}, broken, passing)


def test_simulate_scaler() -> None:
    found = taken(scaling.scaled)
    broken = {
        "a scaler that is switched off": [one | {"scales": [1.0] * 40} for one in found],
        "updates left out": [one | {"scales": one["scales"][:-1]} for one in found],
        "infinities overlooked": [one | {"scales": [one["settings"]["init_scale"]] * 40} for one in found],
        "grows too early": [one | {"settings": one["settings"] | {"growth_interval": 5}} for one in found],
    }
    passing = {"never above 2**24": "the scaler's readings stay below 2**24"}
    held("simulate_scaler", {"any GPU": found}, broken, passing)


@functools.cache
def cuda_types() -> dict[str, str]:
    """What autocast's rules for CUDA give, by fake tensors; a gradient's type by the CPU."""
    with torch.autocast("cpu", dtype=torch.float16):
        gradient = scaling.gradient_type("cpu")
    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", torch.float16)
    try:
        with FakeTensorMode():
            return scaling.result_types("cuda") | {"gradient": gradient}
    finally:
        torch.set_autocast_enabled("cuda", False)


MENU = "the exercise's own check gives points for it"


def test_autocast() -> None:
    found = cuda_types()
    assert len(found) == 10
    off = altered(found, matmul="float32", conv2d="float32", softmax="float16", sum="float16", layer_norm="float16")
    broken = {
        "autocast switched off": off,
        "bfloat16 for float16": altered(found, matmul="bfloat16"),
    }
    passing = {
        "eight of ten": MENU,
        "float64 for a sum of two types": MENU,
        "float32 everywhere but for the key that names its type": "readings have no names to guess by",
    }
    held("AUTOCAST", {"any GPU": found}, broken, passing)


def test_train_amp_clipped() -> None:
    found = taken(clipped.trained)

    def with_run(name: str, **changes: Any) -> Any:
        return altered(found, runs=found["runs"] | {name: found["runs"][name] | changes})

    losses = found["runs"]["loose"]["losses"]
    started = {key: one.tolist() for key, one in weights_of(clipped.problem_of("loose", "cpu").model()).items()}
    broken = {
        "NaN": with_run("loose", losses=[math.nan] * 24),
        "nothing learned": with_run("clipped", losses=losses[:12] * 2),
        "skipped without an overflow": with_run("loose", skipped=1),
        "not skipped": with_run("stormy", skipped=0),
        "no scaler": with_run("clipped", scales=[1.0] * 8),
        "weights that never moved": with_run("loose", weights=started),
    }
    near = with_run("loose", losses=[loss * 1.02 for loss in losses])
    divided = (
        "what is left of earlier windows has been unscaled, and is divided by the scale once more: 1.5e-5 of it stays"
    )
    whole = "the gradient is the same, and a GPU has room for a window of this network"
    passing = {"never zeroes": divided, "adds up a window's losses, and goes backward once": whole}
    passing["zeroes once per epoch"] = divided
    passing["compares with the first scale"] = "in a run, either no window is skipped or every one"
    passing["backward inside autocast"] = "one product of the last layer is rounded, which is less than the spread"
    held("train_amp_clipped", {"a GPU": found, "a GPU that rounds otherwise": near}, broken, passing)


def test_amp_bugs() -> None:
    found = taken(bugs.symptoms)
    silent = found | {"A": found["F"] | {"inside": False}}
    broken = {
        "a scaler that is switched off": {letter: one | {"scales": [1.0] * 4} for letter, one in silent.items()},
        "another exception": found | {"D": found["D"] | {"raised": "CUDA error: out of memory"}},
        "loops mixed up": dict(zip(found, [*list(found.values())[1:], found["A"]], strict=True)),
    }
    held("AMP_BUGS", {"any GPU": found}, broken, {"no update in A": MENU})


def test_a_menu_names_what_the_gpu_said_of_each_wrong_entry(capsys: pytest.CaptureFixture[str]) -> None:
    told = dict.fromkeys("abcd", "x")
    with pytest.raises(WrongAnswer, match=r"0 of 4 entries are right(.|\n)*'c': you said 'y'. Seen: x."):
        scaling.require_menu(dict.fromkeys("abcd", "y"), told, ("x", "y"), "NAME", "Seen: {}.")
    scaling.require_menu(dict.fromkeys("abcd", "x"), told, ("x", "y"), "NAME", "Seen: {}.")
    assert capsys.readouterr().out == ""
