"""Inference: whether bytes of unknown origin are an ONNX file, and what they are if not; why no file was made.

Opens no engine.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import onnx

STARTS = {
    b"PK\x03\x04": "a zip as torch.save, torch.jit.save and torch.export.save write it: PyTorch's own, for Python only",
    b"\x80": "a pickle: it holds Python objects, and only Python with the same classes can open it",
    b"ptrt": "a TensorRT plan: it runs on the kind of GPU that built it, and nowhere else",
}
"""How files begin that are often taken for ONNX."""


class NotAnEngine(ValueError):
    """A network that cannot become a file, or a file that cannot become an engine; the text says why, and what next."""


def solved(function: Callable[[Any], bytes], problem: Any) -> bytes:
    """The file that the student's function makes of a problem, and nothing that exporters print."""
    with quiet():
        return function(problem)


def read(content: Any) -> onnx.ModelProto:
    """The model in an ONNX file that is whole: its weights are in it.

    Args:
        content: the file's bytes.

    Raises:
        NotAnEngine: it is not; the message says what it is instead.
    """
    if not isinstance(content, (bytes, bytearray, memoryview)):
        note = " A path is not the file: read_bytes() is." if isinstance(content, str) else ""
        raise NotAnEngine(f"expected the bytes of an ONNX file, not a {type(content).__name__}.{note}")
    content = bytes(content)
    for start, kind in STARTS.items():
        if content.startswith(start):
            raise NotAnEngine(f"this is {kind}. torch.onnx.export makes an ONNX file.")
    try:
        model = onnx.load_from_string(content)
    except Exception as error:  # protobuf has its own exceptions, one for each way of building it
        raise NotAnEngine(f"{len(content)} bytes that are not an ONNX file, or only a part of one.") from error
    if not model.graph.node or not model.graph.output:
        raise NotAnEngine(f"{len(content)} bytes without a network in them: not an ONNX file, or an empty one.")
    graphs = [model.graph, *(graph for one in model.training_info for graph in (one.initialization, one.algorithm))]
    held = [tensor for graph in graphs for tensor in _tensors(graph)]
    held += [tensor for one in model.functions for node in one.node for tensor in _of_node(node)]
    outside = [tensor.name for tensor in held if tensor.data_location == onnx.TensorProto.EXTERNAL]
    if outside:
        raise NotAnEngine(
            f"the weights are not in it: {len(outside)} tensors ({outside[0]}, …) lie in a second file, as external"
            " data. Export with external_data=False, or serialize the program's model_proto."
        )
    return model


def _tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """All that a graph holds: initializers, constants, and those of the graphs inside its nodes."""
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    for node in graph.node:
        yield from _of_node(node)


def _of_node(node: onnx.NodeProto) -> Iterator[onnx.TensorProto]:
    for attribute in node.attribute:
        yield from (attribute.t, *attribute.tensors)
        for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
            yield from (sparse.values, sparse.indices)
        for inner in (attribute.g, *attribute.graphs):
            yield from _tensors(inner)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps what exporters and quantizers like to say (progress, advice, half a stack) out of the notebook."""
    was = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            with contextlib.redirect_stderr(io.StringIO()):
                yield
    finally:
        logging.disable(was)


def first_line(error: BaseException) -> str:
    """What an exception says, shortened to its first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:240]


# ------------------------------------------------------------------------------------------ what the exporter refuses


DATA_DEPENDENT = ("data-dependent", "data dependent", "GuardOnDataDependent", "control flow")
"""What torch says, somewhere in its long text, when Python has decided by a tensor's values."""


def reason(error: BaseException) -> str:
    """Why a network cannot be exported, from the exception that `torch.onnx.export` ended in, and what to do next."""
    whole = "\n".join(_chain(error))
    if any(words in whole for words in DATA_DEPENDENT):
        return (
            "this network cannot be exported: its forward asks for a tensor's value in Python (an if, a while,"
            " .item()), and a graph has no Python. Choose with torch.where, or with torch.cond."
        )
    missing = re.search(r"No ONNX function found for <OpOverload\(op='([\w.]+)'", whole)
    if missing:
        return (
            f"this network cannot be exported: ONNX has no {missing[1]}."
            " Say with a custom_translation_table what it is in ONNX operations."
        )
    return f"this network cannot be exported: {first_line(error)}"


def _chain(error: BaseException | None) -> Iterator[str]:
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        yield str(error)
        error = error.__cause__ or error.__context__
