"""Inference: networks and files that no engine can be made from, to see what is said about them; and one remedy."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gpulab.chapters.inference.engine_files import read


class Doubtful(nn.Module):
    """Decides in Python, by the numbers in a tensor: no graph can hold that."""

    def forward(self, images: Tensor) -> Tensor:
        """Images (N, 3, 32, 32), doubled where they are bright on the whole."""
        if images.mean() > 0:
            return 2 * images
        return images


@torch.library.custom_op("lab::compand", mutates_args=())
def compand(x: Tensor) -> Tensor:
    """sign(x) · log(1 + |x|), of any shape; to PyTorch's compilers and exporters a closed box."""
    return torch.sign(x) * torch.log1p(x.abs())


@compand.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


class Compander(nn.Module):
    """A layer that is made of `compand` alone."""

    def forward(self, images: Tensor) -> Tensor:
        """Images (N, 3, 32, 32), companded."""
        companded: Tensor = compand(images)
        return companded


def from_the_future(content: bytes, opset: int = 99) -> bytes:
    """The same ONNX file, said to be written in an opset that does not exist yet."""
    model = read(content)
    model.opset_import[0].version = opset
    changed: bytes = model.SerializeToString()
    return changed
