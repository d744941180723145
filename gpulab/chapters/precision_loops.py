"""Chapter 04: the trainings that its pictures compare, and how long a step takes in each type.

Loops of the course's own, with a switch for each thing that the chapter leaves out to see what happens. The student's
loops are written in the notebook.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import torch

from gpulab.device import device
from gpulab.problem import History, Problem
from gpulab.timing import Timing, measure, one_thread


@contextlib.contextmanager
def without_tf32() -> Iterator[None]:
    """Real float32 products inside the block, also on a GPU whose tensor cores would round the factors."""
    before = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


def train(
    problem: Problem, epochs: int, dtype: torch.dtype | None = None, scaler: torch.amp.GradScaler | None = None
) -> History:
    """Trains in float32, or with autocast in `dtype`; with the scaler, if there is one."""
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = scaler or torch.amp.GradScaler(problem.device, enabled=False)
    losses, scales, skipped = [], [], 0
    with one_thread(), without_tf32():
        for _ in range(epochs):
            for images, labels in problem.loader():
                optimizer.zero_grad()
                with torch.autocast(problem.device, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
                    loss = criterion(model(images.to(problem.device)), labels.to(problem.device))
                scaler.scale(loss).backward()
                before = scaler.get_scale()
                scaler.step(optimizer)
                scaler.update()
                losses.append(loss.item())
                scales.append(scaler.get_scale())
                skipped += scales[-1] < before
        return problem.history(model, losses, scales if scaler.is_enabled() else [], skipped)


def train_half(problem: Problem, epochs: int) -> History:
    """Trains with everything in float16, weights included: what mixed precision is not."""
    model = problem.model().to(problem.device).half()
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    losses = []
    with one_thread():
        for _ in range(epochs):
            for images, labels in problem.loader():
                optimizer.zero_grad()
                loss = criterion(model(images.to(problem.device).half()), labels.to(problem.device))
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        return problem.history(model.float(), losses)


def per_sample(history: History, problem: Problem) -> list[float]:
    """A training's losses, for a loss of weight 1."""
    return [loss / problem.loss_weight for loss in history.losses]


def four_ways(problem: Problem, epochs: int) -> dict[str, list[float]]:
    """The same training in float32, bfloat16, and float16 with and without a scaler: name → losses of weight 1."""
    runs = {
        "float32": train(problem, epochs),
        "bfloat16, no scaler": train(problem, epochs, torch.bfloat16),
        "float16, scaler": train(problem, epochs, torch.float16, torch.amp.GradScaler(problem.device)),
        "float16, no scaler": train(problem, epochs, torch.float16),
    }
    return {name: per_sample(history, problem) for name, history in runs.items()}


def scales_of(problem: Problem, epochs: int, growth_interval: int) -> list[float]:
    """The scale after every update of a real training in float16."""
    scaler = torch.amp.GradScaler(problem.device, growth_interval=growth_interval)
    return train(problem, epochs, torch.float16, scaler).scales


def step_times(runs: int = 5) -> dict[str, Timing]:
    """How long a training step takes on this device in each type: the small network, or ResNet-50 on a GPU."""
    on_gpu = device().type == "cuda"
    problem = Problem("resnet50", samples=512, batch_size=512) if on_gpu else Problem(samples=64, device="cpu")
    model = problem.model().to(problem.device).to(memory_format=torch.channels_last)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    images, labels = (part.to(problem.device) for part in next(iter(problem.loader())))
    images = images.to(memory_format=torch.channels_last)

    def step(dtype: torch.dtype | None, scaler: torch.amp.GradScaler) -> None:
        optimizer.zero_grad()
        with torch.autocast(problem.device, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            loss = criterion(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    kinds: dict[str, tuple[Any, bool]] = {
        "float32": (None, False),
        "bfloat16": (torch.bfloat16, False),
        "float16": (torch.float16, True),
    }
    with one_thread(), without_tf32():
        return {
            name: measure(step, dtype, torch.amp.GradScaler(problem.device, enabled=scaled), runs=runs)
            for name, (dtype, scaled) in kinds.items()
        }


def quieter(problem: Problem, weight: float) -> Problem:
    """The same problem with another loss weight."""
    return dataclasses.replace(problem, loss_weight=weight)


def clipped_first(problem: Problem, epochs: int, max_norm: float, accumulate: int) -> dict[str, list[float]]:
    """Losses of a float16 training that clips before it unscales."""
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = torch.amp.GradScaler(problem.device)
    losses = []
    with one_thread():
        for _ in range(epochs):
            for number, (images, labels) in enumerate(problem.loader(), start=1):
                with torch.autocast(problem.device, dtype=torch.float16):
                    loss = criterion(model(images.to(problem.device)), labels.to(problem.device))
                scaler.scale(loss / accumulate).backward()
                losses.append(loss.item())
                if number % accumulate == 0:
                    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)  # the mistake: still scaled
                    scaler.step(optimizer)
                    scaler.update()
                    optimizer.zero_grad()
    return {"clipped first": losses}
