"""Inference: what is lost when numbers become a few bits, and when one number is far too large.

Works on arrays, and on the chapter's network with its numbers rounded but still floats ("simulated"). A network that
really runs on integers is in `inference.int8_network`, the figures in `inference.int8_pictures`.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gpulab.chapters.inference.folding import folded
from gpulab.chapters.inference.network import Pictures, accuracy, trained

Array = NDArray[np.floating[Any]]
WEIGHTED = ("conv1", "conv2", "conv3", "head")
"""Layers with weights, in order; what goes into them is what has to be quantized."""
HOT = (5, 17)
"""Row and column of the pixel that `spoiled` makes bright."""


def largest_step(bits: int) -> int:
    """The largest whole number of a symmetric format: 127 for 8 bits, 1 for 2."""
    return (1 << bits - 1) - 1


@dataclass(frozen=True)
class Errors:
    """Root mean square errors at one limit, in the unit of the values."""

    rounding: float
    """Of the numbers within the limit, spread over all."""
    clipping: float
    """Of those beyond."""

    @property
    def total(self) -> float:
        """Of all together."""
        return float(np.hypot(self.rounding, self.clipping))


def clip_errors(values: Array, limits: Sequence[float], bits: int) -> list[Errors]:
    """What rounding to steps and cutting at a limit cost, for each limit (> 0)."""
    found, steps = [], largest_step(bits)
    for limit in limits:
        given = torch.as_tensor(values)
        nearest = torch.fake_quantize_per_tensor_affine(given, limit / steps, 0, -steps, steps)
        squares = (nearest - given).double().square().numpy()
        beyond = np.abs(values) > limit
        parts = [float(np.sqrt(squares[part].sum() / values.size)) for part in (~beyond, beyond)]
        found.append(Errors(*parts))
    return found


def layer_inputs(network: nn.Sequential, images: Tensor) -> dict[str, Array]:
    """Layer with weights → what goes into it for these images, in the network without batch norms."""
    seen: dict[str, Array] = {}
    flowing = images
    with torch.inference_mode():
        for name, layer in folded(network).named_children():
            if name in WEIGHTED:
                seen[name] = flowing.numpy()
            flowing = layer(flowing)
    return seen


def spoiled(images: Tensor, brightness: float, picture: int = 0) -> Tensor:
    """Copies of the images (N, 3, 32, 32), one of them with a pixel that is `brightness` times the brightest of all."""
    broken = images.clone()
    broken[picture, :, HOT[0], HOT[1]] = brightness * images.max()
    return broken


def simulated(network: nn.Sequential, limits: dict[str, float], pictures: Pictures, bits: int = 8) -> float:
    """Accuracy on the test pictures with every layer's input cut at its limit and rounded, and the weights as well.

    The weights have one scale per output channel; the biases stay as they are.
    """
    flowing, steps = pictures.test_images, largest_step(bits)
    with torch.inference_mode():
        for name, layer in _rounded_weights(network, bits, per_channel=True).named_children():
            if name in WEIGHTED:
                flowing = torch.fake_quantize_per_tensor_affine(flowing, limits[name] / steps, 0, -steps, steps)
            flowing = layer(flowing)
    return float((flowing.argmax(1) == pictures.test_labels).float().mean())


def hot_pixels(brightnesses: Sequence[float], seed: int = 0) -> dict[str, dict[float, float]]:
    """Way of calibrating → brightness of one pixel in one of 256 pictures → simulated accuracy on the test pictures."""
    network, pictures = trained(seed)
    found: dict[str, dict[float, float]] = {"maximum": {}, "99.9 %": {}}
    for brightness in brightnesses:
        inputs = layer_inputs(network, spoiled(pictures.calibration_images, brightness))
        for name, percentile in (("maximum", 100.0), ("99.9 %", 99.9)):
            limits = {layer: float(np.percentile(np.abs(values), percentile)) for layer, values in inputs.items()}
            found[name][brightness] = simulated(network, limits, pictures)
    return found


@functools.lru_cache(maxsize=2)
def fewer_bits(seed: int = 0) -> dict[str, dict[int, float]]:
    """`"per channel"`, `"per tensor"` → bits of a weight → accuracy on the test pictures; nothing else is rounded."""
    network, pictures = trained(seed)
    return {
        name: {
            bits: accuracy(_rounded_weights(network, bits, per), pictures.test_images, pictures.test_labels)
            for bits in range(8, 1, -1)
        }
        for name, per in (("per channel", True), ("per tensor", False))
    }


def _rounded_weights(network: nn.Sequential, bits: int, per_channel: bool) -> nn.Sequential:
    """The network without batch norms, its weights rounded to so many bits, with one scale or one for each channel."""
    made, steps = copy.deepcopy(folded(network)), largest_step(bits)
    for name in WEIGHTED:
        layer: Any = made.get_submodule(name)
        weight = layer.weight.detach()
        widths = weight.abs().flatten(1).amax(1)
        scales = (widths if per_channel else widths.max().expand(len(widths))) / steps
        zeros = torch.zeros(len(scales), dtype=torch.int32)
        layer.weight.data = torch.fake_quantize_per_channel_affine(weight, scales, zeros, 0, -steps, steps)
    return made


def codes(weight: Array) -> dict[str, dict[str, NDArray[np.int64]]]:
    """The widest and the narrowest output channel as whole numbers from −127 to 127, with one scale and with their own.

    Args:
        weight: (out, …).

    Returns:
        `"per tensor"`, `"per channel"` → `"widest"`, `"narrowest"` → the channel's numbers.
    """
    flat = torch.as_tensor(weight, dtype=torch.float32).flatten(1)
    widths = flat.abs().amax(1)
    places = {"widest": int(widths.argmax()), "narrowest": int(widths.argmin())}
    scales = {"per tensor": (widths.max() / 127).expand(len(widths)), "per channel": widths / 127}
    found: dict[str, dict[str, NDArray[np.int64]]] = {}
    for name, each in scales.items():
        zeros = torch.zeros(len(each), dtype=torch.int32)
        nearest = torch.fake_quantize_per_channel_affine(flat, each, zeros, 0, -127, 127)
        whole = (nearest / each[:, None]).round().long().numpy()
        found[name] = {which: whole[place] for which, place in places.items()}
    return found
