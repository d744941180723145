"""Inference: whether the files of `accuracy_cost` compute in the precision that they say, and what they were calibrated
on. Looks into their graphs only; `engine_checks` has made sure that they are whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from gpulab.chapters.inference.engine_checks import HALF, SIGNED, UNSIGNED, Entry

WIDER = 1.5
"""Times the calibration set's largest value from which an engine's range was found elsewhere."""


def input_ends(model: onnx.ModelProto) -> list[tuple[float, float]]:
    """The lowest number that the quantized input can hold, and the largest, wherever it is quantized."""
    found = []
    held = {tensor.name: tensor for tensor in model.graph.initializer}
    names = {one.name for one in model.graph.input} - set(held)
    for node in model.graph.node:
        if node.op_type in PASSING and node.input[0] in names:
            names.add(node.output[0])
        if node.op_type == "QuantizeLinear" and node.input[0] in names and node.input[1] in held:
            scale = float(numpy_helper.to_array(held[node.input[1]]).max())
            zero = held.get(node.input[2]) if len(node.input) > 2 else None
            offset = np.asarray(numpy_helper.to_array(zero) if zero is not None else np.zeros(1, np.uint8)).reshape(-1)
            steps = np.iinfo(offset.dtype)
            ends = scale * (float(steps.min) - float(offset[0])), scale * (float(steps.max) - float(offset[0]))
            found.append(ends)
    return found


PASSING = ("Cast", "Identity", "Transpose", "Reshape", "Pad")
"""Nodes after which the input still holds the same numbers."""


def _unlike_input(model: onnx.ModelProto) -> onnx.NodeProto | None:
    """A node that computes with the input before a product gets it quantized, or that quantizes it by a computed scale.

    The ranges of `input_ends` are then not those of what is multiplied.
    """
    graph = model.graph
    made: dict[str, onnx.NodeProto] = {output: node for node in graph.node for output in node.output}
    held = {tensor.name for tensor in graph.initializer}
    given = {one.name for one in graph.input} - held
    quantizers: list[onnx.NodeProto] = []
    for product in (one for one in graph.node if one.op_type in (*PRODUCTS, *QUANTIZED_PRODUCTS)):
        source = made.get(product.input[0])
        if source is not None and source.op_type == "DequantizeLinear":
            source = made.get(source.input[0])
        if source is not None and source.op_type == "QuantizeLinear":
            quantizers.append(source)
    for quantizer in quantizers:
        if not _reaches(quantizer, made, given):
            continue
        if quantizer.input[1] not in held:
            return quantizer
        name = quantizer.input[0]
        for _ in made:  # no longer than that, whatever the names say
            if name in given or name not in made:
                break
            if made[name].op_type not in PASSING:
                return made[name]
            name = made[name].input[0]
    return None


NUMBERS = {"QuantizeLinear": (0,), "DequantizeLinear": (0,), "QLinearConv": (0, 3, 8), "QLinearMatMul": (0, 3),
           "QGemm": (0, 3, 6), "QLinearAdd": (0, 3)}  # fmt: skip
"""Nodes with scales → the places of their other inputs, the numbers that they work on."""


def _computes_scale(model: onnx.ModelProto) -> onnx.NodeProto | None:
    """A node one of whose scales or zero points follows from the model's input."""
    graph = model.graph
    nodes: list[onnx.NodeProto] = [*graph.node]
    takers: dict[str, list[onnx.NodeProto]] = {}
    for node in nodes:
        for name in node.input:
            takers.setdefault(str(name), []).append(node)
    following = {one.name for one in graph.input} - {tensor.name for tensor in graph.initializer}
    waiting = [*following]
    while waiting:
        for node in takers.pop(waiting.pop(), ()):
            new = [str(name) for name in node.output if name and name not in following]
            following.update(new)
            waiting += new
    for node in nodes:
        places = NUMBERS.get(node.op_type, range(len(node.input)))
        if any(name in following for place, name in enumerate(node.input) if place not in places):
            return node
    return None


def _reaches(node: onnx.NodeProto, made: Mapping[str, onnx.NodeProto], given: set[str]) -> bool:
    """Whether what a node takes comes from the model's input, without a product in between."""
    waiting, seen = [str(node.input[0])], set()
    while waiting:
        name = waiting.pop()
        if name in given:
            return True
        before = made.get(name)
        if name not in seen and before is not None and before.op_type not in (*PRODUCTS, *QUANTIZED_PRODUCTS):
            waiting += before.input
        seen.add(name)
    return False


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
        raise AssertionError(f"{what}: it is quantized dynamically: it finds its range again for every batch, which"
                             " costs time and needs no calibration. Use quantize_static.")  # fmt: skip
    if (node := _computes_scale(model)) is not None:
        raise AssertionError(
            f"{what}: a scale of {node.op_type} {node.name!r} is computed from the pictures while the model runs. Use"
            " the fixed scales that quantize_static finds on the calibration pictures."
        )
    every = input_ends(model)
    if not every:
        only = "QuantizeLinear" not in kinds
        weights = " Only the weights are small: products are still done in float32." if only else ""
        raise AssertionError(f"{what}: its input is not quantized.{weights} quantize_static does both.")
    if (node := _unlike_input(model)) is not None:
        raise AssertionError(
            f"{what}: at {node.op_type} {node.name!r}, the pictures are changed before they are quantized, or their"
            " scale is computed in the model. Quantize the pictures unchanged, with a fixed scale from the calibration."
        )
    lowest, own = float(np.asarray(calibration).min()), float(np.asarray(calibration).max())
    theirs = float(np.asarray(tested).max())
    for bottom, top in every:
        text = f"{what}: its input's range ends at {top:.3g}, the calibration pictures end at {own:.3g}"
        if not top <= WIDER * own:  # NaN is in no range
            leak = "Calibrated on what?"
            if abs(top / theirs - 1) < 0.35:
                leak = f"Over-exposed pictures as bright as {theirs:.3g} are in the test set only: it was calibrated on"
                leak += " the test set."
            raise AssertionError(f"{text}. {leak}")
        if top < own / 3 or bottom > lowest / 3:
            start = f"{text}; it begins at {bottom:.3g}, they at {lowest:.3g}"
            raise AssertionError(f"{start}. Was it calibrated on pictures that are normalized like the others?")


def check_low_precision(found: dict[str, Entry], what: str) -> None:
    """Passes if all products with weights are computed in the file's own precision; the last one may stay in float32.

    Raises:
        AssertionError: another one is not; names the first.
    """
    for name in ("float16", "int8"):
        model = found[name].graph
        graph, at = model.graph, f"{what}[{name!r}]['model']"
        inner = next((node for node in _inner_nodes(model) if node.op_type in PRODUCTS), None)
        if inner is not None:
            raise AssertionError(
                f"{at}: {inner.op_type} {inner.name!r} is in a graph inside a node, or in a function that the file"
                " defines. All products must be in the main graph, as exporters and quantizers leave them."
            )
        made = {output: node for node in graph.node for output in node.output}
        held = _held_types(graph)

        def low(node: onnx.NodeProto, name: str = name, made: Any = made, held: Any = held) -> bool:
            sources = [made.get(one) for one in node.input[:2]]
            if name == "int8":
                return all(
                    source is not None
                    and source.op_type == "DequantizeLinear"
                    and _quantized_type(source, made, held) in (SIGNED, UNSIGNED)
                    for source in sources
                )
            cast = sources[1] is not None and sources[1].op_type == "Cast"
            return _carried_type(node.input[1], made, held) == HALF and not cast

        products = [one for one in graph.node if one.op_type in PRODUCTS]
        others = [one for one in products if not low(one)]
        last = products[-1] if len(products) > 1 else None
        if any(one is not last for one in others):
            first = f"{others[0].op_type} {others[0].name!r}"
            raise AssertionError(
                f"{at}: {len(others)} of {len(products)} products are not computed in {name}, the first of them "
                f"{first}."
            )


PRODUCTS = (
    "Conv", "Gemm", "MatMul", "ConvTranspose", "DeformConv", "Einsum", "FusedConv", "FusedGemm", "FusedMatMul", "GRU",
    "LSTM", "NhwcFusedConv", "RNN",
)  # fmt: skip
QUANTIZED_PRODUCTS = ("QLinearConv", "QLinearMatMul", "QGemm")
KEEPING = (*PASSING, "Add", "Concat", "Div", "Expand", "Flatten", "Gather", "Mul", "Neg", "Slice", "Squeeze", "Sub",
           "Tile", "Unsqueeze")  # fmt: skip
"""Nodes whose output has the type of their first input; a Cast aside."""


def _carried_type(name: str, made: Mapping[str, onnx.NodeProto], held: Mapping[str, int]) -> int:
    """The type of a tensor, followed back to where it is written down; 0 where that cannot be told."""
    for _ in range(1 + len(made)):
        if name in held:
            return held[name]
        node = made.get(name)
        if node is not None and node.op_type == "Cast":
            return next((int(one.i) for one in node.attribute if one.name == "to"), 0)
        if node is None or node.op_type not in (*KEEPING, "DequantizeLinear"):
            return 0
        name = node.input[1 if node.op_type == "DequantizeLinear" else 0]  # that of the scale
    return 0


def _inner_nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """The nodes of functions, and of graphs inside nodes, such as the branches of an If."""
    waiting = [node for one in model.functions for node in one.node]
    yield from waiting
    waiting += model.graph.node
    while waiting:
        for attribute in waiting.pop().attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from graph.node
                waiting += graph.node


def _held_types(graph: onnx.GraphProto) -> dict[str, int]:
    """The types of the tensors that a graph holds: initializers, and those of Constant nodes."""
    found = {tensor.name: int(tensor.data_type) for tensor in graph.initializer}
    for node in graph.node:
        for one in node.attribute:
            if node.op_type == "Constant" and one.name == "value":
                found[node.output[0]] = int(one.t.data_type)
    return found


def _quantized_type(source: onnx.NodeProto, made: Mapping[str, onnx.NodeProto], held: Mapping[str, int]) -> int:
    """The type of what a DequantizeLinear reads."""
    for name in (*source.input[2:3], source.input[0]):  # the zero point has the same one
        if name in held:
            return int(held[name])
    before = made.get(source.input[0])
    if before is None or before.op_type != "QuantizeLinear":
        return int(UNSIGNED)
    if len(before.input) > 2 and before.input[2] in held:
        return int(held[before.input[2]])
    types = [int(one.i) for one in before.attribute if one.name == "output_dtype" and one.i]
    return types[0] if types else int(UNSIGNED)
