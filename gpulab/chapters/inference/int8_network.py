"""Inference: the chapter's network on whole numbers, with the student's own four functions; and how fast products are.

The integers are real here: int8 in, 32-bit sums. `inference.int8` only simulates them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gpulab.chapters.inference.folding import CONVOLUTIONS, pieces
from gpulab.chapters.inference.int8 import layer_inputs
from gpulab.chapters.inference.network import Pictures
from gpulab.measuring.once import once
from gpulab.measuring.timing import Timing, measure

Function = Callable[..., Any]
Array = NDArray[Any]
GPU_ROWS = 4096
"""Of the square matrices whose products are timed on a GPU."""


@dataclass(frozen=True)
class Layer:
    """A convolution or linear layer as it is stored: whole numbers, and the scales that give them a meaning."""

    weight: Array
    """int8 (out, features); a convolution's 3 × 3 windows laid out in a row."""
    weight_scales: Array
    """(out,)"""
    x_scale: float
    bias: Array
    """float32 (out,)"""

    @property
    def nbytes(self) -> int:
        """To store it, with scales of 4 bytes."""
        return int(self.weight.size + 4 * (self.weight_scales.size + 1 + self.bias.size))


def quantized_layers(
    network: nn.Sequential, pictures: Pictures, fold: Function, calibrate: Function, quantize: Function
) -> list[Layer]:
    """The four layers with weights as int8, made by the student's functions from the calibration pictures.

    Weights have one scale per output channel, inputs one scale per layer, both from the largest magnitude.
    """
    inputs = layer_inputs(network, pictures.calibration_images)
    head: Any = network.get_submodule("head")
    floats = {f"conv{place}": fold(**pieces(network, place)) for place in CONVOLUTIONS}
    floats["head"] = (head.weight.detach().numpy(), head.bias.detach().numpy())
    layers = []
    for name, (weight, bias) in floats.items():
        rows = np.asarray(weight, np.float32).reshape(len(weight), -1)
        scales = [float(calibrate([row], "max")) for row in rows]
        whole = np.stack([np.asarray(quantize(row, scale)) for row, scale in zip(rows, scales, strict=True)])
        x_scale = float(calibrate([inputs[name]], "max"))
        layers.append(Layer(whole, np.array(scales), x_scale, np.asarray(bias, np.float32)))
    return layers


def windows(images: Array) -> Array:
    """The 3 × 3 windows at stride 2, with a border of zeros: (N · H/2 · W/2, C · 9) of (N, C, H, W), H and W even.

    A convolution is then the product of these rows with its weights.
    """
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    return np.ascontiguousarray(seen.transpose(0, 2, 3, 1, 4, 5)).reshape(-1, images.shape[1] * 9)


def scores(layers: list[Layer], images: Array, quantize: Function, int8_linear: Function) -> Array:
    """Scores (N, 10) of images (N, 3, 32, 32), every product in int8 by the student's functions."""
    flowing = images
    for place, layer in enumerate(layers):
        whole = np.asarray(quantize(flowing, layer.x_scale))
        convolution = place < len(layers) - 1
        rows = windows(whole) if convolution else whole.reshape(len(images), -1)
        sums = np.asarray(int8_linear(rows, layer.weight, layer.x_scale, layer.weight_scales)) + layer.bias
        if not convolution:
            return sums
        size = flowing.shape[2] // 2
        maps = sums.reshape(len(images), size, size, -1).transpose(0, 3, 1, 2)
        flowing = np.maximum(maps, 0)
    return flowing


def accuracy_of(found: Array, pictures: Pictures) -> float:
    """Share of the test pictures, or of the first of them, that the scores get right."""
    return float((found.argmax(1) == pictures.test_labels.numpy()[: len(found)]).mean())


def product_times(yours: Function, n: int = 256) -> dict[str, Timing]:
    """Times of a product of n × 2n with 2n × n numbers: by the student's function, and by PyTorch, on one thread.

    int8 by PyTorch is there only where this PyTorch has it for this processor.
    """
    draw = np.random.default_rng(8)
    x, weight = (draw.integers(-127, 128, (n, 2 * n)).astype(np.int8) for _ in range(2))
    ones, tensors = np.ones(n), (torch.from_numpy(x), torch.from_numpy(weight))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        times = {
            "int8, yours": measure(lambda: yours(x, weight, 1.0, ones), runs=3, on="cpu"),
            "float32": measure(lambda a, b: a @ b.t(), *(part.float() for part in tensors), runs=10, on="cpu"),
        }
        if _has_int8(tensors):
            times["int8, library"] = measure(lambda a, b: torch._int_mm(a, b.t()), *tensors, runs=10, on="cpu")
    finally:
        torch.set_num_threads(threads)
    return times


@once
def gpu_product_times() -> dict[str, Timing]:
    """Times of square products on the GPU: float32, float16 and, where PyTorch has it, int8; empty without a GPU."""
    if not torch.cuda.is_available():
        return {}
    n = GPU_ROWS
    whole = tuple(torch.randint(-127, 128, (n, n), dtype=torch.int8, device="cuda") for _ in range(2))
    times = {
        name: measure(lambda a, b: a @ b.t(), *(torch.randn(n, n, device="cuda").to(kind) for _ in range(2)), runs=20)
        for name, kind in (("float32", torch.float32), ("float16", torch.float16))
    }
    if _has_int8(whole):
        times["int8"] = measure(lambda a, b: torch._int_mm(a, b.t()), *whole, runs=20)
    return times


def _has_int8(pair: tuple[torch.Tensor, ...]) -> bool:
    """Whether this PyTorch multiplies int8 on the tensors' device; the function is not a public one and may go."""
    try:
        result = torch._int_mm(pair[0], pair[1].t())
    except (AttributeError, RuntimeError, NotImplementedError):
        return False
    return bool(result.dtype == torch.int32)


def promised_rates() -> dict[str, dict[str, float]]:
    """GPU → type → dense TFLOPS or TOPS of its datasheet, for GPUs that multiply int8 on tensor cores."""
    from gpulab import table

    chosen: list[dict[str, Any]] = [row for row in table("gpus") if row["gpu"] in ("T4", "A100 80GB", "L4", "H200")]
    return {row["gpu"]: {kind: row[f"{kind}_tflops"] for kind in ("float32", "float16", "int8")} for row in chosen}
