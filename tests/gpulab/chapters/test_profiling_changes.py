"""Which change of the hunt's loop gives which losses; they come from a loop of this file's own."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from gpulab.chapters.profiling import hunt, hunt_changes, hunt_pictures, slow_loop

FILES, LABELS = hunt_pictures.data(3, 70)


def ahead(pictures: torch.Tensor) -> torch.Tensor:
    return pictures.permute(0, 3, 1, 2)


def normalized(pictures: torch.Tensor) -> torch.Tensor:
    return (ahead(pictures).double() - 128) / 64


def losses_of(images: Callable[[torch.Tensor], torch.Tensor], zeroed: bool = True, rate: float = 0.2) -> list[float]:
    """The losses of two epochs in float64, where `images` makes the model's input from bytes (N, 16, 16, 3)."""
    rows = [torch.frombuffer(bytearray(zlib.decompress(one)), dtype=torch.uint8) for one in FILES]
    given = images(torch.stack(rows).view(-1, 16, 16, 3))
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU()]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)).double()
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=rate), []
    for _ in range(2):
        for batch, targets in zip(given.split(32), LABELS.split(32), strict=True):
            loss = nn.functional.cross_entropy(model(batch), targets)
            if zeroed:
                optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it so
            optimizer.step()
            losses.append(loss.item())
    return losses


@pytest.mark.parametrize(
    ("images", "note"),
    [
        (lambda pictures: (ahead(pictures) - 128).double() / 64, hunt_changes.WRAPPED),
        (lambda pictures: ((pictures.double() - 128) / 64).view(-1, 3, 16, 16), hunt_changes.PLANES),
        (lambda pictures: normalized(pictures).transpose(2, 3), hunt_changes.TURNED),
        (lambda pictures: ahead(pictures).double() / 255, hunt_changes.OTHERWISE),
        (lambda pictures: ahead(pictures).double() / 64 - 128, hunt_changes.OTHERWISE),
        (lambda pictures: ahead(pictures).double(), hunt_changes.OTHERWISE),
        (lambda pictures: ahead(pictures).double() / 100, ""),
        (normalized, ""),
    ],
)
def test_a_change_is_named_by_the_losses_that_it_gives(
    images: Callable[[torch.Tensor], torch.Tensor], note: str
) -> None:
    """Losses that are right, or that no known change gives, have no name."""
    assert hunt_changes.known(losses_of(images), FILES, LABELS, hunt.TOLERANCE) == note


@pytest.mark.parametrize(("zeroed", "rate", "note"), [(False, 0.2, hunt_changes.ADDED), (True, 0.1, "")])
def test_so_are_gradients_that_add_up(zeroed: bool, rate: float, note: str) -> None:
    assert hunt_changes.known(losses_of(normalized, zeroed, rate), FILES, LABELS, hunt.TOLERANCE) == note


def test_every_change_is_one_of_the_loop() -> None:
    """The text that is replaced stands in it once, and the loop without changes gives the losses of this file's."""
    source = Path(slow_loop.__file__).read_text(encoding="utf-8")
    assert [old for old, _, _ in hunt_changes.CHANGES if source.count(old) != 1] == []
    assert losses_of(normalized) == pytest.approx(slow_loop.train(FILES, LABELS), rel=1e-9)
