"""Inference: what PyTorch's exporter refuses, in one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulab.chapters.inference.engine_files import first_line

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
