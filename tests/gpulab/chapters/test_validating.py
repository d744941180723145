"""A bfloat16 training with validation: what its record shows, and the one training whose numbers are known."""

from __future__ import annotations

import dataclasses
import random
import re
from typing import Any

import pytest
import torch

from gpulab import Problem
from gpulab.chapters.mixed_precision import validating
from gpulab.chapters.mixed_precision.validating import LARGE, require_known, require_validated
from gpulab.chapters.mixed_precision.watching import IN_FLOAT32, LEFT
from grader.exercises.mixed_precision.trainings import CLOSE, ROUNDED, distance, rounded_share
from grader.exercises.mixed_precision.validated import calm, train

torch.set_num_threads(1)
SMALL = Problem("cnn_batch_norm", samples=96, batch_size=32, lr=0.01, seed=3, device="cpu")


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_the_known_training_passes_however_it_rounds(layout: torch.memory_format) -> None:
    require_known(train(LARGE, 2, layout=layout), "it")


@pytest.mark.parametrize(
    ("changed", "note"),
    [
        ({"dtype": torch.float32}, IN_FLOAT32),
        ({"scaling": True}, validating.NO_SCALER),
        ({"zero": False}, LEFT.format("batches")),
        ({"leak": "gradients"}, validating.VALIDATION_BACKWARD),
        ({"leak": "steps"}, validating.VALIDATION_BACKWARD),
        ({"early": True}, validating.EARLY),
        ({"fresh": True}, validating.FRESH),
    ],
)
def test_a_mistake_is_named_by_the_known_numbers_alone(changed: dict[str, Any], note: str) -> None:
    """So that it is named where the loop cannot be watched."""
    with pytest.raises(AssertionError, match=re.escape(note)):
        require_known(train(LARGE, 2, **changed), "it")


def test_a_share_of_other_images_or_of_other_batches_is_refused() -> None:
    """An early stop of the count gives a share that no number of the 297 images has."""
    history = train(SMALL, 2)
    require_validated(history, "it", SMALL, 2)
    mean = dataclasses.replace(history, validation=[history.validation[0], 0.5])
    with pytest.raises(AssertionError, match="not a share of the 297 validation images"):
        require_validated(mean, "it", SMALL, 2)


@pytest.mark.parametrize(
    ("shares", "note"),
    [
        ([105, 0.5], validating.NUMBER_RIGHT), ([100 * 105 / 297, 0.5], validating.PERCENTAGE),
        ([10.5, 0.5], validating.OVER_BATCHES), ([11.0, 0.5], validating.OVER_BATCHES),
        ([105 / 297, 333 / 594], validating.ADDED_UP),
        ([(9 * 16 / 32 + 5 / 9) / 10, 0.5], validating.MEAN_OF_BATCHES),
        ([105 / 320, 0.5], validating.FULL_BATCHES),
        ([0.123456, 0.5], validating.NO_SHARE),
        ([35 / 96, 0.5], validating.OF_TRAINING),
    ],
)  # fmt: skip
def test_a_number_that_is_no_share_says_what_it_is(shares: list[float], note: str) -> None:
    history = dataclasses.replace(train(SMALL, 2), validation=shares)
    with pytest.raises(AssertionError, match=re.escape(note)):
        require_validated(history, "it", SMALL, 2)


def test_epochs_with_the_same_losses_say_that_no_step_was_made() -> None:
    losses = [loss * LARGE.loss_weight for loss in (2.3323, 2.2, 2.1, 2.3323, 2.2, 2.1)]
    with pytest.raises(AssertionError, match="no step changed the weights"):
        require_known(dataclasses.replace(train(SMALL, 1), losses=losses, validation=[0.1, 0.1]), "it")


def test_a_calm_problem_leads_right_trainings_to_the_same_weights() -> None:
    """Another does not: they end further apart than `same_training` allows. Which one depends on the CPU."""
    for number in range(11, 31):
        stormy = dataclasses.replace(LARGE, seed=random.Random(number).randrange(10**6))
        if distance(train(stormy, 2, layout=torch.channels_last), train(stormy, 2), stormy) > CLOSE:
            break
    else:
        pytest.fail("no problem on which rounding grows")
    problem, right = calm(random.Random(number), stormy, 2)
    assert dataclasses.replace(problem, seed=stormy.seed) == stormy != problem
    other = train(problem, 2, layout=torch.channels_last)
    assert distance(other, right, problem) < CLOSE / 2
    assert rounded_share(other, right, train(problem, 2, torch.float32), problem) > 2 * ROUNDED
