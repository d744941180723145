"""Mixed precision: whether a bfloat16 training needs no scaler, and validates after each epoch.

A `History` is looked at by itself; a training of this very process, also while it runs. `LARGE` is one for the visible
test: what it gives is known, rightly done and with some mistakes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from gpulab import check
from gpulab.chapters.mixed_precision.checks import recorded
from gpulab.chapters.mixed_precision.observing import Watched
from gpulab.chapters.mixed_precision.watching import IN_FLOAT32, INSIDE, LEFT, OF_IMAGES, UNWEIGHTED
from gpulab.training.problem import History, Problem

NO_SCALER = "BF16 needs no scaler: call loss.backward() and optimizer.step() directly."
IN_TRAIN_MODE = "The validation ran in train mode, so batch norm counted its batches, too: call model.eval() before it."
STAYED_IN_EVAL = "After the first validation the network stayed in eval mode: call model.train() before each epoch."
STARTED_ANEW = "Each epoch began with the first loss again: make the network once, before the loop over the epochs."
NOT_COUNTED = "Batch norm has counted no batch: is this the network that was trained, and was it in train mode?"
ONE_ONLY = "That is a single validation: validate after each epoch, inside the loop over the epochs."
TOO_OFTEN = "That is one validation after each batch: validate when the loop over the batches has ended."
MISSING = "Pass the shares to problem.history(…, validation=…)."
NO_SHARE = (
    "Add up the correctly classified images over all batches of problem.validation_loader(), and divide by the number"
    " of all its images."
)
MEAN_OF_BATCHES = (
    "That is the mean of the batches' shares. The last batch is smaller: add up the correctly classified images over"
    " all batches, and divide once, by the number of all images."
)
FULL_BATCHES = (
    "The last batch is smaller, and counts like a full one there: add up the correctly classified images over all"
    " batches, and divide once, by the number of all images."
)
OF_TRAINING = (
    "That is a share of the training images, or was divided by their number: count the images of"
    " problem.validation_loader(), and divide by their number."
)
PERCENTAGE = "That is a percentage: the share is a number between 0 and 1."
NUMBER_RIGHT = "That is the number of correctly classified images: divide it by the number of all images."
OVER_BATCHES = "That was divided by the number of batches: divide by the number of all images."
ADDED_UP = "That counts the images of earlier validations as well: begin each validation with both counts at 0."
STILL = (
    "Both epochs have the same losses, so no step changed the weights: is optimizer.step() called after each backward"
    " pass? Does the optimizer have this network's parameters, and do the gradients stay as backward() left them?"
)
IN_FLOAT16 = "That is float16: pass dtype=torch.bfloat16 to autocast."
OVERFLOWED = (
    "Was it float16? Large gradients overflow there: pass dtype=torch.bfloat16 to autocast. Or were gradients"
    " multiplied by a scale?"
)
GRAPH = "The validation ran with gradients: it needs none, so put it into a `with torch.no_grad():` block."
VALIDATION_BACKWARD = "There is more than one backward pass for each batch: the validation needs none."
EARLY = "Those are the shares before each epoch: validate after the loop over the batches."
WRONG_ONES = "That is the share of wrong predictions: count those that are equal to the label."
LAST_BATCH = "That is the share of the last batch alone: add up the images of all batches of the validation."
NONE_RIGHT = (
    "No prediction counts as right, although the network has learned: does argmax(dim=1) give one for each image, and"
    " is each compared with its label?"
)
FRESH = "A new optimizer for each epoch forgets its momentum: make one before the loops."
LARGE = Problem("cnn_batch_norm", samples=256, batch_size=32, lr=0.01, seed=127, device="cpu", loss_weight=2.0**118)
"""Trained for two epochs. Its gradients overflow in float16, and its loss where it is multiplied by a scale. Rounding
changes the numbers below by 0.01 at most."""
FIRST_IN_FLOAT32 = 2.331195
"""Loss of the first batch, divided by its weight, in float32; in bfloat16 it is 2.3323."""
RIGHT = (2.038, 1.180, 0.354, 0.768)
"""Mean loss of each epoch, divided by its weight, and share after each."""
WRONG = (
    ((2.337, 1.929, 0.121, 0.421), NO_SCALER),
    ((1.972, 0.876, 0.263, 0.481), LEFT.format("batches")),
    ((2.038, 1.133, 0.354, 0.825), VALIDATION_BACKWARD),
    ((2.038, 0.888, 0.394, 0.832), VALIDATION_BACKWARD),
    ((2.038, 1.180, 0.178, 0.354), EARLY),
    ((2.038, 1.180, 0.333, 0.444), LAST_BATCH),
    ((2.038, 1.357, 0.354, 0.680), FRESH),
    ((2.038, 1.180, 0.646, 0.232), WRONG_ONES),
    ((2.038, 1.180, 0.0, 0.0), NONE_RIGHT),
)


def require_validated(history: History, what: str, problem: Problem, epochs: int) -> None:
    """Passes a `History`, already `recorded`, without a scaler and with one share for each epoch's validation.

    The network must have batch norm, which counts the batches that it saw in train mode.

    Raises:
        AssertionError: it is none; the message names the mistake.
    """
    scales = [(list(history.scales), f"scales stays empty. {NO_SCALER}")]
    check.equal(list(history.scales), [], f"{what}: scales", mistakes=scales)
    check.equal(int(history.skipped), 0, f"{what}: skipped", mistakes=[(int(history.skipped), NO_SCALER)])
    batches, validated = len(problem.loader()), len(problem.validation_loader())
    counted = max(int(np.asarray(one)) for name, one in history.weights.items() if name.endswith("num_batches_tracked"))
    anew = np.isclose(history.losses[batches * (epochs - 1)], history.losses[0], rtol=1e-3)
    modes = [(0, NOT_COUNTED), (batches, STARTED_ANEW if anew else STAYED_IN_EVAL)]
    modes += [(epochs * batches + times * validated, IN_TRAIN_MODE) for times in range(1, epochs + 1)]
    check.equal(counted, epochs * batches, f"{what}: batches that batch norm saw in train mode", mistakes=modes)
    _require_shares(history, what, problem, epochs)


def watched_with_validation(attempt: Callable[[], Any], what: str, problem: Problem, epochs: int) -> History:
    """The `History` of a bfloat16 training without a scaler that validates after each epoch.

    Raises:
        AssertionError: a mistake was seen; the message names it.
    """
    seen = Watched()
    with seen.watching():
        history = recorded(attempt, what, problem, epochs, OVERFLOWED)
    if seen.backward and torch.bfloat16 not in seen.types:  # a layer may stay in float32 on purpose
        raise AssertionError(f"{what}: {IN_FLOAT16 if torch.float16 in seen.types else IN_FLOAT32}")
    faults = {
        NO_SCALER: any(one.is_enabled() for one in seen.scalers)
        or any(value > 2000 * problem.loss_weight for value, _ in seen.backward),
        INSIDE: seen.inside,
        VALIDATION_BACKWARD: len(seen.backward) > len(history.losses),
        LEFT.format("batches"): any(present for _, present in seen.backward[1:]),
    }
    for message, found in faults.items():
        if found:
            raise AssertionError(f"{what}: {message}")
    require_validated(history, what, problem, epochs)
    if seen.graph_in_eval:  # a training in eval mode has been told by now
        raise AssertionError(f"{what}: {GRAPH}")
    return history


def require_known(history: History, what: str) -> None:
    """Passes a `History` that `require_validated` passed if two epochs of `LARGE` give it.

    Raises:
        AssertionError: they do not; the message names the mistake.
    """
    losses = [float(loss) / LARGE.loss_weight for loss in history.losses]
    if abs(losses[0] - FIRST_IN_FLOAT32) < 1e-5:
        raise AssertionError(f"{what}: the first loss is exactly that of float32. {IN_FLOAT32}")
    if abs(history.losses[0] - FIRST_IN_FLOAT32) < 0.01:
        raise AssertionError(f"{what}: losses[0] is {history.losses[0]:.4g}. {UNWEIGHTED}")
    if abs(losses[0] / LARGE.batch_size - FIRST_IN_FLOAT32) < 0.01:
        raise AssertionError(f"{what}: losses[0] is {history.losses[0]:.4g}. {OF_IMAGES}")
    half = len(losses) // 2
    if np.allclose(losses[:half], losses[half:], rtol=1e-3):
        raise AssertionError(f"{what}: {STILL}")
    found = [sum(losses[:half]) / half, sum(losses[half:]) / half, *map(float, history.validation)]
    told = f"{what}: mean loss of each epoch, divided by loss_weight, and share after each epoch"
    check.close(found, list(RIGHT), told, rtol=0, atol=0.03, mistakes=[(list(wrong), note) for wrong, note in WRONG])


def _require_shares(history: History, what: str, problem: Problem, epochs: int) -> None:
    shares = check.as_python(history.validation)
    if not isinstance(shares, (list, tuple)) or not all(isinstance(share, (int, float)) for share in shares):
        raise AssertionError(f"{what}: validation is not a list of numbers. {MISSING}")
    lengths = [(0, MISSING), (1, ONE_ONLY), (len(history.losses), TOO_OFTEN)]
    check.equal(len(shares), epochs, f"{what}: number of validations, one after each epoch", mistakes=lengths)
    images = sum(len(labels) for _, labels in problem.validation_loader())
    for epoch, share in enumerate(shares, start=1):
        right = share * images
        if not (0 <= share <= 1 and abs(right - round(right)) < 1e-3):
            told = f"it is {share:.6g}, which is not a share of the {images} validation images."
            note = _no_share(share, images, problem, epoch)
            raise AssertionError(f"{what}: validation after epoch {epoch}: {told} {note}")


def _no_share(share: float, images: int, problem: Problem, epoch: int) -> str:
    """What to say about a number that is not a share; those of the epochs before it were."""
    sizes = [len(labels) for _, labels in problem.validation_loader()]

    def whole(number: float) -> bool:
        return abs(number - round(number)) < 1e-3

    if 1 < share <= images / len(sizes) and whole(share * len(sizes)):  # fewer right ones are worse than guesses
        return OVER_BATCHES
    if 1 < share <= images and whole(share):
        return NUMBER_RIGHT
    if 1 < share <= 100 and whole(share * images / 100):
        return PERCENTAGE
    if 0 <= share <= 1 and epoch > 1 and whole(share * images * epoch):
        return ADDED_UP
    if 0 <= share <= 1:
        shares = {FULL_BATCHES: len(sizes) * max(sizes), OF_TRAINING: problem.samples}
        if notes := [note for note, most in shares.items() if whole(share * most)]:
            return " Or: ".join(notes)
    if 0 <= share <= 1 and whole(share * len(sizes) * math.lcm(*sizes)):
        return MEAN_OF_BATCHES
    return NO_SHARE
