"""The inference chapter's network: small, with batch norms, trained once for each seed, and the pictures that go with
it.

What is done with it afterwards (quantizing, folding, exporting) is up to the chapter's other modules.
"""

from __future__ import annotations

import copy
import functools
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from gpulab.training.data import Digits

CALIBRATION, TEST = 256, 500
"""Pictures for calibrating and for testing; the other 1 041 of the 1 797 train."""
EPOCHS, BATCH, RATE = 6, 32, 0.04


@dataclass(frozen=True)
class DigitImages:
    """Digits in three parts that share no picture: float32 images (N, 3, 32, 32), normalized alike; int64 labels (N,).

    All writers are in every part: the parts are drawn from all 1 797 digits, with the seed that trained the network.
    """

    train_images: Tensor
    train_labels: Tensor
    calibration_images: Tensor
    """What the network will meet, roughly: no labels are needed to look at ranges."""
    test_images: Tensor
    test_labels: Tensor


def trained(seed: int = 0) -> tuple[nn.Sequential, DigitImages]:
    """The chapter's network, trained, in eval mode on the CPU, and its pictures.

    Takes images (N, 3, 32, 32) to scores (N, 10). Layers by name: `conv1 norm1 relu1` (16 channels of 16 × 16),
    `conv2 norm2 relu2` (32 of 8 × 8), `conv3 norm3 relu3` (64 of 4 × 4), `flatten`, `head` (1024 → 10).
    33,946 parameters; the convolutions have no bias, as usual before a batch norm. About 98% of the test pictures are
    recognized.

    Trains for about two seconds, once in a process for each seed, on one thread, with the same result every time;
    torch's random numbers and threads are left as they were. The copy is yours: change it as you like.

    Raises:
        LookupError: the digits are not here.
    """
    network, pictures = _trained(seed)
    return copy.deepcopy(network), pictures


def accuracy(network: nn.Module, images: Tensor, labels: Tensor) -> float:
    """Share of the images (N, 3, 32, 32) that a network in eval mode gets right, on their device."""
    with torch.inference_mode():
        return float((network(images).argmax(1) == labels).float().mean())


def untrained() -> nn.Sequential:
    """The same layers with weights drawn from torch's generator, in training mode."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    wide = 3
    for place, channels in enumerate((16, 32, 64), start=1):
        layers[f"conv{place}"] = nn.Conv2d(wide, channels, 3, stride=2, padding=1, bias=False)
        layers[f"norm{place}"] = nn.BatchNorm2d(channels)
        layers[f"relu{place}"] = nn.ReLU()
        wide = channels
    layers["flatten"] = nn.Flatten()
    layers["head"] = nn.Linear(wide * 4 * 4, 10)
    return nn.Sequential(layers)


@functools.lru_cache(maxsize=2)
def _trained(seed: int) -> tuple[nn.Sequential, DigitImages]:
    pictures, threads = _pictures(seed), torch.get_num_threads()
    torch.set_num_threads(1)  # sums in another order are other sums; and layers this small gain nothing
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.manual_seed(seed)
            network = _train(untrained(), pictures.train_images, pictures.train_labels)
    finally:
        torch.set_num_threads(threads)
    return network.eval().requires_grad_(False), pictures


def _train(network: nn.Sequential, images: Tensor, labels: Tensor) -> nn.Sequential:
    """SGD with momentum and a rate that falls to zero, over digits moved by up to a pixel, another way each step."""
    optimizer = torch.optim.SGD(network.parameters(), lr=RATE, momentum=0.9, weight_decay=1e-3)
    steps = EPOCHS * (len(labels) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(labels))
        for batch in order[: len(order) // BATCH * BATCH].view(-1, BATCH):
            shift = torch.randint(-1, 2, (2,)).tolist()
            optimizer.zero_grad()
            moved = torch.roll(images[batch], shift, dims=(2, 3))
            loss: Tensor = nn.functional.cross_entropy(network(moved), labels[batch])
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no type for it
            optimizer.step()
            schedule.step()
    return network


def _pictures(seed: int) -> DigitImages:
    parts = [Digits(train=train) for train in (True, False)]
    gray = torch.from_numpy(np.concatenate([part.data for part in parts])).permute(0, 3, 1, 2).float() / 255
    labels = torch.tensor([label for part in parts for label in part.targets])
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(labels)))
    gray, labels = gray[order], labels[order]
    learn = len(labels) - CALIBRATION - TEST
    images = ((gray - gray[:learn].mean()) / gray[:learn].std()).contiguous()
    return DigitImages(
        train_images=images[:learn],
        train_labels=labels[:learn],
        calibration_images=images[learn : learn + CALIBRATION],
        test_images=images[learn + CALIBRATION :],
        test_labels=labels[learn + CALIBRATION :],
    )
