"""The training loop with five faults that the profiling chapter hands out.

Its page shows the same code without types; a test compares the two.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.profiler import record_function
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset[Any]):
    """Compressed pictures of 16 × 16 × 3 bytes, and their labels."""

    def __init__(self, files: Sequence[bytes], labels: torch.Tensor) -> None:
        self.files, self.labels = files, labels

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        with record_function("decode"):
            raw = bytearray(zlib.decompress(self.files[index]))
            picture = torch.frombuffer(raw, dtype=torch.uint8).view(16, 16, 3)
            return picture, self.labels[index]


def train(
    files: Sequence[bytes],
    labels: torch.Tensor,
    device: str = "cpu",
    after_step: Callable[[], Any] = lambda: None,
) -> list[float]:
    """Two epochs in batches of 32; returns the loss of every step."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)]
    model = nn.Sequential(*layers).double().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    loader, losses = DataLoader(Pictures(files, labels), batch_size=32), []
    for _ in range(2):
        for pictures, targets in loader:
            with record_function("step"):
                pieces = [(one.double() - 128) / 64 for one in pictures.to(device)]
                images = torch.stack(pieces).permute(0, 3, 1, 2).contiguous()
                loss = nn.functional.cross_entropy(model(images), targets.to(device))
                model.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it so
                optimizer.step()
                losses.append(loss.item())
            after_step()
    return losses
