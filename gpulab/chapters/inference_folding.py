"""Chapter 08: batch norms folded into the convolutions before them, by PyTorch's own hand, and how far that is off.

The exercise's answer is compared with this. Quantising is the business of `inference_int8`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_conv_bn_weights

Array = NDArray[np.float32]
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

    def without(name: str) -> Fold:
        return lambda weight, bias, mean, variance, gamma, beta, eps: _fold(
            weight, bias, mean * (name != "mean"), variance, gamma, beta * (name != "β"), eps
        )

    def squared(weight: Array, bias: Array, mean: Array, variance: Array, gamma: Array, beta: Array, eps: float) -> Any:
        return _fold(weight, bias, mean, (variance + eps) ** 2 - eps, gamma, beta, eps)

    wrong = {"no mean": without("mean"), "no β": without("β"), "no root": squared}
    return {"right": folded(network), **{name: folded_by(fold, network) for name, fold in wrong.items()}}


def _fold(
    weight: Array, bias: Array, mean: Array, variance: Array, gamma: Array, beta: Array, eps: float
) -> tuple[Tensor, Tensor]:
    first, second, third, fourth, fifth, sixth = map(torch.as_tensor, (weight, bias, mean, variance, gamma, beta))
    return fuse_conv_bn_weights(first, second, third, fourth, eps, fifth, sixth)
