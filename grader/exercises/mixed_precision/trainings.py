"""Mixed precision: whether two trainings took the same way through the weights, and which mistake one of them made.

Only compares. The trainings to compare with, the right one and the ones with a known mistake, are made by the test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from gpulab import check
from gpulab.chapters.mixed_precision.watching import AUTOCAST_ON
from gpulab.training.problem import History, Problem, weights_of

EXACT = 1e-6
"""Distance, as a share of the way that the weights went, below which nothing was done differently."""
SAME = 0.02
"""Distance, as a share of the shorter way, up to which two trainings with a mistake are taken for one and the same."""
ROUGH = 0.12
"""How far two lists of losses may drift apart, as a share of their own spread: rounding gives up to 0.09, means of two
losses 0.15 and more."""
ROUNDED = 0.25
"""Least share of the way from the unrounded training to the expected one that a 16-bit training covers.
One that rounds in another order takes 0.8 and more; one with noise on its weights, 0 give or take 0.1."""
CLOSE = 0.12
"""Distance up to which they differ by rounding: float16 against float32 gives up to 0.1 on the course's problems."""


def same_training(
    history: History,
    expected: History,
    problem: Problem,
    what: str,
    mistakes: Sequence[tuple[Callable[[], History], str]] = (),
    unrounded: Callable[[], History] | None = None,
) -> None:
    """Passes if two trainings took the same way through the weights, up to rounding.

    Args:
        history: the student's, `recorded`.
        expected: the right one.
        problem: where both started.
        what: the call, in words.
        mistakes: functions that do a training with a known mistake, called only if there is one. One that the student's
            is far closer to than to the right one is named, however close that is: on one machine the same mistake
            gives the same bits. One without a note is no mistake, but another right way, which rounds differently: it
            passes.
        unrounded: does the right training in float32. It ends close to the right one, so a training that is only close
            must also show the right one's rounding.

    Raises:
        AssertionError: they did not.
    """
    first, (start, right, mine) = _ends(problem, expected, history)
    way = float(np.linalg.norm(right - start))
    off = float(np.linalg.norm(mine - right)) / way
    ends = f"its last loss is {history.losses[-1]:.4g}, expected {expected.losses[-1]:.4g}"
    text = f"{what}: {ends}; the weights are off by {off:.2g} times the distance that they had to move."
    if off <= EXACT:
        return
    moved = float(np.linalg.norm(mine - start)) / way  # two that hardly moved are close to each other anyway
    nearest, named = max(EXACT, min(SAME * min(1.0, moved), 0.1 * off)), None
    alike = False  # in the scales, too: where no step was taken, several mistakes end where they began
    for train, note in mistakes:
        made = train()
        wrong = _flat(made.weights, first)
        with np.errstate(all="ignore"):
            theirs, apart = (float(np.linalg.norm(way_of - wrong)) / way for way_of in (mine, right))
        scaled_alike = list(made.scales) == list(history.scales)
        tie = named is not None and theirs == nearest and scaled_alike and not alike
        if apart > EXACT and (theirs < nearest or tie):
            nearest, named, alike = theirs, note, scaled_alike
        if nearest == 0.0 and alike:
            break  # the same bits: the other trainings can be no closer
    if named == "":
        return
    if named:
        raise AssertionError(f"{text} {named}")
    if off <= CLOSE and (unrounded is None or rounded_share(history, expected, unrounded(), problem) >= ROUNDED):
        return
    if off <= CLOSE:
        raise AssertionError(f"{text} They are not rounded as in a 16-bit training: {AUTOCAST_ON}")
    if np.linalg.norm(mine - start) < 0.02 * way:
        raise AssertionError(f"{text} They hardly moved from where they began.")
    raise AssertionError(text)


def without_rounding(
    problem: Problem, expected: History, epochs: int, window: int = 1, max_norm: float = math.inf
) -> History:
    """The training in float32, without a scaler; it skips the steps that the expected training skipped."""
    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    losses, before, scales = [], 65536.0, iter(expected.scales)
    for _ in range(epochs):
        for number, (images, labels) in enumerate(problem.loader(), start=1):
            loss = criterion(model(images.to(problem.device)), labels.to(problem.device))
            (loss / window).backward()
            losses.append(loss.item())
            if number % window == 0:
                nn.utils.clip_grad_norm_(model.parameters(), max_norm)
                scale = next(scales)
                if scale >= before:
                    optimizer.step()
                optimizer.zero_grad()
                before = scale
    return problem.history(model, losses)


def distance(history: History, expected: History, problem: Problem) -> float:
    """Between the ends of two trainings, as a share of the way that the weights of the expected one went."""
    _, (start, right, mine) = _ends(problem, expected, history)
    return float(np.linalg.norm(mine - right) / np.linalg.norm(right - start))


def rounded_share(history: History, expected: History, unrounded: History, problem: Problem) -> float:
    """How far a training has gone from the one in float32 towards the expected one, as a share of that distance."""
    _, (start, right, plain, mine) = _ends(problem, expected, unrounded, history)
    way = right - plain
    if np.linalg.norm(way) <= EXACT * np.linalg.norm(right - start):  # nothing was rounded
        return 1.0
    return float((mine - plain) @ way / (way @ way))


def same_losses(history: History, expected: History, what: str, mistakes: Sequence[tuple[Any, str]] = ()) -> None:
    """Passes if the losses agree to 10 %, and go up and down together; a small loss, to 2 % of the first one.

    Raises:
        AssertionError: they do not; known wrong lists are named.
    """
    slack = 0.02 * abs(expected.losses[0])
    check.close(list(history.losses), list(expected.losses), f"{what}: losses", rtol=0.1, atol=slack, mistakes=mistakes)
    mine, right = np.asarray(history.losses, np.float64), np.asarray(expected.losses, np.float64)
    spread = float(right.std())
    off = float((mine - right).std())
    if len(right) > 4 and off > ROUGH * spread:  # fewer tell nothing about the spread
        raise AssertionError(
            f"{what}: losses: they do not go up and down with the right ones, and are off by {off / spread:.2g} times"
            " their spread. Is each of them the loss of its own batch, taken before the step, not a mean of several?"
        )


def _ends(problem: Problem, *histories: History) -> tuple[list[str], list[NDArray[np.float64]]]:
    """The names of the parameters; their values at the start, and at the end of each training, in one vector each."""
    model = problem.model()
    names = [name for name, _ in model.named_parameters()]  # batch norm's buffers are no part of the way
    return names, [_flat(weights, names) for weights in (weights_of(model), *(one.weights for one in histories))]


def _flat(weights: dict[str, Any], names: Iterable[str]) -> NDArray[np.float64]:
    return np.concatenate([np.asarray(weights[name], dtype=np.float64).ravel() for name in names])
