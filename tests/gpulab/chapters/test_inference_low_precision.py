"""A file that only stores its weights in few bits earns no points for speed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from gpulab.chapters.inference.engine_checks import Entry
from gpulab.chapters.inference.engine_claims import check_weights
from gpulab.chapters.inference.engine_precision import check_calibration, check_low_precision


def entry(*nodes: onnx.NodeProto, weight: int) -> Entry:
    images = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])
    scores = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])
    held = helper.make_tensor("w", weight, [4, 4], [1] * 16)
    return Entry(0.9, b"", helper.make_model(helper.make_graph(list(nodes), "made", [images], [scores], [held])))


def node(kind: str, given: list[str], out: str) -> onnx.NodeProto:
    return helper.make_node(kind, given, [out])


QUANTIZE, RESTORE = node("QuantizeLinear", ["x", "s"], "q"), node("DequantizeLinear", ["q", "s"], "d")
WEIGHT = node("DequantizeLinear", ["w", "s"], "v")
INT8 = entry(QUANTIZE, RESTORE, WEIGHT, node("MatMul", ["d", "v"], "y"), weight=TensorProto.INT8)
HALF = entry(node("Cast", ["x"], "h"), node("MatMul", ["h", "w"], "y"), weight=TensorProto.FLOAT16)
WIDENED = helper.make_node("Cast", ["w"], ["v"], to=TensorProto.FLOAT)


def test_products_in_their_own_precision_pass() -> None:
    check_low_precision({"float16": HALF, "int8": INT8}, "answer")
    turned = entry(node("Transpose", ["w"], "v"), node("MatMul", ["x", "v"], "y"), weight=TensorProto.FLOAT16)
    check_low_precision({"float16": turned, "int8": INT8}, "answer")


def test_quantized_operators_are_no_products_in_float32() -> None:
    """ONNX Runtime's QOperator format, which has nodes of its own for them."""
    inputs = ["q", "s", "p", "w", "s", "p", "s", "p"]
    graph = [QUANTIZE, node("QLinearMatMul", inputs, "r"), node("DequantizeLinear", ["r", "s"], "y")]
    check_low_precision({"float16": HALF, "int8": entry(*graph, weight=TensorProto.INT8)}, "answer")


def test_a_last_layer_may_stay_in_float32() -> None:
    last = node("MatMul", ["y", "w"], "z")
    graph = [QUANTIZE, RESTORE, WEIGHT, node("MatMul", ["d", "v"], "y"), last]
    check_low_precision({"float16": HALF, "int8": entry(*graph, weight=TensorProto.INT8)}, "answer")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("int8", entry(WEIGHT, node("MatMul", ["x", "v"], "y"), weight=TensorProto.INT8)),
        ("int8", entry(node("MatMul", ["x", "w"], "y"), weight=TensorProto.FLOAT)),
        ("float16", entry(node("Cast", ["w"], "v"), node("MatMul", ["x", "v"], "y"), weight=TensorProto.FLOAT16)),
        ("float16", entry(node("MatMul", ["x", "w"], "y"), weight=TensorProto.FLOAT)),
        (
            "float16",
            entry(WIDENED, node("Identity", ["v"], "u"), node("MatMul", ["x", "u"], "y"), weight=TensorProto.FLOAT16),
        ),
        ("float16", entry(WIDENED, node("Einsum", ["x", "v"], "y"), weight=TensorProto.FLOAT16)),
        (
            "float16",
            entry(WIDENED, node("Own", ["v"], "u"), node("MatMul", ["x", "u"], "y"), weight=TensorProto.FLOAT16),
        ),
    ],
    ids=[
        "int8 weights only",
        "float32 as int8",
        "float16 weights only",
        "float32 as float16",
        "handed on",
        "Einsum",
        "?",
    ],
)
def test_weights_alone_in_few_bits_do_not(name: str, wrong: Entry) -> None:
    with pytest.raises(AssertionError, match=f"1 of 1 products are not computed in {name}"):
        check_low_precision({"float16": HALF, "int8": INT8, name: wrong}, "answer")


def test_weights_that_are_constants_of_nodes_do_not_pass_for_others() -> None:
    held = helper.make_tensor("c", TensorProto.FLOAT, [4, 4], [1] * 16)
    constant = helper.make_node("Constant", [], ["c"], value=held)
    wrong = entry(constant, node("MatMul", ["x", "c"], "y"), weight=TensorProto.FLOAT16)
    with pytest.raises(AssertionError, match="1 of 1 products are not computed in float16"):
        check_low_precision({"float16": wrong, "int8": INT8}, "answer")


@pytest.mark.parametrize(
    "nodes",
    [
        [node("QuantizeLinear", ["x", "s"], "q"), RESTORE, node("DequantizeLinear", ["wide", "s"], "v")],
        [helper.make_node("QuantizeLinear", ["x", "s"], ["q"], output_dtype=TensorProto.INT16), RESTORE, WEIGHT],
    ],
    ids=["int32 weights", "int16 activations"],
)
def test_wider_integers_do_not_pass_for_int8(nodes: list[onnx.NodeProto]) -> None:
    wrong = entry(*nodes, node("MatMul", ["d", "v"], "y"), weight=TensorProto.INT8)
    wrong.graph.graph.initializer.append(helper.make_tensor("wide", TensorProto.INT32, [4, 4], [1] * 16))
    with pytest.raises(AssertionError, match="1 of 1 products are not computed in int8"):
        check_low_precision({"float16": HALF, "int8": wrong}, "answer")


CALIBRATED = np.float32([-2, 2])
"""A range, which the scale of the files below is for."""


def quantized(*nodes: onnx.NodeProto) -> onnx.ModelProto:
    model = entry(*nodes, WEIGHT, node("MatMul", ["d", "v"], "y"), weight=TensorProto.INT8).graph
    scales = {"s": 2 / 127, "wide": 9 / 127}
    model.graph.initializer.extend(numpy_helper.from_array(np.float32(scale), name) for name, scale in scales.items())
    model.graph.initializer.append(numpy_helper.from_array(np.int8(0), "zero"))
    return model


def test_the_input_is_quantized_as_it_is() -> None:
    own = node("QuantizeLinear", ["x", "s", "zero"], "q"), node("DequantizeLinear", ["q", "s", "zero"], "d")
    check_calibration(quantized(*own), CALIBRATED, 4 * CALIBRATED, "answer")
    check_calibration(quantized(node("Identity", ["x"], "x2"), *own), CALIBRATED, 4 * CALIBRATED, "answer")


SHOW = node("QuantizeLinear", ["x", "s", "zero"], "show")


@pytest.mark.parametrize(
    ("nodes", "culprit"),
    [
        ([node("Add", ["x", "s"], "x2"), node("QuantizeLinear", ["x2", "wide", "zero"], "q")], "Add"),
        ([node("Mul", ["wide", "wide"], "w2"), node("QuantizeLinear", ["x", "w2", "zero"], "q")], "QuantizeLinear"),
    ],
)
def test_a_quantized_input_for_show_does_not_hide_another_range(nodes: list[onnx.NodeProto], culprit: str) -> None:
    model = quantized(SHOW, *nodes, node("DequantizeLinear", ["q", "wide", "zero"], "d"))
    with pytest.raises(AssertionError, match=f"at {culprit} '', the pictures are changed before"):
        check_calibration(model, CALIBRATED, 4 * CALIBRATED, "answer")


def test_names_in_a_circle_come_to_an_end() -> None:
    circle = node("Identity", ["a"], "b"), node("Pad", ["b", "x"], "a"), node("QuantizeLinear", ["a", "s", "zero"], "q")
    model = quantized(SHOW, *circle, node("DequantizeLinear", ["q", "s", "zero"], "d"))
    check_calibration(model, CALIBRATED, 4 * CALIBRATED, "answer")  # ONNX Runtime refuses it


def branched() -> Entry:
    made = helper.make_empty_tensor_value_info("z")
    inner = helper.make_graph([node("MatMul", ["x", "w"], "z")], "inner", [], [made])
    branch = helper.make_node("If", ["yes"], ["y"], then_branch=inner, else_branch=inner)
    return entry(QUANTIZE, RESTORE, WEIGHT, branch, node("MatMul", ["d", "v"], "show"), weight=TensorProto.INT8)


def with_function() -> Entry:
    made = entry(QUANTIZE, RESTORE, WEIGHT, node("own", ["x"], "y"), weight=TensorProto.INT8)
    body = [node("MatMul", ["x", "x"], "z")]
    made.graph.functions.append(helper.make_function("own", "own", ["x"], ["z"], body, []))
    return made


@pytest.mark.parametrize("made", [branched, with_function])
def test_products_are_in_the_main_graph(made: Callable[[], Entry]) -> None:
    with pytest.raises(AssertionError, match="MatMul '' is in a graph inside a node, or in a function"):
        check_low_precision({"float16": HALF, "int8": made()}, "answer")


def runnable(*nodes: onnx.NodeProto) -> Entry:
    """A file with weights of int8 and float16 beside those in float32."""
    draw = np.random.default_rng(1)
    images = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 32, 32])
    scores = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 10])
    plain = draw.normal(size=(3072, 10)).astype(np.float32)
    given = {"plain": plain, "w": (20 * plain).astype(np.int8), "half": plain.astype(np.float16), "s": np.float32(0.05)}
    graph = helper.make_graph([node("Flatten", ["x"], "flat"), *nodes], "made", [images], [scores])
    graph.initializer.extend(numpy_helper.from_array(np.asarray(value), name) for name, value in given.items())
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return Entry(0.9, model.SerializeToString(), model)


SMALL = runnable(WEIGHT, node("MatMul", ["flat", "v"], "y"))
CAST = helper.make_node("Cast", ["half"], ["v"], to=TensorProto.FLOAT)
OF_HALVES = runnable(CAST, node("MatMul", ["flat", "v"], "y"))
SHOWN = (
    node("ReduceMax", ["v"], "largest"), node("MatMul", ["flat", "plain"], "scores"),
    node("Mul", ["scores", "largest"], "y"),
)  # fmt: skip


def test_scores_come_from_the_small_weights() -> None:
    images = np.random.default_rng(2).normal(size=(20, 3, 32, 32))
    check_weights({"float16": OF_HALVES, "int8": SMALL}, images, "answer")
    for name, start in (("int8", WEIGHT), ("float16", CAST)):
        found = {"float16": OF_HALVES, "int8": SMALL, name: runnable(start, *SHOWN)}
        with pytest.raises(AssertionError, match=f"its scores do not come from its {name} weights"):
            check_weights(found, images, "answer")
