"""Inference: whether what is handed in is an ONNX file for inference, computes a network's scores, and is what
`accuracy_cost` says about it.

Looks and compares only; the scores to compare with are made by the tests. Files are run by `inference.onnx_sandbox`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from gpulab import check, confined
from gpulab.chapters.inference import engine_sizes
from gpulab.chapters.inference import onnx_sandbox as box
from gpulab.chapters.inference.engine_files import NotAnEngine, read


def model_in(content: Any, what: str) -> onnx.ModelProto:
    """The model in an ONNX file that was handed in, in inference mode.

    Raises:
        AssertionError: it is none, or it still trains; the message says which.
    """
    if content is None:
        raise AssertionError(f"{what}: you returned None: is there a return statement? Expected the bytes of a file.")
    if isinstance(content, (bytes, bytearray)):
        _bounded(bytes(content), what)
    try:
        model = read(content)
    except NotAnEngine as error:
        raise AssertionError(f"{what}: {error}") from None
    training = sorted({node.op_type for node in model.graph.node if _trains(node, model)})
    if training:
        raise AssertionError(
            f"{what}: {training[0]} is in training mode in this file: its answer depends on the other pictures of the"
            " batch, or on chance. Export model.eval(), and leave training= as it is."
        )
    return model


def _bounded(content: bytes, what: str) -> None:
    """Passes if a file is no larger than a model of this course, so that it can be looked at here.

    Raises:
        AssertionError: it is.
    """
    too_many = f"{what}: the file has more in it than any model of this course."
    if len(content) > engine_sizes.MOST_BYTES:
        raise AssertionError(too_many)
    found = confined.call(engine_sizes.parts, content, what=f"{what}: reading the file")
    if not isinstance(found, int) or found > engine_sizes.MOST_PARTS:
        raise AssertionError(too_many)


def scores(content: Any, batches: Sequence[Any], what: str) -> list[NDArray[Any]]:
    """What the file makes of batches of images (N, 3, 32, 32): scores of each, run in a process of its own.

    Raises:
        AssertionError: it is no such file, or does not take them; a fixed batch is called by its name.
    """
    model = model_in(content, what)
    if (kind := _input_type(model)) != FLOAT:
        held = onnx.TensorProto.DataType.Name(kind).lower()
        raise AssertionError(f"{what}: the input in this file is of type {held}, expected float32: export it as it is.")
    arrays = [np.ascontiguousarray(batch) for batch in batches]
    check_open(model, arrays, what)
    try:
        found = box.outputs(bytes(content), arrays)
    except ValueError as error:
        raise AssertionError(f"{what}: {error}.") from None
    return whole(found, arrays, what)


def check_open(model: onnx.ModelProto, arrays: Sequence[NDArray[Any]], what: str) -> None:
    """Passes if a file says that its batch is open.

    Raises:
        AssertionError: it is fixed; says which of the batches it could not take.
    """
    held = {tensor.name for tensor in model.graph.initializer}
    inputs = [one for one in model.graph.input if one.name not in held]
    shape = inputs[0].type.tensor_type.shape.dim if inputs else []
    own, wanted = [one.dim_value for one in shape[1:]], list(arrays[0].shape[1:])
    if own and (
        len(own) != len(wanted) or any(size not in (0, right) for size, right in zip(own, wanted, strict=True))
    ):
        found, right = (_named_axes(["batch", *sizes]) for sizes in (own, wanted))
        note = "The example pictures of the export set these sizes."
        raise AssertionError(f"{what}: the input in this file is {found}, expected {right}. {note}")
    fixed = shape[0].dim_value if len(shape) else 0
    if fixed:
        other = next((len(one) for one in arrays if len(one) != fixed), 1)
        raise AssertionError(
            f"{what}: the batch is fixed at {fixed} in this file ({[one.dim_value or '?' for one in shape]}), and"
            f" cannot take {other}. Leave it open: in dynamic_shapes, the batch is axis 0."
        )


def _named_axes(sizes: Sequence[int | str]) -> str:
    return f"({', '.join(str(size or 'any') for size in sizes)})"


def whole(found: list[NDArray[Any] | str], arrays: Sequence[NDArray[Any]], what: str) -> list[NDArray[Any]]:
    """The outputs, if there is one for every batch.

    Raises:
        AssertionError: there is none for one of them; the message says why.
    """
    for batch, answer in zip(arrays, found, strict=True):
        if isinstance(answer, str):
            others = any(not isinstance(one, str) for one in found)
            note = " It takes other batches: the batch is still fixed somewhere inside." if others else ""
            raise AssertionError(f"{what}: a batch of {len(batch)} is refused: {answer}.{note}")
    return [answer for answer in found if not isinstance(answer, str)]


def same_scores(
    found: NDArray[Any], expected: NDArray[Any], what: str, others: Sequence[tuple[NDArray[Any], str]] = ()
) -> None:
    """Passes if scores (N, 10) are those of PyTorch in eval mode, up to rounding in float32.

    Args:
        found: by the file.
        expected: by PyTorch.
        what: the call, in words.
        others: scores that a known mistake gives, and what to say about them.

    Raises:
        AssertionError: they are not; a softmax on top and the like are named.
    """
    top = float(np.abs(expected).max())
    powers = np.exp(expected - expected.max(1, keepdims=True))
    shares = powers / powers.sum(1, keepdims=True)
    more = "The network's own scores are expected, before any"
    mistakes: list[tuple[Any, str]] = [
        (shares, f"A softmax was added. {more} softmax."),
        (np.log(shares), f"A log_softmax was added. {more} softmax."),
        (expected.argmax(1), f"Those are the answers, as an argmax gives them. {more} argmax."),
    ]
    if found.shape == expected.shape and not np.isfinite(found).all():
        raise AssertionError(f"{what}: the scores hold NaN or infinity.")
    if found.shape == expected.shape:
        for wrong, note in [*mistakes[:2], *others]:
            if np.allclose(found, wrong, rtol=1e-3, atol=1e-5):
                raise AssertionError(f"{what}: the scores are not PyTorch's. {note}")
        off = float(np.abs(found.astype(np.float64) - expected).max()) / top
        if off <= 1e-4:
            return
        size = "rounding in 16 bits looks like that" if off < 5e-3 else "that is another network, or another mode"
        raise AssertionError(f"{what}: the scores are off by {off:.2g} of PyTorch's largest in eval mode: {size}.")
    check.close(found, expected, what, rtol=1e-3, atol=1e-4 * top, mistakes=mistakes)


def _weights_bytes(model: onnx.ModelProto) -> int:
    """Of all weights and biases, without the shapes that a file holds as well."""
    held = [one for one in model.graph.initializer if one.data_type in (FLOAT, HALF, SIGNED, UNSIGNED)]
    return sum(numpy_helper.to_array(one).nbytes for one in held)


def _trains(node: onnx.NodeProto, model: onnx.ModelProto) -> bool:
    attributes = {one.name: one for one in node.attribute}
    if node.op_type == "BatchNormalization":
        return len([name for name in node.output if name]) > 1 or bool(
            "training_mode" in attributes and attributes["training_mode"].i
        )
    if node.op_type == "Dropout" and len(node.input) > 2 and node.input[2]:
        held = {tensor.name: tensor for tensor in model.graph.initializer}
        held |= {one.output[0]: one.attribute[0].t for one in model.graph.node if one.op_type == "Constant"}
        return node.input[2] not in held or bool(numpy_helper.to_array(held[node.input[2]]).any())
    return False


# --------------------------------------------------------------------------------------- the entries of accuracy_cost


FLOAT, HALF, SIGNED, UNSIGNED = (onnx.TensorProto.DataType.Value(one) for one in ("FLOAT", "FLOAT16", "INT8", "UINT8"))
PRECISIONS = {"float32": (FLOAT,), "float16": (HALF,), "int8": (SIGNED, UNSIGNED)}
"""Precision → the types that the largest weight of such a file may have."""
KEYS = ("accuracy", "bytes", "model")
UNITS = {"kB": 1000, "KiB": 1024, "MB": 1_000_000, "MiB": 1_048_576}


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
    found: dict[str, Entry] = {}
    for name, types in PRECISIONS.items():
        inside, at = answer[name], f"{what}[{name!r}]"
        check.equal(sorted(inside) if isinstance(inside, dict) else inside, sorted(KEYS), f"keys of {at}")
        model = model_in(inside["model"], f"{at}['model']")
        length = len(inside["model"])
        units = {length / by: f"Return bytes, not {unit}." for unit, by in UNITS.items()}
        units |= {8 * length: "That is in bits: a byte has eight."}
        units |= {_weights_bytes(model): "Those are the weights alone: count the bytes of the whole file."}
        units |= {len(one.model): f"That is the length of the {other} file." for other, one in found.items()}
        check.equal(inside["bytes"], length, f"{at}['bytes'], the length of its model", mistakes=units)
        accuracy = check.as_python(inside["accuracy"])
        if type(accuracy) not in (int, float) or not 0 <= accuracy <= 1:
            percent = " That is in percent." if isinstance(accuracy, (int, float)) and 1 < accuracy <= 100 else ""
            raise AssertionError(f"{at}['accuracy']: you returned {accuracy!r:.60}, expected a share, 0 to 1.{percent}")
        if _input_type(model) != FLOAT:
            held = onnx.TensorProto.DataType.Name(_input_type(model)).lower()
            raise AssertionError(
                f"{at}['model']: its input is of type {held}, expected float32: a caller need not know the file's"
                " precision (keep_io_types=True)."
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
    return next((int(one.type.tensor_type.elem_type) for one in model.graph.input if one.name not in weights), FLOAT)


def shuffled(model: onnx.ModelProto, name: str) -> bytes:
    """A file whose weights of a precision's own types are the same numbers in another order."""
    other = onnx.ModelProto()
    other.CopyFrom(model)
    tensors = list(other.graph.initializer)
    tensors += [one.t for node in other.graph.node for one in node.attribute if one.name == "value"]
    draw = np.random.default_rng(0)
    for tensor in tensors:
        if tensor.data_type in PRECISIONS[name] and len(tensor.dims) > 1:
            values = numpy_helper.to_array(tensor)
            mixed = draw.permutation(values.reshape(-1)).reshape(values.shape)
            tensor.CopyFrom(numpy_helper.from_array(mixed, tensor.name))
    return bytes(other.SerializeToString())


def _largest(model: onnx.ModelProto) -> int:
    tensors = list(model.graph.initializer)
    tensors += [one.t for node in model.graph.node for one in node.attribute if one.type == onnx.AttributeProto.TENSOR]
    sizes = [(int(np.prod(tensor.dims, dtype=np.int64)), tensor.data_type) for tensor in tensors]
    return int(max(sizes, default=(0, FLOAT))[1])
