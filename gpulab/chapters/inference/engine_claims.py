"""Inference: whether the entries of `accuracy_cost` are whole, and what range an int8 file's input has.

Runs no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from gpulab import check
from gpulab.chapters.inference.engine_checks import model_in

FLOAT, HALF, SIGNED, UNSIGNED = (onnx.TensorProto.DataType.Value(one) for one in ("FLOAT", "FLOAT16", "INT8", "UINT8"))
PRECISIONS = {"float32": (FLOAT,), "float16": (HALF,), "int8": (SIGNED, UNSIGNED)}
"""Precision → the types that the largest weight of such a file may have."""
KEYS = ("accuracy", "bytes", "model")


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
        accuracy = check.as_python(inside["accuracy"])
        if type(accuracy) not in (int, float) or not 0 <= accuracy <= 1:
            percent = " That is in percent." if isinstance(accuracy, (int, float)) and 1 < accuracy <= 100 else ""
            raise AssertionError(f"{at}['accuracy']: you returned {accuracy!r:.60}, expected a share, 0 to 1.{percent}")
        if _input_type(model) != FLOAT:
            held = onnx.TensorProto.DataType.Name(_input_type(model)).lower()
            raise AssertionError(
                f"{at}['model']: its input is of type {held}, expected float32: whoever calls the file must not have to"
                " know its precision (keep_io_types=True)."
            )
        kind = _largest(model)
        if kind not in types:
            held = onnx.TensorProto.DataType.Name(kind).lower()
            raise AssertionError(f"{at}['model']: its largest weight is of type {held}, expected {name}.")
        found[name] = Entry(float(accuracy), bytes(inside["model"]), model)
    return found


def _input_type(model: onnx.ModelProto) -> int:
    """The element type of the model's one input."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return next(int(one.type.tensor_type.elem_type) for one in model.graph.input if one.name not in weights)


def input_top(model: onnx.ModelProto) -> float | None:
    """The largest number that the quantised input of a model can hold; None when the input is not quantised."""
    ends = input_ends(model)
    return None if ends is None else ends[1]


def input_ends(model: onnx.ModelProto) -> tuple[float, float] | None:
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
