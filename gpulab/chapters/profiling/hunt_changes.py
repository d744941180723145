"""Which change of the profiling chapter's loop gives the losses that a program returned.

Each known change is made in a loop of its own, in float64. The loop as it is handed out is `profiling.slow_loop`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import torch
from torch import nn

from gpulab.chapters.profiling.hunt_pictures import BATCH

Images = Callable[[torch.Tensor], torch.Tensor]
"""From bytes (N, 16, 16, 3) to what the model is given, float64 (N, 3, 16, 16)."""

WRAPPED = "128 was subtracted from bytes: a uint8 has no values below 0, so they wrap around. Convert to float first."
PLANES = "view and reshape do not move an axis: they read the bytes of three colors as a plane. Use permute."
TURNED = "Height and width are swapped: the axes become (picture, color, height, width)."
OTHERWISE = "The pictures are normalized in another way: subtract 128, then divide by 64."
ADDED = "The gradients are not set to zero: each step adds to those of the steps before it."


def _ahead(pictures: torch.Tensor) -> torch.Tensor:
    return pictures.permute(0, 3, 1, 2)


def _as_before(pictures: torch.Tensor) -> torch.Tensor:
    return (_ahead(pictures).double() - 128) / 64


IMAGES: tuple[tuple[Images, str], ...] = (
    (lambda bytes_: (_ahead(bytes_) - 128).double() / 64, WRAPPED),
    (lambda bytes_: ((bytes_.double() - 128) / 64).view(-1, 3, 16, 16), PLANES),
    (lambda bytes_: _as_before(bytes_).transpose(2, 3), TURNED),
    (lambda bytes_: _ahead(bytes_).double(), OTHERWISE),
    (lambda bytes_: _ahead(bytes_).double() - 128, OTHERWISE),
    (lambda bytes_: _ahead(bytes_).double() / 64, OTHERWISE),
    (lambda bytes_: _ahead(bytes_).double() / 255, OTHERWISE),
    (lambda bytes_: _ahead(bytes_).double() / 256, OTHERWISE),
    (lambda bytes_: (_ahead(bytes_).double() - 128) / 128, OTHERWISE),
    (lambda bytes_: (_ahead(bytes_).double() - 64) / 128, OTHERWISE),
    (lambda bytes_: _ahead(bytes_).double() / 64 - 128, OTHERWISE),
    (lambda bytes_: _ahead(bytes_).double() / 127.5 - 1, OTHERWISE),
)


def known(losses: Sequence[float], files: Sequence[bytes], labels: torch.Tensor, rtol: float) -> str:
    """What to say about the change that gives these losses; empty if none of the known ones does.

    Args:
        losses: of every step of two epochs.
        files: the compressed pictures.
        labels: their labels.
        rtol: how far losses may be off.
    """
    pictures = unpacked(files)
    changes = [(images, True, note) for images, note in IMAGES]
    for images, zeroed, note in (*changes, (_as_before, False, ADDED)):
        changed = _losses(images(pictures), labels, zeroed)
        if len(changed) == len(losses) and all(
            abs(one - other) <= rtol * abs(other) for one, other in zip(losses, changed, strict=True)
        ):
            return note
    return ""


def unpacked(files: Sequence[bytes]) -> torch.Tensor:
    """The pictures, uint8 (N, 16, 16, 3)."""
    bytes_ = [torch.frombuffer(bytearray(zlib.decompress(one)), dtype=torch.uint8) for one in files]
    return torch.stack(bytes_).view(-1, 16, 16, 3)


def _losses(images: torch.Tensor, labels: torch.Tensor, zeroed: bool) -> list[float]:
    """The losses of two epochs, with this model input; zeroed: whether each step begins with gradients of zero."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)).double()
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.2), []
    for _ in range(2):
        for batch, targets in zip(torch.split(images, BATCH), torch.split(labels, BATCH), strict=True):
            loss = nn.functional.cross_entropy(model(batch), targets)
            if zeroed:
                optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it so
            optimizer.step()
            losses.append(loss.item())
    return losses
