"""Inference: batch norms folded into the convolutions before them, by PyTorch's own hand, and how far that is off.

The exercise's answer is compared with this. Quantizing is the business of `inference.int8`.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

Fold = Callable[..., tuple[Any, Any]]
"""The student's `fold_batchnorm(weight, bias, mean, variance, gamma, beta, eps)`."""
CONVOLUTIONS = (1, 2, 3)


def folded(network: nn.Sequential) -> nn.Sequential:
    """The chapter's network in eval mode without its batch norms: convolutions that have a bias instead."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for place in CONVOLUTIONS:
        convolution: Any = network.get_submodule(f"conv{place}")
        norm: Any = network.get_submodule(f"norm{place}")
        layers[f"conv{place}"] = fuse_conv_bn_eval(convolution, norm)
        layers[f"relu{place}"] = nn.ReLU()
    layers |= {"flatten": nn.Flatten(), "head": network.get_submodule("head")}
    return nn.Sequential(layers).eval().requires_grad_(False)


def pieces(network: nn.Sequential, place: int) -> dict[str, Any]:
    """What `fold_batchnorm` takes, from the convolution and the norm number `place` (1 to 3), as NumPy arrays.

    `weight` (out, in, 3, 3); `bias`, `mean`, `variance`, `gamma`, `beta` (out,), where `bias` is all zeros because the
    network's convolutions have none; `eps` a float.
    """
    convolution: Any = network.get_submodule(f"conv{place}")
    norm: Any = network.get_submodule(f"norm{place}")
    weight = convolution.weight.detach().numpy().copy()
    running = {"mean": norm.running_mean, "variance": norm.running_var, "gamma": norm.weight, "beta": norm.bias}
    copies = {name: value.detach().numpy().copy() for name, value in running.items()}
    return {"weight": weight, "bias": np.zeros(len(weight), np.float32), **copies, "eps": float(norm.eps)}


def folded_by(fold: Fold, network: nn.Sequential) -> nn.Sequential:
    """`folded`, with weights and biases from the student's function."""
    made = folded(network)
    for place in CONVOLUTIONS:
        weight, bias = fold(**pieces(network, place))
        layer: Any = made.get_submodule(f"conv{place}")
        layer.weight.data = torch.as_tensor(np.asarray(weight, np.float32))
        layer.bias.data = torch.as_tensor(np.asarray(bias, np.float32))
    return made


def apart(first: nn.Module, second: nn.Module, images: Tensor) -> float:
    """Largest difference between the scores of two networks for these images."""
    with torch.inference_mode():
        return float((first(images) - second(images)).abs().max())


def variations(network: nn.Sequential) -> dict[str, nn.Sequential]:
    """The folded network, and what it becomes when a term of the formula is left out."""

    def without_mean(norm: nn.BatchNorm2d) -> None:
        _tensor(norm.running_mean).zero_()

    def without_beta(norm: nn.BatchNorm2d) -> None:
        _tensor(norm.bias).zero_()

    def without_root(norm: nn.BatchNorm2d) -> None:
        variance = _tensor(norm.running_var)
        variance.copy_((variance + norm.eps) ** 2 - norm.eps)

    wrong = {"no mean": without_mean, "no β": without_beta, "no root": without_root}
    return {"right": folded(network), **{name: folded(_changed(network, change)) for name, change in wrong.items()}}


def _changed(network: nn.Sequential, change: Callable[[nn.BatchNorm2d], None]) -> nn.Sequential:
    """A copy of the network with each of its batch norms changed."""
    made = copy.deepcopy(network)
    for layer in made:
        if isinstance(layer, nn.BatchNorm2d):
            change(layer)
    return made


def _tensor(held: Tensor | None) -> Tensor:
    assert held is not None  # every batch norm of the network tracks statistics and has weights
    return held.data
