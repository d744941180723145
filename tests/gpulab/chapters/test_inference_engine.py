"""The inference chapter's engines: files made, read, refused, run in a box, quantized, and looked into."""

from __future__ import annotations

import ast
import io
import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx_files import exported, fed, halved, optimized, quantized, random_network

from gpulab import Problem
from gpulab.backend import Backend, use
from gpulab.chapters.inference import engine_checks as checks
from gpulab.chapters.inference import engine_claims as judged
from gpulab.chapters.inference import engine_data as data
from gpulab.chapters.inference import engine_files as engines
from gpulab.chapters.inference import engine_pictures as pictures
from gpulab.chapters.inference import engine_precision as precision
from gpulab.chapters.inference import engine_sizes
from gpulab.chapters.inference import onnx_sandbox as box

torch.set_num_threads(1)
ROOT = Path(__file__).resolve().parents[3]
IMAGES = torch.randn(64, 3, 32, 32, generator=torch.Generator().manual_seed(3))


@pytest.fixture(scope="module")
def network() -> torch.nn.Sequential:
    return random_network()


@pytest.fixture(scope="module")
def content(network: torch.nn.Sequential) -> bytes:
    """The network's file."""
    return exported(network)


@pytest.fixture(scope="module")
def int8(content: bytes) -> bytes:
    """The same, quantized around zero."""
    return quantized(content, IMAGES, extra_options={"ActivationSymmetric": True})


def test_a_file_says_what_the_network_says_for_any_batch(network: torch.nn.Sequential, content: bytes) -> None:
    for batch in (IMAGES[:1], IMAGES[:7]):
        np.testing.assert_allclose(fed(content, batch), network(batch), rtol=1e-3, atol=1e-4)


def test_an_optimized_file_opens_again_and_says_the_same(content: bytes) -> None:
    np.testing.assert_allclose(fed(optimized(content), IMAGES), fed(content, IMAGES), rtol=1e-3, atol=1e-4)


def test_half_the_precision_is_nearly_half_the_bytes(content: bytes) -> None:
    half = halved(content)
    assert len(half) < 0.6 * len(content)
    exact = fed(content, IMAGES)
    assert 0 < np.abs(fed(half, IMAGES) - exact).max() < 0.01 * np.abs(exact).max()


def test_nothing_reports_home() -> None:
    """ONNX Runtime starts a thread for its telemetry when it is imported, unless it was told before."""
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (b"PK\x03\x04rest", "torch.save"),
        (b"\x80\x04rest", "pickle"),
        (b"ptrtrest", "TensorRT plan"),
        (b"not at all", "not an ONNX file"),
        (b"", "without a network"),
        ("network.onnx", "A path is not the file"),
        (None, "NoneType"),
        (io.BytesIO(b"x"), "BytesIO. Getvalue\\(\\) gives its bytes"),
    ],
)
def test_what_is_no_file_is_called_by_its_name(wrong: Any, says: str) -> None:
    with pytest.raises(engines.NotAnEngine, match=says):
        engines.read(wrong)


def test_a_torn_file_and_weights_elsewhere_are_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(engines.NotAnEngine, match="only a part"):
        engines.read(content[: len(content) // 2])
    place, model = tmp_path / "a.onnx", onnx.load_from_string(content)
    onnx.save_model(model, place, save_as_external_data=True, location="a.data", size_threshold=64)
    with pytest.raises(engines.NotAnEngine, match="external data"):
        engines.read(place.read_bytes())


@pytest.mark.parametrize("where", ["node", "branch", "function"])
def test_numbers_in_another_file_are_found_wherever_they_are_named(content: bytes, where: str) -> None:
    """ONNX Runtime would read the file that such a tensor names."""
    held = onnx.TensorProto(name="held", data_type=onnx.TensorProto.UINT8, dims=[4])
    held.data_location = onnx.TensorProto.EXTERNAL
    held.external_data.add(key="location", value="../etc/passwd")
    node = onnx.helper.make_node("Constant", [], ["held"], value=held)
    model = onnx.load_from_string(content)
    if where == "node":
        model.graph.node.insert(0, node)
    elif where == "branch":
        inner = onnx.helper.make_graph([node], "inner", [], [])
        model.graph.node.insert(0, onnx.helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=inner))
    else:
        model.functions.append(onnx.helper.make_function("lab", "f", [], ["held"], [node], []))
    with pytest.raises(engines.NotAnEngine, match="external data"):
        engines.read(model.SerializeToString())


def test_a_model_runs_where_the_judge_says(content: bytes) -> None:
    """In the judge that is a confined process: what opens such a file may read others."""
    asked: list[str] = []

    def runner(function: Any, arguments: tuple[Any, ...], what: str, seconds: float) -> Any:
        asked.append(what)
        return function(*arguments)

    with use(Backend(confined=runner)):
        box.outputs(content, [IMAGES[:2].numpy()])
    assert asked == ["Running the model"]


# ---------------------------------------------------------------------------------------------------- in a box


def test_the_box_runs_a_file_and_says_which_batch_it_refuses(content: bytes) -> None:
    seven, other = box.outputs(content, [IMAGES[:7].numpy(), np.zeros((2, 3, 28, 28), np.float32)])
    assert not isinstance(seven, str)
    np.testing.assert_allclose(seven, fed(content, IMAGES[:7]), rtol=1e-4, atol=1e-5)
    assert isinstance(other, str)
    assert "28" in other


def test_the_box_survives_what_opens_in_it() -> None:
    with pytest.raises(ValueError, match="refuses the model"):
        box.outputs(b"rubbish", [])
    (refused,) = box.all_outputs([_glutton(1 << 40)], [[IMAGES[:1].numpy()]])
    assert "memory" in str(refused)  # of the file where the numbers are made while it is opened, else of its batch


def _glutton(elements: int) -> bytes:
    """A model that makes so many numbers before it looks at its input."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("images", "scores")]
    nodes = [
        helper.make_node("ConstantOfShape", ["size"], ["huge"]),
        helper.make_node("ReduceSum", ["huge"], ["sum"]),
        helper.make_node("Add", ["images", "sum"], ["scores"]),
    ]
    size = helper.make_tensor("size", TensorProto.INT64, [1], [elements])
    graph = helper.make_graph(nodes, "glutton", values[:1], values[1:], [size])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9).SerializeToString()


# -------------------------------------------------------------------------------------------------------- checks


def test_scores_are_told_from_softmax_and_from_another_network(network: torch.nn.Sequential) -> None:
    expected = network(IMAGES).numpy()
    checks.same_scores(expected * (1 + 1e-6), expected, "it")
    for wrong, says in (
        (torch.from_numpy(expected).softmax(1).numpy(), "A softmax"),
        (expected.argmax(1), "argmax"),
        (expected[::-1], "another network"),
        (expected * 1.001, "16 bits"),
        (expected * np.nan, "NaN"),
    ):
        with pytest.raises(AssertionError, match=says):
            checks.same_scores(wrong, expected, "it")


def test_training_mode_and_a_fixed_batch_are_seen_in_the_file(content: bytes) -> None:
    norm = helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y", "m2", "v2"], training_mode=1)
    model = onnx.load_from_string(content)
    model.graph.node.append(norm)
    with pytest.raises(AssertionError, match="training mode"):
        checks.model_in(model.SerializeToString(), "it")
    model = onnx.load_from_string(content)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
    with pytest.raises(AssertionError, match="fixed at 2"):
        checks.scores(model.SerializeToString(), [IMAGES[:1], IMAGES[:2]], "it")


def test_another_shape_or_type_of_the_input_is_seen_in_the_file(content: bytes) -> None:
    model = onnx.load_from_string(content)
    model.graph.input[0].type.tensor_type.shape.dim[3].dim_value = 28
    with pytest.raises(AssertionError, match=r"is \(batch, 3, 32, 28\), expected \(batch, 3, 32, 32\)"):
        checks.scores(model.SerializeToString(), [IMAGES[:1]], "it")
    model = onnx.load_from_string(content)
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    with pytest.raises(AssertionError, match="of type float16, expected float32"):
        checks.scores(model.SerializeToString(), [IMAGES[:1]], "it")


def test_entries_must_hold_what_they_say(content: bytes, int8: bytes) -> None:
    files = {"float32": content, "float16": halved(content), "int8": int8}
    good = {name: {"accuracy": 0.5, "bytes": len(file), "model": file} for name, file in files.items()}
    found = checks.entries(good, "it")
    labels = torch.from_numpy(fed(content, IMAGES).argmax(1))
    true = judged.true_accuracies(found, IMAGES, labels, "it")
    assert true["float32"] == 1
    assert min(true.values()) > 0.7
    judged.check_accuracy("float32", 1.0, true["float32"], 64, "it", {})
    with pytest.raises(AssertionError, match="of a friend"):
        judged.check_accuracy("float32", 0.5, true["float32"], 64, "it", {0.5: "That is of a friend."})
    with pytest.raises(AssertionError, match="the share of wrong predictions"):
        judged.check_accuracy("float32", 0.0, true["float32"], 64, "it", {})
    wrongs = ("accuracy", 97.0, "percent"), ("bytes", 12, "length of its"), ("model", content, "length of its")
    for key, value, says in wrongs:
        bad = {**good, "float16": {**good["float16"], key: value}}
        with pytest.raises(AssertionError, match=says):
            checks.entries(bad, "it")
    for wrong in (None, {}, {"float32": 1}, {**good, "int8": 3}):
        with pytest.raises(AssertionError, match="keys of"):
            checks.entries(wrong, "it")


def test_a_file_tells_what_it_was_calibrated_on(content: bytes, int8: bytes) -> None:
    tested = IMAGES * 5
    precision.check_calibration(engines.read(int8), IMAGES, tested, "it")
    leaky = quantized(content, tested)
    ((_, top),) = precision.input_ends(engines.read(leaky))
    assert top == pytest.approx(float(tested.max()), rel=0.02)
    with pytest.raises(AssertionError, match="calibrated on the test set"):
        precision.check_calibration(engines.read(leaky), IMAGES, tested, "it")
    for file, scale in ((leaky, float(IMAGES.max()) / 127), (int8, math.nan)):  # in front of it, and for show
        shown = engines.read(file)
        for of, value in (("shown_scale", np.float32(scale)), ("shown_zero", np.int8(0))):
            shown.graph.initializer.append(numpy_helper.from_array(np.asarray(value), of))
        name = next(one.name for one in shown.graph.input)
        shown.graph.node.insert(0, helper.make_node("QuantizeLinear", [name, "shown_scale", "shown_zero"], ["shown"]))
        with pytest.raises(AssertionError, match="its input's range ends at"):
            precision.check_calibration(shown, IMAGES, tested, "it")
    with pytest.raises(AssertionError, match="normalized like the others"):
        precision.check_calibration(engines.read(int8), 9 * IMAGES, 50 * IMAGES, "it")
    with pytest.raises(AssertionError, match="not quantized"):
        precision.check_calibration(engines.read(content), IMAGES, tested, "it")


def test_the_chapters_own_int8_file_is_one_that_tensorrt_reads(content: bytes) -> None:
    """TensorRT's table of operators: DequantizeLinear takes INT8 and narrower, x_zero_point must be zero; no INT32."""
    text = (ROOT / "solutions" / "09_inference.md").read_text()
    (options,) = re.findall(r"for_tensorrt = (\{.*\})", text)
    assert text.count(f"`extra_options={options}`") == 1  # the page gives the same

    def kinds(**more: Any) -> tuple[set[Any], bool]:
        graph = onnx.load_from_string(quantized(content, IMAGES, **more)).graph
        held = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
        nodes = [one for one in graph.node if one.op_type in ("QuantizeLinear", "DequantizeLinear")]
        shifted = any(held[one.input[2]].any() for one in nodes if len(one.input) > 2)
        return {str(held[one.input[0]].dtype) for one in nodes if one.input[0] in held}, shifted

    assert kinds(extra_options=ast.literal_eval(options)) == ({"int8"}, False)
    assert kinds() == ({"int8", "int32"}, True)


# ----------------------------------------------------------------------------------------------------- data, sizes


def test_held_out_pictures_are_others_and_some_are_over_exposed() -> None:
    one, again, other = (data.held_out(Problem(seed=seed, device="cpu")) for seed in (4, 4, 5))
    assert torch.equal(one.images, again.images)
    assert not torch.equal(one.images, other.images)
    assert (len(one.calibration), len(one.images), len(one.labels)) == (97, 200, 200)
    brightest = one.images.amax(dim=(1, 2, 3))
    assert float(brightest[::4].min()) > 3 * float(one.calibration.max())
    assert float(brightest[1::4].max()) == pytest.approx(float(one.calibration.max()), rel=0.01)


def test_fitting_is_repeatable_and_leaves_threads_alone() -> None:
    problem = Problem(samples=64, seed=2, device="cpu")
    before = torch.get_num_threads()
    one, two = data.fitted(problem), data.fitted(problem)
    assert torch.get_num_threads() == before
    assert not one.training
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(one.parameters(), two.parameters(), strict=True))


def test_the_cost_of_a_precision_is_drawn(shown: list[str]) -> None:
    pictures.draw_cost({"float32": 4000, "int8": 1000}, {"float32": 0.98, "int8": 0.97}, "Smaller")
    assert "int8 1 kB and 97.0%" in shown[0]


def test_what_every_export_reads_is_read_once_before_the_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    from onnxscript._framework_apis.torch_2_5 import get_torchlib_ops
    from onnxscript._internal.values import TracedOnnxFunction

    monkeypatch.setattr(TracedOnnxFunction, "function_ir", vars(TracedOnnxFunction)["function_ir"])  # as it is now
    from gpulab.chapters.inference import exporter_signatures  # for processes that others are forked from

    exporter_signatures.read_once()
    monkeypatch.setattr("inspect.getsource", None)  # who reads a source from now on fails
    assert len(get_torchlib_ops()) > 100


def test_a_file_with_too_many_parts_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes without a name take two bytes each, and a hundred times as much memory."""
    graph = b"\x0a\x00" * (engine_sizes.MOST_PARTS + 1)
    size = len(graph)
    head = b"\x3a" + bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14])
    monkeypatch.setattr(checks, "read", lambda content: pytest.fail("it was read"))
    with pytest.raises(AssertionError, match="more in it than any model"):
        checks.model_in(head + graph, "it")


def test_the_parts_of_a_model_are_few() -> None:
    """A model of this course is far from the limit; what is no model has none."""
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], []))
    assert 5 < engine_sizes.parts(model.SerializeToString()) < 30
    assert engine_sizes.parts(b"none") == 0
