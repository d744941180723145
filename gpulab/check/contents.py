"""What to say about an object that was returned where a file's bytes, or another plain value, are expected.

Goes by the name of its type: nothing here imports the libraries that define them.
"""

from __future__ import annotations

from typing import Any

BYTES_OF = {
    "BytesIO": "getvalue() gives its bytes",
    "ONNXProgram": "model_proto.SerializeToString() gives its bytes",
    "ModelProto": "SerializeToString() gives its bytes",
    "PosixPath": "read_bytes() gives the bytes of its file",
    "builtin_function_or_method": "put () after its name to call it",
    "method": "put () after its name to call it",
}
"""Name of a type → how to get its bytes, or what it returns."""


def bytes_of(value: Any) -> str:
    """How to get the bytes of this object, or what it returns; empty if that is not known."""
    return BYTES_OF.get(type(value).__name__, "")
