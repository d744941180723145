"""Chapter 08: PyTorch's exporter, with its refusals put into one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from gpulab.chapters.inference_engine_files import NotAnEngine, first_line, quiet

DATA_DEPENDENT = ("data-dependent", "data dependent", "GuardOnDataDependent", "control flow")
"""What torch says, somewhere in its long text, when Python has decided by a tensor's values."""


def exported(network: nn.Module, *, folded: bool = True, **options: Any) -> bytes:
    """A network as an ONNX file: input `images` (batch, 3, 32, 32), output `scores`, any batch.

    Args:
        network: on the CPU; exported in eval mode, and left in the mode that it was in.
        folded: let the exporter fold batch norms into convolutions, and what is constant into numbers. Else only what
            is constant.
        options: handed on to `torch.onnx.export`.

    Raises:
        NotAnEngine: it cannot be exported; the message says what stands in the way.
    """
    kind = next((parameter.dtype for parameter in network.parameters()), torch.float32)
    program = _traced(network, torch.zeros(2, 3, 32, 32, dtype=kind), {"optimize": folded, **options})
    if not folded:
        from onnxscript import optimizer

        optimizer.fold_constants(program.model)
        optimizer.remove_unused_nodes(program.model)
    content: bytes = program.model_proto.SerializeToString()
    return content


def _traced(network: nn.Module, example: torch.Tensor, options: dict[str, Any]) -> Any:
    was_training = network.training
    try:
        with quiet():
            return torch.onnx.export(
                network.eval(),
                (example,),
                dynamo=True,
                verbose=False,
                input_names=["images"],
                output_names=["scores"],
                dynamic_shapes=({0: torch.export.Dim("batch")},),
                **options,
            )
    except Exception as error:  # torch's exporter has a dozen kinds, most of them private
        raise NotAnEngine(_reason(error)) from error
    finally:
        network.train(was_training)


def _reason(error: BaseException) -> str:
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
