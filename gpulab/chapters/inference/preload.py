"""What a process that will fork others imports once: what PyTorch's exporter imports when it is first used.

That is half of PyTorch's compiler, two seconds and more of each submission's time.
"""

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
