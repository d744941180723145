"""Files of networks for the tests of the inference chapter: exported, in float16, in int8. Students write these
themselves."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import onnxruntime  # type: ignore[import-untyped] # it ships no types
import torch
from numpy.typing import NDArray
from onnxruntime.quantization import CalibrationDataReader, quantize_static  # type: ignore[import-untyped] # nor here
from torch import nn

from gpulab.chapters.inference import network
from gpulab.chapters.inference.engine_files import quiet, read


def random_network() -> nn.Sequential:
    """The chapter's layers with random weights and random statistics in the batch norms, the same every time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        made = network.untrained()
        for layer in made:
            if isinstance(layer, nn.BatchNorm2d):
                nn.init.uniform_(layer.running_mean, -0.5, 0.5)
                nn.init.uniform_(layer.running_var, 0.5, 2)
    return made.eval().requires_grad_(False)


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
    with tempfile.TemporaryDirectory() as folder, quiet():
        place = Path(folder, "int8.onnx")
        quantize_static(read(content), place, _Pictures(calibration), per_channel=True, **options)
        return place.read_bytes()


def fed(content: bytes, images: torch.Tensor) -> NDArray[Any]:
    """The scores of a file's engine on the CPU."""
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    scores: NDArray[Any] = session.run(None, {session.get_inputs()[0].name: images.numpy()})[0]
    return scores


def optimized(content: bytes) -> bytes:
    """The network as ONNX Runtime's builder leaves it, saved."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "engine.onnx")
        options.optimized_model_filepath = str(place)
        onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        return place.read_bytes()


class _Pictures(CalibrationDataReader):  # type: ignore[misc] # it ships no types
    def __init__(self, images: torch.Tensor) -> None:
        self._batches = iter(images.split(32))

    def get_next(self) -> dict[str, NDArray[Any]] | None:
        images = next(self._batches, None)
        return None if images is None else {"images": images.numpy()}
