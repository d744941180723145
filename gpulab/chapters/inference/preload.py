"""Imported once, by a process that will fork others: what PyTorch's exporter imports when it is first used.

That is half of PyTorch's compiler, two seconds and more of each submission's time. Nothing is exported here, and no
device is asked for.
"""

from __future__ import annotations

import functools
import importlib
from contextlib import suppress
from typing import Any

MODULES = (
    "onnxscript.function_libs.torch_lib.ops",
    "onnxscript.optimizer",
    "onnxscript.rewriter.onnx_fusions",
    "torch._inductor.lowering",
    "torch._export.passes",
    "torch._subclasses.schema_check_mode",
    "torch.export._draft_export",
    "torch.onnx._internal.exporter._core",
    "torch.onnx._internal.exporter._torchlib.ops",
    "sympy.tensor.tensor",
    "onnxruntime",
    "onnxruntime.quantization",
    "onnxruntime.transformers.float16",
)
"""Some are private, and another release may lack them; an export imports what it needs anyway."""


def warm_up() -> None:
    """Imports what is there."""
    for name in MODULES:
        with suppress(ImportError):
            importlib.import_module(name)
    with suppress(ImportError, AttributeError, KeyError):
        read_signatures_once()


def read_signatures_once() -> None:
    """Has PyTorch's 500 translations read for their signatures now; each export does so again, for most of a second.

    Raises:
        ImportError, AttributeError, KeyError: another release of onnxscript, which does that in another way.
    """
    from onnxscript._framework_apis.torch_2_5 import get_torchlib_ops
    from onnxscript._internal.values import TracedOnnxFunction

    signature: property = vars(TracedOnnxFunction)["function_ir"]
    kind: Any = TracedOnnxFunction
    kind.function_ir = property(functools.cache(signature.fget))  # type: ignore[arg-type]
    get_torchlib_ops()


warm_up()
