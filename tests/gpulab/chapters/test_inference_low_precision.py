"""A file that only stores its weights in few bits earns no points for speed."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from gpulab.chapters.inference.engine_checks import Entry, check_low_precision


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


def test_products_in_their_own_precision_pass() -> None:
    check_low_precision({"float16": HALF, "int8": INT8}, "answer")


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
    ],
    ids=["int8 weights only", "float32 as int8", "float16 weights only", "float32 as float16"],
)
def test_weights_alone_in_few_bits_do_not(name: str, wrong: Entry) -> None:
    with pytest.raises(AssertionError, match=f"1 of 1 products are not computed in {name}"):
        check_low_precision({"float16": HALF, "int8": INT8, name: wrong}, "answer")
