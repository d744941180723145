"""What the reading exercises of the tensor-core chapter need: the menu of codes, and their networks."""

from __future__ import annotations

import itertools
from typing import Any

MENU = {
    "input_width": "the data has a number of features or channels that is not a multiple of 8",
    "hidden_width": "a size between two layers is not a multiple of 8",
    "output_width": "the outputs of the network are not a multiple of 8",
    "batch_size": "the batch size that the program chooses is not a multiple of 8",
    "short_batch": "the last batch is shorter than the others, and its size is not a multiple of 8",
    "image_size": "height and width of the images are not multiples of 8",
    "kernel_size": "the kernel of a convolution is not a multiple of 8",
    "power_of_two": "a size between two layers is a multiple of 8, but not a power of two",
    "no_activation": "two layers follow each other without an activation between them",
    "math_heavy": "an activation between two layers is math-heavy",
    "wrong_width": "the first layer expects a different width than that of the data",
    "wrong_classes": "the number of outputs differs from the number of classes",
    "shrinking": "convolutions without padding shrink the picture, so the result no longer fits the mask",
    "fed_loader": "the model is given the loader, not a batch",
    "syntax": "it is not Python: a comma is missing",
}
"""Code → what it says about a program."""


def networks() -> list[tuple[str, list[dict[str, Any]], int]]:
    """The networks of the three programs, once they are Python, as `review` takes them: title, layers, batch size."""

    def linear(*sizes: int) -> list[dict[str, Any]]:
        pairs = itertools.pairwise(sizes)
        return [{"kind": "linear", "in_features": first, "out_features": last} for first, last in pairs]

    def conv(first: int, last: int) -> dict[str, Any]:
        return {"kind": "conv", "in_channels": first, "out_channels": last}

    relu = {"kind": "relu"}
    first, second, third = linear(64, 40, 80, 16)
    return [
        ("wine", linear(256, 96, 48, 20, 5), 256),
        ("minerals", [first, dict(relu), second, dict(relu), third], 64),
        ("cells", [conv(3, 48), dict(relu), conv(48, 96), {"kind": "tanh"}, conv(96, 1), {"kind": "sigmoid"}], 32),
    ]
