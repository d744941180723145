"""What a GPU reads for the exercises on inference: right answers agree with it, wrong ones do not."""

from __future__ import annotations

import copy
import functools
import random
from typing import Any

import pytest
from confronted import findings, sentences
from courses import ROOT

from grader.authoring.myst import read_source
from grader.dev import gpu_rows
from grader.exercises.confront import Confrontation, declared
from grader.exercises.inference import confrontations as asked
from grader.exercises.inference import serving
from grader.model.course import Course

CHAPTER = "09"
VALUE = "the values are right; the judge itself compares arguments before and after"
TYPE = "the values are right; other assertions of the test look at the type of the elements"


def one(name: str) -> Confrontation:
    return declared()[name]


@functools.cache
def here(name: str) -> Any:
    """What this machine's CPU gives for the same operations: they round, sum, and convolve alike."""
    takes = {
        "quantize": asked.rounded, "calibrate": asked.flowed, "int8_linear": asked.summed,
        "fold_batchnorm": asked.normed, "export_onnx": asked.scored,
    }  # fmt: skip
    return takes[name]("cpu")


def spoiled(name: str, *path: Any, by: Any) -> Any:
    """The same readings with one value changed."""
    readings = copy.deepcopy(here(name))
    at = readings
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = by(at[path[-1]])
    return readings


def test_every_exercise_says_how_it_meets_the_gpu() -> None:
    met = gpu_rows.met(read_source(Course(ROOT).chapter(CHAPTER).source))
    assert {each.exercise for each in met if each.ways} == {
        *(o.exercise for o in asked.CONFRONTATIONS),
        "accuracy_cost",
    }
    assert sentences(asked.CONFRONTATIONS) == []


def test_quantize() -> None:
    broken = {
        "a step beside": spoiled("quantize", 1, "steps", 7, by=lambda step: step + 1),
        "down to -128": spoiled("quantize", 2, "steps", 0, by=lambda step: -128),
        "wrapped": spoiled("quantize", 3, "steps", 0, by=lambda step: 116),
    }
    passing = {"int32": TYPE, "changes its argument": VALUE}
    passing["converts to int64 before it clips"] = "no reading is infinite or too large for an int64"
    passing["infinity becomes 0"] = "no reading is infinite"
    passing["rounds to one decimal place first"] = "no reading lies that close below a half"
    assert findings(one("quantize"), CHAPTER, {"this CPU": here("quantize")}, broken, passing) == []


def test_calibrate() -> None:
    # Sums of products on a GPU differ in the last digits.
    close = spoiled("calibrate", 0, "limits", 1, by=lambda limit: limit * (1 + 2e-5))
    broken = {
        "half of it": spoiled("calibrate", 0, "limits", 0, by=lambda limit: limit / 2),
        "0.1% off": spoiled("calibrate", 1, "limits", 3, by=lambda limit: limit * 1.001),
    }
    plausible = {"this CPU": here("calibrate"), "rounded otherwise": close}
    passing = {"changes its argument": VALUE}
    passing["a percentile below 1 is taken for a share"] = "no reading has a percentile below 1"
    assert findings(one("calibrate"), CHAPTER, plausible, broken, passing) == []


def test_int8_linear() -> None:
    broken = {
        "one more": spoiled("int8_linear", 1, 3, 5, by=lambda total: total + 100),
        "float32": [[[total // 8 * 8 for total in row] for row in one] for one in here("int8_linear")],
    }
    passing = {"float64": TYPE}
    assert findings(one("int8_linear"), CHAPTER, {"this CPU": here("int8_linear")}, broken, passing) == []


def test_a_gpu_without_an_int8_product_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def refuses(*_: Any) -> Any:
        raise RuntimeError("CUDA error: CUBLAS_STATUS_NOT_SUPPORTED\nmore")

    monkeypatch.setattr(torch, "_int_mm", refuses)
    with pytest.raises(asked.Absent, match=r"NOT_SUPPORTED$"):
        asked.summed("cpu")


def test_fold_batchnorm() -> None:
    broken = {"one score off": spoiled("fold_batchnorm", 0, "scores", 0, 0, 0, 0, by=lambda score: score + 1)}
    passing = {"changes its argument": VALUE, "without a bias, the mean is forgotten": "these convolutions have biases"}
    assert findings(one("fold_batchnorm"), CHAPTER, {"this CPU": here("fold_batchnorm")}, broken, passing) == []


def test_export_onnx() -> None:
    broken = {"TF32": [[[score * 1.001 + 1e-3 for score in row] for row in batch] for batch in here("export_onnx")]}
    same = "this network has no batch norm and no dropout; the hidden test's own problem has batch norms"
    modes = ("training mode", "training mode, as it came")
    passing = dict.fromkeys([*modes, "today's exporter in training mode, which only dropout tells"], same)
    readings = {"this CPU": here("export_onnx")}
    assert findings(one("export_onnx"), CHAPTER, readings, broken, passing, remembered=True) == []


def run(batch_ms: dict[int, float], spread: float = 0.0, seed: int = 1) -> dict[str, Any]:
    """What a server measures whose batches take these times, up to a random share."""
    draw, now = random.Random(seed), [0.0]

    def clock() -> float:
        now[0] += 0.002  # a look at the clock and at the queue
        return now[0]

    def batch(size: int) -> None:
        now[0] += batch_ms[size] * (1 + draw.uniform(-spread, spread))

    given, wait_ms = serving.requests(batch_ms)
    batches = serving.served(given, wait_ms, batch, clock)
    return {"batch_ms": list(batch_ms.values()), "requests": given, "max_wait_ms": wait_ms, "served": batches}


V100 = {1: 10.37, 2: 10.24, 3: 10.35}
T4 = {1: 10.7, 2: 11.26, 3: 12.0}
"""ms_avg of ResNet-50 in FP32 on a V100 and a T4 at 1 and 2 pictures, between 2 and 4 for 3:
NVIDIA/DeepLearningExamples@729963dd, PyTorch/Classification/ConvNets/resnet50v1.5/README.md."""
SMALL = {1: 4.2, 2: 7.7, 3: 11.0}
"""A laptop GPU that is busy with one picture."""


def test_serve_batches() -> None:
    plausible = {"V100": run(V100), "T4, 1% noise": run(T4, 0.01), "laptop, 2% noise": run(SMALL, 0.02, seed=3)}
    late = run(SMALL)
    late["served"][3]["end_ms"] += 0.2 * SMALL[1]
    other = run(T4)
    other["served"][1]["ids"], other["served"][2]["ids"] = other["served"][1]["ids"][:2], ["user 3", "user 4"]
    waited = run(V100)
    for batch in waited["served"][3:]:
        batch["start_ms"], batch["end_ms"] = batch["start_ms"] + 2, batch["end_ms"] + 2
    broken = {"interrupted": late, "throttled": run(SMALL, 0.3), "other batches": other, "it waited too long": waited}
    passing = {
        "ties by id instead of by place": "no two requests arrive in the same instant on a real clock",
        "a clock that ticks in quarters of a millisecond": "a quarter of a ms is within what measurements spread",
        "changes its argument": VALUE,
        "batches of the call before": "a server is asked once",
        "after a batch, the oldest request does not wait": "no request is left over that has to wait after a batch",
        "the largest batch that has a time": "max_batch is the largest batch that was timed",
    }
    assert findings(one("serve_batches"), CHAPTER, plausible, broken, passing) == []
