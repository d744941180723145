"""Imported once, by a process that will fork others: has the signatures of PyTorch's 500 translations to ONNX read.

Each export reads them again, for most of a second. Nothing is exported here, and no device is asked for.
"""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import Any


def read_once() -> None:
    """Reads them now, and keeps them.

    Raises:
        ImportError, AttributeError, KeyError: another release of onnxscript, which does that in another way.
    """
    from onnxscript._framework_apis.torch_2_5 import get_torchlib_ops
    from onnxscript._internal.values import TracedOnnxFunction

    signature: property = vars(TracedOnnxFunction)["function_ir"]
    kind: Any = TracedOnnxFunction
    kind.function_ir = property(functools.cache(signature.fget))  # type: ignore[arg-type]
    get_torchlib_ops()


with suppress(ImportError, AttributeError, KeyError):
    read_once()
