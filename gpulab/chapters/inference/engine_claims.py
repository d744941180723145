"""Inference: whether `accuracy_cost` tells the truth: its files are run.

Files are run by `onnx_sandbox`; whether they are whole is up to `engine_checks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gpulab import Problem, check
from gpulab.chapters.inference import onnx_sandbox as box
from gpulab.chapters.inference.engine_checks import Entry, check_open, shuffled, whole
from gpulab.chapters.inference.engine_data import HeldOut

SLACK = {"float32": 0.025, "float16": 0.025, "int8": 0.2}
"""By how much a file's accuracy may differ from the network's. Of 61 right int8 files, 60 were off by 0.07 at most, and
one by 0.125: the test pictures are brighter than those of the calibration."""


def share_right(network: nn.Module, pictures: HeldOut) -> float:
    """Share of the test pictures that a network in eval mode gets right."""
    with torch.no_grad():
        return float((network(pictures.images).argmax(1) == pictures.labels).double().mean())


def check_claims(
    found: Mapping[str, Entry], problem: Problem, network: nn.Module, pictures: HeldOut, what: str
) -> dict[str, float]:
    """Passes if each file is the trained network's, and as accurate as the student says: precision → its true accuracy.

    Args:
        found: `entries`.
        problem: what the student was given.
        network: `fitted(problem)`.
        pictures: `held_out(problem)`.
        what: the call, in words.

    Raises:
        AssertionError: one is not.
    """
    expected = share_right(network, pictures)
    others = {
        share_right(problem.model().eval(), pictures): (
            "That is an untrained network: fitted(problem) is the trained one."
        ),
        problem.accuracy(network): (
            "That is over the pictures that it was trained on: they say nothing about new ones."
        ),
        expected: "That is the accuracy of another precision: measure each file by itself.",
    }
    true = true_accuracies(found, pictures.images, pictures.labels, what)
    for name, share in true.items():
        check_accuracy(name, found[name].accuracy, share, len(pictures.labels), what, others)
        if abs(share - expected) > SLACK[name]:
            near = [note for value, note in others.items() if value != expected and abs(value - share) < 0.02]
            note = near[0] if near else "Is it fitted(problem), and all of it?"
            if name == "int8" and not near:
                note = "Is it made from fitted(problem), and calibrated on held_out(problem).calibration?"
            right = f"the {name} file gets {share:.4g} of the test pictures right"
            raise AssertionError(f"{what}: {right}, the trained network {expected:.4g} in float32. {note}")
    return true


def true_accuracies(found: Mapping[str, Entry], images: Any, labels: Any, what: str) -> dict[str, float]:
    """What share of test pictures each entry's file gets right in ONNX Runtime: precision → 0 to 1.

    Args:
        found: `entries`.
        images: float32 (N, 3, 32, 32).
        labels: (N,)
        what: the call, in words.

    Raises:
        AssertionError: one does not take them.
    """
    batches = []
    for name, entry in found.items():
        batches.append([np.ascontiguousarray(images, dtype=np.float32)])
        check_open(entry.graph, batches[-1], f"{what}[{name!r}]['model']")
    try:
        boxed = box.all_outputs([entry.model for entry in found.values()], batches)
    except ValueError as error:
        raise AssertionError(f"{what}: {error}.") from None
    true = {}
    for name, row, batch in zip(found, boxed, batches, strict=True):
        at = f"{what}[{name!r}]['model']"
        if isinstance(row, str):
            raise AssertionError(f"{at}: {row}.")
        (answer,) = whole(row, batch, at)
        check.equal(answer.shape, (len(labels), 10), f"{at}: shape of its scores")
        true[name] = float((answer.argmax(1) == np.asarray(labels)).mean())
    return true


def check_weights(found: Mapping[str, Entry], images: Any, what: str) -> None:
    """Passes if the scores of the small files come from their small weights: others are expected when these are mixed.

    A network in float32 may stand beside small products for show, even where their result multiplies its scores.

    Args:
        found: `entries`.
        images: float32 (N, 3, 32, 32), some twenty of them or more.
        what: the call, in words.

    Raises:
        AssertionError: the scores of one stay what they were, up to a factor and a summand for each class.
    """
    names, batch = ("float16", "int8"), np.ascontiguousarray(images, dtype=np.float32)
    files = [file for name in names for file in (found[name].model, shuffled(found[name].graph, name))]
    try:
        boxed = box.all_outputs(files, [[batch] for _ in files])
    except ValueError as error:
        raise AssertionError(f"{what}: {error}.") from None
    for name, before, after in zip(names, boxed[::2], boxed[1::2], strict=True):
        pair = [row[0] for row in (before, after) if not isinstance(row, str)]
        scores = [np.asarray(one, np.float64) for one in pair if not isinstance(one, str)]
        if len(scores) == 2 and _same_up_to_scale(*scores):
            raise AssertionError(
                f"{what}[{name!r}]['model']: its scores do not come from its {name} weights: they stayed the same when "
                "the elements of these were put into another order."
            )


def _same_up_to_scale(before: NDArray[np.float64], after: NDArray[np.float64]) -> bool:
    """Whether each column (N,) of scores is the other one times a number, plus a number."""
    one, other = (scores - scores.mean(0) for scores in (before, after))
    sizes = (other**2).sum(0)
    factors = (one * other).sum(0) / np.where(sizes > 0, sizes, 1)
    return bool((np.abs(one - factors * other).max(0) <= 1e-3 * np.abs(one).max(0)).all())


def check_accuracy(name: str, said: float, true: float, pictures: int, what: str, others: dict[float, str]) -> None:
    """Passes if what was said about a file's accuracy is what the file does, a picture or two aside.

    Args:
        name: the precision.
        said: by the student.
        true: of `true_accuracies`.
        pictures: in the test set.
        what: the call, in words.
        others: known wrong values, and what to say about them.

    Raises:
        AssertionError: it is not.
    """
    slack = (2.5 if name == "float16" else 1.5) / pictures  # another machine rounds differently, where two are close
    if abs(said - true) <= slack:
        return
    others = others | {1 - true: "That is the share of wrong predictions: accuracy is the share of right ones."}
    near = [note for wrong, note in others.items() if abs(wrong - true) > slack and abs(said - wrong) <= slack]
    note = near[0] if near else "It was measured on something else, or with another model."
    if said == round(true, 1):
        note = "That is rounded to one decimal place: return all its digits."
    text = f"{what}[{name!r}]['accuracy']: you returned {said:.4g}, its model has {true:.4g} on the test pictures."
    raise AssertionError(f"{text} {note}")
