"""Inference: how much is in an ONNX file of unknown origin, counted where a file that is too much does no harm.

The judge calls `parts` in a confined process before it looks at a file's graph itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MOST_BYTES = 128_000_000
"""Of a file: ResNet-18 in float32 has 45 million."""
MOST_PARTS = 50_000
"""Nodes, tensors, attributes, inputs and outputs: ResNet-18 has about 300, its quantized form about 1,000."""


def parts(content: bytes) -> int:
    """The number of parts in the bytes of an ONNX file, or more than `MOST_PARTS`; 0 if it is no such file."""
    import onnx

    try:
        model = onnx.load_from_string(content)
    except Exception:  # protobuf has its own exceptions, one for each way of building it
        return 0
    found = 0
    for _ in _walk(model):
        found += 1
        if found > MOST_PARTS:
            break
    return found


def _walk(message: Any) -> Iterator[Any]:
    """A protobuf message and all messages and texts in it, one by one; numbers are counted as one part."""
    yield message
    for field, value in message.ListFields():
        repeated = not hasattr(value, "ListFields") and hasattr(value, "append")
        for one in value if repeated and field.cpp_type in (field.CPPTYPE_MESSAGE, field.CPPTYPE_STRING) else [value]:
            if hasattr(one, "ListFields"):
                yield from _walk(one)
            else:
                yield one
