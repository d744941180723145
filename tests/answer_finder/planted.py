"""Functions that must not be in `gpulab`, since each is an answer: what the finder has to find.

Their parameters differ from the exercises', as those of helpers do that a course writes for its figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_weights

import gpulab
from gpulab.training.problem import History, Problem

Array = NDArray[Any]


def exported(network: nn.Module, **options: Any) -> bytes:
    """Answers `export_onnx`, given the problem's network."""
    batch = {0: torch.export.Dim("batch")}
    program = torch.onnx.export(
        network.eval(), (torch.zeros(2, 3, 32, 32),), dynamo=True, dynamic_shapes=(batch,), verbose=False, **options
    )
    assert program is not None
    content: bytes = program.model_proto.SerializeToString()
    return content


def train(
    problem: Problem, epochs: int, dtype: torch.dtype | None = None, scaler: torch.amp.GradScaler | None = None
) -> History:
    """Answers `train_amp`, given a type and a scaler."""
    model = problem.model()
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = scaler or torch.amp.GradScaler("cpu", enabled=False)
    losses, scales, skipped = [], [], 0
    for _ in range(epochs):
        for images, labels in problem.loader():
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
                loss = criterion(model(images), labels)
            scaler.scale(loss).backward()
            before = scaler.get_scale()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
            scales.append(scaler.get_scale())
            skipped += scales[-1] < before
    return problem.history(model, losses, scales, skipped)


def _fold(
    weight: Array, bias: Array, mean: Array, variance: Array, gamma: Array, beta: Array, eps: float = 1e-5
) -> tuple[Tensor, Tensor]:
    """Answers `fold_batchnorm`."""
    first, second, third, fourth, fifth, sixth = map(torch.as_tensor, (weight, bias, mean, variance, gamma, beta))
    return fuse_conv_bn_weights(first, second, third, fourth, eps, fifth, sixth)  # type: ignore[arg-type]


def rounded(values: Array, limit: float) -> Array:
    """Answers `quantize`, up to the scale."""
    nearest: Array = np.clip(np.rint(values / limit), -127, 127) * limit
    return nearest


def in_turn(batches: Sequence[Tensor], work: int) -> Tensor:
    """Answers `overlapped`."""
    return torch.stack([gpulab.work(batch, work) for batch in batches])


def pays(
    sent: float, received: float, work: float, link_gbs: float, host_gflops: float, gflops: float, start_us: float
) -> bool:
    """Answers `offload_pays`, which is true or false."""
    away_ns = (sent + received) / link_gbs + 1e3 * start_us + work / gflops
    return away_ns < work / host_gflops


TABLE: dict[str, Callable[..., Any]] = {"blocks": lambda n, size: -(-n // size)}
"""Answers `blocks_for` in a table of functions."""
ANSWERED = {
    "exported": "export_onnx",
    "train": "train_amp",
    "_fold": "fold_batchnorm",
    "rounded": "quantize",
    "in_turn": "overlapped",
    "pays": "offload_pays",
    "TABLE['blocks']": "blocks_for",
}
"""What answers which exercise."""
