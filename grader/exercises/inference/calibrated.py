"""Whether the ranges inside an int8 file of `accuracy_cost` are those of the calibration pictures.

The range of the input can be read off the file; the others can only be seen when it runs: calibration pictures reach
the end of a range that was found on them, and only a part of one that was found on brighter pictures.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from gpulab.chapters.inference import onnx_sandbox as box

LEAST = 0.5
"""Share of a range that the calibration pictures reach. Right files reach 0.8 and more; those that were calibrated on
pictures four to six times as bright, 0.35 at most."""
CODES = ("QuantizeLinear", "QLinearConv", "QLinearMatMul", "QGemm", "QLinearAdd")
"""Nodes whose output is quantized."""


def check_ranges(model: onnx.ModelProto, calibration: Any, what: str) -> None:
    """Passes if the calibration pictures reach the ends of the ranges of all activations.

    Args:
        model: an int8 engine.
        calibration: images that it was calibrated on.
        what: the engine, in words.

    Raises:
        AssertionError: they reach less than `LEAST` of one.
    """
    zeros = _zero_points(model)
    names = list(zeros)
    if not names:
        return
    batch = np.ascontiguousarray(calibration, dtype=np.float32)
    try:
        boxed = box.all_outputs([_showing(model, name) for name in names], [[batch]] * len(names))
    except ValueError as error:
        raise AssertionError(f"{what}: {error}.") from None
    for name, row in zip(names, boxed, strict=True):
        codes = row if isinstance(row, str) else row[0]
        if isinstance(codes, str) or codes.dtype.kind not in "iu":
            continue
        ends, zero = np.iinfo(codes.dtype), zeros[name]
        above = (int(codes.max()) - zero) / max(1, ends.max - zero)
        below = (zero - int(codes.min())) / max(1, zero - ends.min)
        if max(above, below) < LEAST:
            raise AssertionError(
                f"{what}: the calibration pictures reach only {max(above, below):.0%} of the range of {name!r}. Was it"
                " found on other pictures, such as those of the test set? Keep the ranges that quantize_static finds on"
                " the calibration pictures."
            )


def _zero_points(model: onnx.ModelProto) -> dict[str, int]:
    """Quantized activation → its zero point, where that is in the file."""
    held = {tensor.name: tensor for tensor in model.graph.initializer}
    found = {}
    for node in model.graph.node:
        if node.op_type not in CODES or node.input[0] in held:
            continue
        place = 2 if node.op_type == "QuantizeLinear" else len(node.input) - 1 if node.op_type != "QLinearConv" else 7
        name = node.input[place] if len(node.input) > place else ""
        if name and name not in held:
            continue
        zero = numpy_helper.to_array(held[name]).reshape(-1) if name else np.zeros(1, np.int64)
        if zero.size == 1 and zero.dtype.kind in "iu":
            found[str(node.output[0])] = int(zero[0])
    return found


def _showing(model: onnx.ModelProto, name: str) -> bytes:
    """The file with one of its inner tensors as its only output."""
    other = onnx.ModelProto()
    other.CopyFrom(model)
    del other.graph.output[:]
    other.graph.output.append(onnx.ValueInfoProto(name=name))
    return bytes(other.SerializeToString())
