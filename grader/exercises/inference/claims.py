"""Inference: whether `accuracy_cost` tells the truth: its files are run.

What is right is computed by the test. Files are run by `gpulab.chapters.inference.onnx_sandbox`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpulab import check
from gpulab.chapters.inference import onnx_sandbox as box
from gpulab.chapters.inference.engine_checks import Entry, check_open, whole


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
    near = [note for wrong, note in others.items() if abs(wrong - true) > slack and abs(said - wrong) <= slack]
    note = near[0] if near else "It was measured on something else, or with another model."
    text = f"{what}[{name!r}]['accuracy']: you returned {said:.4g}, its model has {true:.4g} on the test pictures."
    raise AssertionError(f"{text} {note}")
