"""Inference: whether bytes of unknown origin are an ONNX file, and what they are if not.

Opens no engine.
"""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import onnx

from gpulab.check.contents import bytes_of

LONGEST_PATH = 260
"""Characters; a longer text is hardly the path of a file."""
STARTS = {
    b"PK\x03\x04": "a zip as torch.save, torch.jit.save and torch.export.save write it: PyTorch's own, for Python only",
    b"\x80": "a pickle: it holds Python objects, and only Python with the same classes can open it",
    b"ptrt": "a TensorRT plan: it runs on the kind of GPU that built it, and nowhere else",
}
"""How files begin that are often taken for ONNX."""


class NotAnEngine(ValueError):
    """A file that cannot become an engine; the text says why, and what to do next."""


def read(content: Any) -> onnx.ModelProto:
    """The model in an ONNX file that is whole: its weights are in it.

    Args:
        content: the file's bytes.

    Raises:
        NotAnEngine: it is not; the message says what it is instead.
    """
    if not isinstance(content, (bytes, bytearray, memoryview)):
        how = bytes_of(content)
        note = f" {how[0].upper()}{how[1:]}." if how else ""
        if isinstance(content, str):
            path = len(content) < LONGEST_PATH and "\n" not in content
            note = " A path is not the file: read_bytes() is." if path else " str() describes it: serialize it instead."
        raise NotAnEngine(f"expected the bytes of an ONNX file, not a value of type {type(content).__name__}.{note}")
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
