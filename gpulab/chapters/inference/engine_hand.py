"""Inference: the last layer of an int8 engine, taken apart: what goes in, what it is made of, what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from gpulab.chapters.inference.engine import NotAnEngine, opened, read


@dataclass(frozen=True)
class Layer:
    """A linear layer in int8, as the engine has it, and what the engine made of some pictures."""

    x: NDArray[np.int8]
    """(N, in): what the layer before handed over."""
    weight: NDArray[np.int8]
    """(out, in)"""
    bias: NDArray[np.float32]
    """(out,)"""
    x_scale: float
    weight_scales: NDArray[np.float32]
    """One for each output, (out,), or one for all, (1,)."""
    y_scale: float
    """One unit of the answer."""
    y: NDArray[np.int8]
    """(N, out): the answer of ONNX Runtime, in these units."""


def last_layer(content: bytes, images: Any) -> Layer:
    """The last linear layer of an int8 file, fed with images (N, 3, 32, 32).

    Args:
        content: from `quantize_static` with `extra_options={"ActivationSymmetric": True}`, so that every zero is a 0.
        images: float32.

    Raises:
        NotAnEngine: the file has no such layer.
    """
    model = read(content)
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    maker = {node.output[0]: node for node in model.graph.node}
    linear = next((node for node in reversed(model.graph.node) if node.op_type == "Gemm"), None)
    if linear is None or any(name not in maker or maker[name].op_type != "DequantizeLinear" for name in linear.input):
        raise NotAnEngine("there is no linear layer in int8 in this file: quantize it first.")
    into, weight, bias = (maker[name] for name in linear.input)
    out = next(node for node in model.graph.node if node.input[0] == linear.output[0])
    seen = (into.input[0], out.output[0])
    for name in seen:
        if name not in {one.name for one in model.graph.output}:
            model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT8, None))
    session = opened(model.SerializeToString())
    x, y = session.run(list(seen), {session.get_inputs()[0].name: np.asarray(images)})
    return Layer(
        x=x,
        weight=held[weight.input[0]],
        bias=(held[bias.input[0]] * held[bias.input[1]]).astype(np.float32),
        x_scale=float(held[into.input[1]]),
        weight_scales=np.atleast_1d(held[weight.input[1]]),
        y_scale=float(held[out.input[1]]),
        y=y,
    )
