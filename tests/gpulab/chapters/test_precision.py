"""Telling one training of the mixed-precision chapter from another by what it returns."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from gpulab import History, Problem
from gpulab.chapters.mixed_precision.checks import recorded
from grader.exercises.mixed_precision import trainings
from grader.exercises.mixed_precision.recordings import CLIPPED_FIRST, record, recording, train
from grader.exercises.mixed_precision.trainings import same_losses, same_training

torch.set_num_threads(1)
PROBLEM = Problem(samples=96, batch_size=32, lr=0.02, seed=3, device="cpu")
SMALL = dataclasses.replace(PROBLEM, lr=1e-6, loss_weight=2.0**-20)


def trained(**changed: object) -> History:
    return train(dataclasses.replace(PROBLEM, **changed), 1)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_recording_is_what_the_trainings_give() -> None:
    """Up to the last digits, which another processor rounds differently."""
    stored, fresh = recording(), record()
    assert stored.scales.keys() == fresh.scales.keys() and stored.losses.keys() == fresh.losses.keys()
    for name, losses in fresh.losses.items():
        assert len(losses) == len(stored.losses[name])
        assert losses[:5] == pytest.approx(stored.losses[name][:5], rel=1e-2)
    assert fresh.losses[CLIPPED_FIRST][-1] > 2 > fresh.losses["float16, scaler"][-1]


def test_the_same_training_passes_and_asks_for_no_mistake() -> None:
    def never() -> History:
        raise AssertionError("was asked for")

    same_training(trained(), trained(), PROBLEM, "it", [(never, "")])


def test_the_nearest_mistake_is_named() -> None:
    near, far = trained(lr=0.1), trained(lr=0.1001)
    mistakes = [(lambda: far, "far"), (lambda: near, "near")]
    with pytest.raises(AssertionError, match=r"it: its last loss is .* near$"):
        same_training(near, trained(), PROBLEM, "it", mistakes)


def test_a_way_without_a_note_is_right_although_it_rounds_differently() -> None:
    wrong, other = trained(lr=0.0202), trained(lr=0.0201)
    with pytest.raises(AssertionError, match="too large"):
        same_training(other, trained(), PROBLEM, "it", [(lambda: other, "too large")])
    same_training(other, trained(), PROBLEM, "it", [(lambda: other, ""), (lambda: wrong, "too large")])


def test_a_training_that_stood_still_is_told_so() -> None:
    still = PROBLEM.history(PROBLEM.model(), trained().losses)
    with pytest.raises(AssertionError, match="hardly moved"):
        same_training(still, trained(), PROBLEM, "it")


def moved_by(history: History, shift: dict[str, Any]) -> History:
    """With weights that lie elsewhere."""
    weights = {name: array + shift[name].astype(np.float32) for name, array in history.weights.items()}
    return dataclasses.replace(history, weights=weights)


def test_a_training_close_to_the_right_one_must_be_rounded_like_it() -> None:
    plain, draw = trained(), np.random.default_rng(1)
    rounding = {name: 2e-5 * draw.standard_normal(array.shape) for name, array in plain.weights.items()}
    noise = {name: 2e-5 * draw.standard_normal(array.shape) for name, array in plain.weights.items()}
    right = moved_by(plain, rounding)
    otherwise = moved_by(plain, {name: 0.8 * array + 0.5 * noise[name] for name, array in rounding.items()})
    same_training(otherwise, right, PROBLEM, "it", unrounded=lambda: plain)
    same_training(moved_by(plain, noise), right, PROBLEM, "it")
    with pytest.raises(AssertionError, match="not rounded as in a 16-bit training"):
        same_training(moved_by(plain, noise), right, PROBLEM, "it", unrounded=lambda: plain)
    known = [(lambda: moved_by(plain, noise), "")]
    same_training(moved_by(plain, noise), right, PROBLEM, "it", known, unrounded=lambda: plain)


def test_the_training_without_rounding_skips_what_the_right_one_skipped() -> None:
    first, right = PROBLEM.model().state_dict(), dataclasses.replace(trained(), scales=[65536.0, 32768.0, 16384.0])
    one_step = trainings.without_rounding(PROBLEM, right, 1)
    skipped = trainings.without_rounding(PROBLEM, dataclasses.replace(right, scales=[32768.0, 16384.0, 8192.0]), 1)
    assert all((skipped.weights[name] == array.numpy()).all() for name, array in first.items())
    assert any((one_step.weights[name] != array.numpy()).any() for name, array in first.items())


def test_order_of_the_weights_does_not_matter() -> None:
    right = trained()
    turned = dataclasses.replace(right, weights=dict(reversed(right.weights.items())))
    same_training(turned, right, PROBLEM, "it")


def test_losses_off_by_the_scale_are_named() -> None:
    right = trained()
    scaled = dataclasses.replace(right, losses=[loss * 8 for loss in right.losses])
    with pytest.raises(AssertionError, match="times eight"):
        same_losses(scaled, right, "it", [(scaled.losses, "times eight")])


def test_means_of_several_losses_are_refused_and_other_roundings_are_not() -> None:
    right, rounded = trained(samples=256), trained(samples=256, seed=3)
    losses = right.losses
    same_losses(dataclasses.replace(rounded, losses=[round(loss, 3) for loss in losses]), right, "it")
    means = [(one + other) / 2 for one, other in zip([losses[0], *losses], losses, strict=False)]
    with pytest.raises(AssertionError, match="a mean of several"):
        same_losses(dataclasses.replace(right, losses=means), right, "it")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (3, "batches in one epoch"), (2, "number of epochs"), (9, "batches in 3 epochs"), (0, "No loss was kept"),
        (3000, "pass max_epochs=epochs"), (5, "expected 6.$"),
    ],
)  # fmt: skip
def test_a_wrong_number_of_losses_says_what_it_is_the_number_of(found: int, words: str) -> None:
    broken = dataclasses.replace(trained(), losses=[1.0] * found)
    with pytest.raises(AssertionError, match=words):
        recorded(lambda: broken, "it", PROBLEM, 2)


def test_one_loss_for_each_window_is_named() -> None:
    broken = dataclasses.replace(trained(), losses=[1.0] * 9)
    with pytest.raises(AssertionError, match="number of windows"):
        recorded(lambda: broken, "it", dataclasses.replace(PROBLEM, samples=192), 3, window=2)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"losses": [1.0, 2.0]}, "number of losses"), ({"losses": None}, "one number for each batch"),
        ({"losses": [1.0, float("nan"), 1.0]}, "scaler.step"), ({"losses": ["a", "b", "c"]}, "for each batch"),
        ({"scales": 3}, "one number for each update"), ({"skipped": 0.5}, "skipped"), ({"skipped": True}, "skipped"),
        ({"accuracy": "all"}, "accuracy"), ({"weights": [1]}, "dict"), ({"weights": {}}, "names in weights"),
    ],
)  # fmt: skip
def test_a_record_that_is_none_says_why(changed: dict[str, object], words: str) -> None:
    broken = dataclasses.replace(trained(), **changed)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=words):
        recorded(lambda: broken, "it", PROBLEM, 1)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_losses_in_16_bits_are_named(kind: torch.dtype) -> None:
    history = trained()
    losses = torch.tensor(history.losses).to(kind).tolist()
    with pytest.raises(AssertionError, match=f"no more digits than {str(kind)[6:]}. Is the loss computed inside"):
        recorded(lambda: dataclasses.replace(history, losses=losses), "it", PROBLEM, 1)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros(10, np.float16), "autocast makes"), (np.zeros(10), "type of weights"),
        (np.zeros(9, np.float32), "shape"), (np.full(10, np.nan, np.float32), "NaN"), ("bias", "type of weights"),
    ],
)  # fmt: skip
def test_weights_of_another_kind_are_named(array: object, words: str) -> None:
    history = trained()
    history.weights["head.bias"] = array
    with pytest.raises(AssertionError, match=words):
        recorded(lambda: history, "it", PROBLEM, 1)


@pytest.mark.parametrize(("answer", "words"), [(None, "return statement"), ({}, "a dict"), (3.0, "problem.history")])
def test_other_values_are_no_record(answer: object, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        recorded(lambda: answer, "it", PROBLEM, 1)


def test_what_torch_complains_of_is_explained_and_the_rest_is_passed_on() -> None:
    def twice() -> None:
        raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")

    def other() -> None:
        raise RuntimeError("out of memory")

    def no_graph() -> None:
        torch.ones(1).backward()

    def halved() -> None:
        PROBLEM.model().half()(torch.zeros(1, 3, 32, 32))

    def no_forward() -> None:
        torch.nn.Module()(1)

    for attempt, words in (
        (twice, "called twice"), (no_graph, "cut off from the weights"), (halved, "converts the weights"),
        (no_forward, "without forward"),
    ):  # fmt: skip
        with pytest.raises(AssertionError, match=words):
            recorded(attempt, "it", PROBLEM, 1)
    with pytest.raises(RuntimeError, match="out of memory"):
        recorded(other, "it", PROBLEM, 1)
