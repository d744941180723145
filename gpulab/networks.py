"""The networks that a `Problem` names, and its criterion. Imported when one is made: it needs torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class SmallCNN(nn.Module):
    """Three convolutions and a linear layer: 6 282 parameters, a step of a few milliseconds on one CPU core."""

    def __init__(self, float32_head: bool = False) -> None:
        super().__init__()
        self.float32_head = float32_head
        """Keep the last layer out of autocast."""
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.head = nn.Linear(16 * 4 * 4, 10)

    def forward(self, images: Tensor) -> Tensor:
        """Scores (N, 10) of images (N, 3, 32, 32)."""
        found = self.features(images)
        if not self.float32_head:
            return self.head(found)  # type: ignore[no-any-return]
        with torch.autocast(images.device.type, enabled=False):
            return self.head(found.float())  # type: ignore[no-any-return]


class WeightedCrossEntropy(nn.Module):
    """Mean cross entropy times a weight, in float32 whatever autocast says, on a CPU as on a GPU."""

    def __init__(self, weight: float) -> None:
        super().__init__()
        self.weight = weight

    def forward(self, scores: Tensor, labels: Tensor) -> Tensor:
        """A float32 scalar from scores (N, classes) and labels (N,)."""
        return self.weight * nn.functional.cross_entropy(scores.float(), labels)


def make(name: str, seed: int) -> nn.Module:
    """The network of that name with first weights drawn from `seed`; torch's own generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if name in ("cnn", "cnn_float32_head"):
            return SmallCNN(float32_head=name == "cnn_float32_head")
        from torchvision import models  # type: ignore[import-untyped]  # it ships no types

        network: nn.Module = getattr(models, name)(num_classes=10)
        # The stem for pictures of 32 pixels: the usual one would leave 8 of them before the first block.
        network.conv1 = nn.Conv2d(3, 64, 3, stride=1, padding=1, bias=False)
        network.maxpool = nn.Identity()
        return network
