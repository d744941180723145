"""Imported once, by a process that will fork others: what PyTorch's exporter imports when it is first used.

That is half of PyTorch's compiler, two seconds and more of each submission's time. Only imported: nothing is exported
here, and no device is asked for.
"""

from __future__ import annotations

import importlib
from contextlib import suppress

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
    "gpulab.chapters.inference_engine",
    "onnxruntime.quantization",
    "onnxruntime.transformers.float16",
)
"""Private ones among them, that another release may not have: whoever exports imports what it needs anyway."""


def warm_up() -> None:
    """Imports what is there."""
    for name in MODULES:
        with suppress(ImportError):
            importlib.import_module(name)


warm_up()
