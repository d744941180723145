"""Files of networks for the tests of the inference chapter: exported, in float16, in int8. Students write these
themselves."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn

from gpulab.chapters.inference.engine import feeder, quiet, read


def exported(network: nn.Module, **options: Any) -> bytes:
    with quiet():
        program: Any = torch.onnx.export(
            network.eval(),
            (torch.zeros(2, 3, 32, 32),),
            dynamo=True,
            verbose=False,
            input_names=["images"],
            output_names=["scores"],
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            **options,
        )
    content: bytes = program.model_proto.SerializeToString()
    return content


def halved(content: bytes) -> bytes:
    with quiet():
        from onnxruntime.transformers.float16 import convert_float_to_float16  # type: ignore[import-untyped]

        small: bytes = convert_float_to_float16(read(content), keep_io_types=True).SerializeToString()
    return small


def quantized(content: bytes, calibration: torch.Tensor, **options: Any) -> bytes:
    from onnxruntime.quantization import quantize_static  # type: ignore[import-untyped]

    with tempfile.TemporaryDirectory() as folder, quiet():
        place = Path(folder, "int8.onnx")
        quantize_static(read(content), place, feeder(calibration), per_channel=True, **options)
        return place.read_bytes()
