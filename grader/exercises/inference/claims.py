"""Inference: whether `accuracy_cost` tells the truth: its files are run, and their ranges compared with the pictures.

What is right is computed by the test. Files are run by `gpulab.chapters.inference.onnx_sandbox`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

from gpulab import check
from gpulab.chapters.inference import onnx_sandbox as box
from gpulab.chapters.inference.engine_checks import Entry, check_open, input_ends, whole

WIDER = 1.5
"""Times the calibration set's largest value from which an engine's range was found elsewhere."""


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


def check_calibration(model: onnx.ModelProto, calibration: Any, tested: Any, what: str) -> None:
    """Passes if the range of an int8 engine's input is that of the calibration pictures.

    Args:
        model: of the engine.
        calibration: images whose range it must be.
        tested: images of the test set, which reach further.
        what: the engine, in words.

    Raises:
        AssertionError: it is not, or there is no static range at all.
    """
    kinds = {node.op_type for node in model.graph.node}
    if any("Dynamic" in kind or "Integer" in kind for kind in kinds):
        raise AssertionError(f"{what}: it is quantized dynamically: it looks for its range at every batch anew, which"
                             " costs time and needs no calibration. quantize_static is asked for.")  # fmt: skip
    ends = input_ends(model)
    if ends is None:
        only = "QuantizeLinear" not in kinds
        weights = " Only the weights are small: products are still done in float32." if only else ""
        raise AssertionError(f"{what}: its input is not quantized.{weights} quantize_static does both.")
    bottom, top = ends
    lowest, own = float(np.asarray(calibration).min()), float(np.asarray(calibration).max())
    theirs = float(np.asarray(tested).max())
    text = f"{what}: its input's range ends at {top:.3g}, the calibration pictures end at {own:.3g}"
    if top > WIDER * own:
        tests = f" Over-exposed pictures as bright as {theirs:.3g} are in the test set only:"
        leak = f"{tests} it was calibrated on the test set." if abs(top / theirs - 1) < 0.35 else "Calibrated on what?"
        raise AssertionError(f"{text}. {leak.strip()}")
    if top < own / 3 or bottom > lowest / 3:
        start = f"{text}; it begins at {bottom:.3g}, they at {lowest:.3g}"
        raise AssertionError(f"{start}. Was it calibrated on pictures at all, normalized like the others?")
