"""A bfloat16 training with a validation after each epoch, right or with a known mistake, to compare another one with.

Also draws the problems on which rounding alone leads two right trainings to almost the same weights.
"""

from __future__ import annotations

import contextlib
import dataclasses
from random import Random
from typing import Literal

import torch

from gpulab import History, Problem
from grader.exercises.mixed_precision.trainings import distance, rounded_share

CALM = 0.06
"""Distance of two right trainings, as a share of the way that the weights went: half of what `same_training` allows."""
ALIKE = 0.5
"""Least share of rounding that two right trainings have in common: twice what `same_training` asks for."""
DRAWS = 100
FLIPPED = 1
"""Validation images whose label may change by another order of rounding: none did in 24 trainings."""
TAIL = 41
"""Images in the last two batches of 32: the last one has 9."""


def train(
    problem: Problem,
    epochs: int,
    dtype: torch.dtype = torch.bfloat16,
    *,
    layout: torch.memory_format = torch.contiguous_format,
    scaling: bool = False,
    inside: bool = False,
    zero: bool = True,
    leak: Literal["", "gradients", "steps"] = "",
    early: bool = False,
    fresh: bool = False,
) -> History:
    """The training itself.

    Args:
        problem: what is trained.
        epochs: for how long.
        dtype: of autocast, float32 for none.
        layout: of the weights, both of which are right.
        scaling: with a `GradScaler`.
        inside: whether the backward pass runs inside autocast.
        zero: whether gradients are zeroed before each batch.
        leak: what a backward pass in the validation leaves: its gradients, to which the next epoch's first batch adds
            its own, or a step for each of its batches.
        early: validates before each epoch instead of after it.
        fresh: makes a new optimizer for each epoch.
    """
    place = problem.device
    model = problem.model().to(place, memory_format=layout)  # type: ignore[call-overload]  # the stubs lack it
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = torch.amp.GradScaler(place, enabled=scaling)
    cast = torch.autocast(place, dtype=dtype) if dtype != torch.float32 else contextlib.nullcontext()
    losses, shares = [], []

    def validate() -> None:
        model.eval()
        right = total = 0
        for images, labels in problem.validation_loader():
            with torch.set_grad_enabled(bool(leak)):
                scores = model(images.to(place))
            right += int((scores.argmax(dim=1).cpu() == labels).sum())
            total += len(labels)
            if leak:
                criterion(scores, labels.to(place)).backward()
            if leak == "steps":
                optimizer.step()
                optimizer.zero_grad()
        shares.append(right / total)

    for _ in range(epochs):
        if early:
            validate()
        if fresh:
            optimizer = problem.optimizer(model)
        model.train()
        for number, (images, labels) in enumerate(problem.loader()):
            if zero and not (leak == "gradients" and number == 0):
                optimizer.zero_grad()
            with cast:
                loss = criterion(model(images.to(place)), labels.to(place))
                if inside:
                    scaler.scale(loss).backward()
            if not inside:
                scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        if not early:
            if leak:
                optimizer.zero_grad()
            validate()
    return problem.history(model, losses, validation=shares)


def calm(draw: Random, problem: Problem, epochs: int) -> tuple[Problem, History]:
    """The problem with another seed, and its right training, which rounding changes little.

    Batch norm divides by the spread of a channel. Where that is small, rounding grows until two right trainings end far
    from each other, or as far as from one in float32. Such a problem tells nothing, so another one is drawn.

    Raises:
        LookupError: there was none.
    """
    for _ in range(DRAWS):
        one = dataclasses.replace(problem, seed=draw.randrange(10**6))
        right, other = train(one, epochs), train(one, epochs, layout=torch.channels_last)
        if distance(other, right, one) >= CALM:
            continue
        if rounded_share(other, right, train(one, epochs, torch.float32), one) >= ALIKE:
            return one, right
    raise LookupError(f"In {DRAWS} draws, no problem led two right trainings to almost the same weights.")


def uneven(draw: Random) -> Problem:
    """A small problem for one epoch, of whose validation images the last two batches are unlike the others.

    A share of the other batches, or of the first half, is then not that of all.

    Raises:
        LookupError: there was none.
    """
    for _ in range(3 * DRAWS):  # one in ten will do
        one = Problem("cnn_lean", samples=192, batch_size=32, lr=0.2, device="cpu", seed=draw.randrange(10**6))
        right = _classified(train(one, 1), one, torch.float32)
        parts = right[:-TAIL], right[: len(right) // 2]
        if all(abs(float(part.mean() - right.mean())) * len(right) > FLIPPED + 2.5 for part in parts):
            return one
    raise LookupError(f"In {3 * DRAWS} draws, no problem had unlike validation batches.")


def require_last_share(history: History, problem: Problem, what: str) -> None:
    """Passes if the last share of the validation is that of the network that was returned.

    Raises:
        AssertionError: it is not.
    """
    counts = [int(_classified(history, problem, dtype).sum()) for dtype in (torch.float32, torch.bfloat16)]
    images = len(_labels(problem))
    share = float(list(history.validation)[-1])
    if min(counts) - FLIPPED <= round(share * images, 3) <= max(counts) + FLIPPED:
        return
    raise AssertionError(
        f"{what}: the last share in validation is {share:.6g}, but the network that you returned classifies"
        f" {counts[0] / images:.6g} of the {images} validation images correctly. Does each batch of"
        " problem.validation_loader() count, in eval mode, after the last step?"
    )


def require_earlier_share(history: History, shorter: History, problem: Problem, what: str) -> None:
    """Passes if a share of a validation is that of the same training with fewer epochs, in which it is the last one.

    Raises:
        AssertionError: it is not.
    """
    images, epoch = len(_labels(problem)), len(shorter.validation)
    share, alone = float(history.validation[epoch - 1]), float(shorter.validation[-1])
    if round(abs(share - alone) * images, 3) > FLIPPED:
        raise AssertionError(
            f"{what}: the share after epoch {epoch} is {share:.6g}, but {alone:.6g} if the training ends there. Does"
            " each batch of problem.validation_loader() count after each epoch, and not only after the last one?"
        )


def _labels(problem: Problem) -> torch.Tensor:
    return torch.cat([labels for _, labels in problem.validation_loader()])


def _classified(history: History, problem: Problem, dtype: torch.dtype) -> torch.Tensor:
    """For each validation image 1.0 where a network with a training's last weights is right, 0.0 elsewhere."""
    model = problem.model().eval()
    model.load_state_dict({name: torch.as_tensor(value) for name, value in history.weights.items()})
    cast = torch.autocast("cpu", dtype=dtype) if dtype != torch.float32 else contextlib.nullcontext()
    with torch.no_grad(), cast:
        guesses = torch.cat([model(images).argmax(dim=1) for images, _ in problem.validation_loader()])
    return (guesses == _labels(problem)).double()
