"""What training in half precision gains and costs: speed of a step, accuracy at the end; and what Lightning adds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpulab.training.problem import History, Problem

ROUNDS = 7
STEPS = 10
LENGTHS_ROUNDS = 3
"""Of trainings timed whole."""


def gain(problem: Problem) -> list[float]:
    """Seconds of a step in float32 over seconds of one under autocast with a scaler, one number per round.

    Channels last in both, float32 without TF32; the batch lies on the device already, and a round times both.
    """
    import torch

    allowed = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    try:
        steps = [_step(problem, half) for half in (False, True)]
        for step in steps:  # algorithms are chosen and memory is taken once
            _seconds(step)
        rounds = [[_seconds(step) for step in steps] for _ in range(ROUNDS)]
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = allowed
    return [single / half for single, half in rounds]


Training = Callable[["Problem", int], "History"]


def accuracy_points(single: Training, half: Training, problems: Sequence[Problem], epochs: int) -> list[float]:
    """Percentage points of accuracy that float32 ends above half precision, problem by problem.

    The same picture more or less is a tenth of a point either way, in either precision: look at the mean.
    """
    return [100 * (single(one, epochs).accuracy - half(one, epochs).accuracy) for one in problems]


def step_ratios(one: Training, other: Training, problem: Problem, lengths: tuple[int, int] = (2, 12)) -> list[float]:
    """Seconds of a step in one training over those of one in another, one number per round, both timed in each.

    Each trains for two lengths, epochs, so that what is done once cancels.
    """

    def seconds(training: Training) -> float:
        short, long = (_seconds(partial(training, problem, epochs), 1) for epochs in lengths)
        return max(long - short, 1e-9)

    for training in (one, other):
        training(problem, 1)  # algorithms are chosen and memory is taken once
    return [seconds(one) / seconds(other) for _ in range(LENGTHS_ROUNDS)]


def spread(figures: list[float]) -> float:
    """Half the distance between the quartiles."""
    low, _, high = statistics.quantiles(figures, n=4)
    return (high - low) / 2


def _step(problem: Problem, half: bool) -> Callable[[], Any]:
    """A step of training, on the problem's first batch."""
    import torch

    images, labels = next(iter(problem.loader()))
    images = images.to(problem.device, memory_format=torch.channels_last)
    labels = labels.to(problem.device)
    model: Any = problem.model().to(problem.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    kind = torch.device(problem.device).type
    scaler = torch.amp.GradScaler(kind, enabled=half)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(kind, dtype=torch.float16, enabled=half):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return step


def _seconds(step: Callable[[], Any], times: int = STEPS) -> float:
    from gpulab import synchronize

    synchronize()
    started = time.perf_counter()
    for _ in range(times):
        step()
    synchronize()
    return (time.perf_counter() - started) / times
