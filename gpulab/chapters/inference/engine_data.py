"""Inference: a problem's network, trained, and pictures to calibrate with and to test on.

The pictures for testing are not quite like those for calibrating, as it goes in life: some are over-exposed.
"""

from __future__ import annotations

import copy
import functools
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from gpulab.training.data import Digits
from gpulab.training.problem import Problem

EPOCHS = 6
CALIBRATION, TEST = 97, 200
"""Of the digits that no problem trains on: all 297."""
BRIGHT_EVERY = 4
"""One in so many test pictures is over-exposed."""


@dataclass(frozen=True)
class HeldOut:
    """Digits that the network was not trained on: float32 images (N, 3, 32, 32), normalized, and int64 labels (N,)."""

    calibration: Tensor
    """Has no labels: to look at ranges nobody needs any."""
    images: Tensor
    """To test on, a quarter of them over-exposed."""
    labels: Tensor


def fitted(problem: Problem) -> nn.Module:
    """The problem's network after six epochs on its loader, in eval mode on the CPU; the same every time.

    Raises:
        LookupError, ValueError: see `Problem.loader`.
    """
    return copy.deepcopy(_fitted(problem))


@functools.lru_cache(maxsize=4)
def _fitted(problem: Problem) -> nn.Module:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums in another order are other sums; and layers this small gain nothing
    try:
        network = problem.model()
        optimizer, criterion = problem.optimizer(network), problem.criterion()
        for _ in range(EPOCHS):
            for images, labels in problem.loader():
                optimizer.zero_grad()
                criterion(network(images), labels).backward()
                optimizer.step()
    finally:
        torch.set_num_threads(threads)
    return network.eval().requires_grad_(False)


def held_out(problem: Problem) -> HeldOut:
    """Pictures to calibrate with and to test on, drawn with the problem's seed.

    Raises:
        LookupError: the digits are not here.
    """
    return _held_out(problem.seed)


@functools.lru_cache(maxsize=4)
def _held_out(seed: int) -> HeldOut:
    known, new = _gray(train=True), _gray(train=False)
    draw = np.random.default_rng([seed, 8])
    order = draw.permutation(len(new.labels))
    first, rest = order[:CALIBRATION], order[CALIBRATION : CALIBRATION + TEST]
    tested = new.images[rest].clone()
    tested[::BRIGHT_EVERY] *= float(draw.uniform(4, 6))
    mean, spread = known.images.mean(), known.images.std()
    return HeldOut((new.images[first] - mean) / spread, (tested - mean) / spread, new.labels[rest])


@dataclass(frozen=True)
class _Gray:
    images: Tensor
    labels: Tensor


@functools.cache
def _gray(train: bool) -> _Gray:
    found = Digits(train=train)
    images = torch.from_numpy(np.asarray(found.data)).permute(0, 3, 1, 2).float() / 255
    return _Gray(images.contiguous(), torch.tensor(found.targets))
