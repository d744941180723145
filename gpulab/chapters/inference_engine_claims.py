"""Chapter 08: whether `accuracy_cost` says the truth: its files are opened, run, and asked what they were fitted to.

What is right is computed by the test. Files are run by `inference_engine_box`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from gpulab import check
from gpulab.chapters import inference_engine_box as box
from gpulab.chapters.inference_engine_checks import check_open, model_in, whole

FLOAT, HALF, SIGNED, UNSIGNED = (onnx.TensorProto.DataType.Value(one) for one in ("FLOAT", "FLOAT16", "INT8", "UINT8"))
PRECISIONS = {"float32": (FLOAT,), "float16": (HALF,), "int8": (SIGNED, UNSIGNED)}
"""Precision → the types that the largest weight of such a file may have."""
KEYS = ("accuracy", "bytes", "model")
WIDER = 1.5
"""Times the calibration set's largest value from which an engine's range was found elsewhere."""


@dataclass(frozen=True)
class Entry:
    """What `accuracy_cost` says about one precision, looked at from outside."""

    accuracy: float
    model: bytes
    graph: onnx.ModelProto


def entries(answer: Any, what: str) -> dict[str, Entry]:
    """The three entries of `accuracy_cost`, whole, each with weights of its own type and its own size.

    Raises:
        AssertionError: something is missing, or not what it says it is.
    """
    names = sorted(answer) if isinstance(answer, dict) else answer
    check.equal(names, sorted(PRECISIONS), f"keys of {what}")
    found = {}
    for name, types in PRECISIONS.items():
        inside, at = answer[name], f"{what}[{name!r}]"
        check.equal(sorted(inside) if isinstance(inside, dict) else inside, sorted(KEYS), f"keys of {at}")
        model = model_in(inside["model"], f"{at}['model']")
        check.equal(inside["bytes"], len(inside["model"]), f"{at}['bytes'], the length of its model")
        accuracy = inside["accuracy"]
        if type(accuracy) not in (int, float, np.float32, np.float64) or not 0 <= accuracy <= 1:
            percent = " That is in percent." if isinstance(accuracy, (int, float)) and 1 < accuracy <= 100 else ""
            raise AssertionError(f"{at}['accuracy']: you returned {accuracy!r:.60}, expected a share, 0 to 1.{percent}")
        kind = _largest(model)
        if kind not in types:
            held = onnx.TensorProto.DataType.Name(kind).lower()
            raise AssertionError(f"{at}['model']: its largest weight is of type {held}, expected {name}.")
        found[name] = Entry(float(accuracy), bytes(inside["model"]), model)
    return found


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
        kind = np.float16 if _input_type(entry.graph) == HALF else np.float32
        batches.append([np.ascontiguousarray(images, dtype=kind)])
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
        raise AssertionError(f"{what}: it is quantised dynamically: it looks for its range at every batch anew, which"
                             " costs time and needs no calibration. quantize_static is asked for.")  # fmt: skip
    ends = _input_ends(model)
    if ends is None:
        only = "QuantizeLinear" not in kinds
        weights = " Only the weights are small: products are still done in float32." if only else ""
        raise AssertionError(f"{what}: its input is not quantised.{weights} quantize_static does both.")
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
        raise AssertionError(f"{start}. Was it calibrated on pictures at all, normalised like the others?")


def input_top(model: onnx.ModelProto) -> float | None:
    """The largest number that the quantised input of a model can hold; None when the input is not quantised."""
    ends = _input_ends(model)
    return None if ends is None else ends[1]


def _input_ends(model: onnx.ModelProto) -> tuple[float, float] | None:
    """The lowest number that the quantised input can hold, and the largest."""
    held = {tensor.name: tensor for tensor in model.graph.initializer}
    names = {one.name for one in model.graph.input} - set(held)
    for node in model.graph.node:
        if node.op_type in ("Cast", "Identity", "Transpose") and node.input[0] in names:
            names.add(node.output[0])
        if node.op_type == "QuantizeLinear" and node.input[0] in names and node.input[1] in held:
            scale = float(numpy_helper.to_array(held[node.input[1]]).max())
            zero = held.get(node.input[2]) if len(node.input) > 2 else None
            offset = np.asarray(numpy_helper.to_array(zero) if zero is not None else np.zeros(1, np.uint8)).reshape(-1)
            steps = np.iinfo(offset.dtype)
            return scale * (float(steps.min) - float(offset[0])), scale * (float(steps.max) - float(offset[0]))
    return None


def _largest(model: onnx.ModelProto) -> int:
    tensors = list(model.graph.initializer)
    tensors += [one.t for node in model.graph.node for one in node.attribute if one.type == onnx.AttributeProto.TENSOR]
    sizes = [(int(np.prod(tensor.dims, dtype=np.int64)), tensor.data_type) for tensor in tensors]
    return int(max(sizes, default=(0, FLOAT))[1])


def _input_type(model: onnx.ModelProto) -> int:
    held = {tensor.name for tensor in model.graph.initializer}
    return next(int(one.type.tensor_type.elem_type) for one in model.graph.input if one.name not in held)
