"""The mixed-precision chapter's own code: telling one training from another."""

from __future__ import annotations

import dataclasses
import re
import warnings
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch

from gpulab import History, Problem
from gpulab.chapters.mixed_precision.checks import recorded
from gpulab.chapters.mixed_precision.validating import GRAPH, watched_with_validation
from gpulab.chapters.mixed_precision.watching import (
    BYPASSED,
    DIRECT,
    KEPT_SCALE,
    OF_SHARE,
    watched,
    watched_without_scaler,
)
from grader.exercises.mixed_precision import trainings
from grader.exercises.mixed_precision.recordings import CLIPPED_FIRST, record, recording, train
from grader.exercises.mixed_precision.trainings import same_losses, same_training

torch.set_num_threads(1)
PROBLEM = Problem(samples=96, batch_size=32, lr=0.02, seed=3, device="cpu")
SMALL = dataclasses.replace(PROBLEM, lr=1e-6, loss_weight=2.0**-20)
NORMALIZED = dataclasses.replace(PROBLEM, network="cnn_batch_norm")


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


def by_hand(dtype: torch.dtype, scale: float = 1, divided: bool = True) -> History:
    """A training with a scale that stays, written by hand, and an evaluation in float32, with gradients, after it."""
    model = SMALL.model()
    optimizer, criterion = SMALL.optimizer(model), SMALL.criterion()
    losses = []
    for images, labels in SMALL.loader():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=dtype):
            loss = criterion(model(images), labels)
        (loss * scale).backward()
        for weight in model.parameters():
            assert weight.grad is not None
            weight.grad /= scale if divided else 1
        optimizer.step()
        losses.append(loss.item())
    for images, _ in SMALL.loader():
        model(images)
    return SMALL.history(model, losses, [scale] * len(losses) if scale > 1 else [], 0)


def test_a_scaler_written_by_hand_is_no_mistake() -> None:
    watched(lambda: by_hand(torch.float16, 65536), "it", SMALL, 1)


def test_gradients_that_nothing_divided_are_named() -> None:
    with pytest.raises(AssertionError, match=re.escape(DIRECT)):
        watched(lambda: by_hand(torch.float16, 65536, divided=False), "it", SMALL, 1)


@pytest.mark.parametrize("kept", [1, 3])
def test_one_backward_pass_for_a_window_is_named(kept: int) -> None:
    """Whether it adds up the losses of all batches or forgets those before the last one."""
    assert PROBLEM.samples == 3 * PROBLEM.batch_size

    def once() -> History:
        model, scaler = PROBLEM.model(), torch.amp.GradScaler("cpu")
        optimizer, criterion, losses = PROBLEM.optimizer(model), PROBLEM.criterion(), []
        for images, labels in PROBLEM.loader():
            with torch.autocast("cpu", dtype=torch.float16):
                losses.append(criterion(model(images), labels))
        scaler.scale(torch.stack(losses[-kept:]).sum() / 3).backward()
        scaler.step(optimizer)
        scaler.update()
        return PROBLEM.history(model, [loss.item() for loss in losses], [scaler.get_scale()])

    with pytest.raises(AssertionError, match="one backward pass for a whole window"):
        watched(once, "it", PROBLEM, 1, accumulate=3)


def test_windows_that_begin_one_batch_late_are_named() -> None:
    def shifted() -> History:
        model, scaler = PROBLEM.model(), torch.amp.GradScaler("cpu")
        optimizer, criterion, losses, scales = PROBLEM.optimizer(model), PROBLEM.criterion(), [], []
        for _ in range(2):
            for number, (images, labels) in enumerate(PROBLEM.loader()):
                with torch.autocast("cpu", dtype=torch.float16):
                    loss = criterion(model(images), labels)
                scaler.scale(loss / 3).backward()
                losses.append(loss.item())
                if number % 3 == 0:
                    scaler.step(optimizer)
                    scaler.update()
                    optimizer.zero_grad()
                    scales.append(scaler.get_scale())
        return PROBLEM.history(model, losses, scales)

    with pytest.raises(AssertionError, match="The windows are shifted by one batch"):
        watched(shifted, "it", PROBLEM, 2, accumulate=3)


def scaled(problem: Problem, *, bypass: bool = False, set_to: float | None = None, limit: float = 1.0) -> History:
    """A float16 training in windows of 3 batches, with a scaler that is used as these say.

    Args:
        problem: what is trained.
        bypass: steps without the scaler.
        set_to: what each update sets the scale to.
        limit: on the norm of the gradients.
    """
    model, scaler = problem.model(), torch.amp.GradScaler("cpu")
    optimizer, criterion, losses, scales = problem.optimizer(model), problem.criterion(), [], []
    for number, (images, labels) in enumerate(problem.loader(), start=1):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = criterion(model(images), labels)
        scaler.scale(loss / 3).backward()
        losses.append(loss.item())
        if number % 3 == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
            optimizer.step() if bypass else scaler.step(optimizer)
            scaler.update(set_to)
            optimizer.zero_grad()
            scales.append(scaler.get_scale())
    return problem.history(model, losses, scales)


def test_a_step_without_the_scaler_is_named() -> None:
    with pytest.raises(AssertionError, match=re.escape(BYPASSED)):
        watched(lambda: scaled(PROBLEM, bypass=True), "it", PROBLEM, 1, accumulate=3)


def test_a_scale_that_stays_after_a_skipped_step_is_named() -> None:
    """It is set again by every update."""
    large = dataclasses.replace(PROBLEM, loss_weight=512.0)
    with pytest.raises(AssertionError, match=re.escape(KEPT_SCALE)):
        watched(lambda: scaled(large, set_to=65536.0), "it", large, 1, accumulate=3)


def test_a_limit_that_is_divided_by_the_length_of_a_window_is_named() -> None:
    with pytest.raises(AssertionError, match=re.escape(OF_SHARE)):
        watched(lambda: scaled(PROBLEM, limit=0.01 / 3), "it", PROBLEM, 1, accumulate=3, max_norm=0.01)


def test_an_evaluation_after_the_training_is_no_part_of_it() -> None:
    watched_without_scaler(lambda: in_lightning("bf16-mixed"), "it", PROBLEM, 1, torch.bfloat16)


def in_float32(
    weight: float = 1.0,
    backward: bool = True,
    every: int = 1,
    apart: bool = False,
    other: bool = False,
    skipped: int = 0,
) -> History:
    """A training without a scaler, or one in which something is left out."""
    model, returned = PROBLEM.model(), PROBLEM.model()
    optimizer = PROBLEM.optimizer(PROBLEM.model() if apart else model)
    losses = []
    for number, (images, labels) in enumerate(PROBLEM.loader()):
        loss = PROBLEM.criterion()(model(images), labels)
        if backward:
            loss.backward()
        if number % every == every - 1:
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item() * weight)
    return PROBLEM.history(returned if other else model, losses, skipped=skipped)


def in_lightning(precision: Any = "32-true", again: bool = False) -> History:
    """The training by a Trainer, then an evaluation in float32, with gradients; `again` calls backward, too."""
    network, criterion, losses = PROBLEM.model(), PROBLEM.criterion(), []

    class Classifier(pl.LightningModule):
        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            images, labels = batch
            loss: torch.Tensor = criterion(network(images), labels)
            losses.append(loss.item())
            if again:
                loss.backward(retain_graph=True)  # type: ignore[no-untyped-call]
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return PROBLEM.optimizer(network)

    off = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False)
    trainer = pl.Trainer(precision=precision, max_epochs=1, accelerator="cpu", devices=1, **off)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.fit(Classifier(), PROBLEM.loader())
    for images, _ in PROBLEM.loader():
        network(images)
    return PROBLEM.history(network, losses)


def test_a_training_without_a_scaler_passes() -> None:
    watched_without_scaler(in_lightning, "it", PROBLEM, 1, None)


def test_a_training_without_a_trainer_is_named() -> None:
    with pytest.raises(AssertionError, match="no Trainer trained"):
        watched_without_scaler(in_float32, "it", PROBLEM, 1, None)


def test_a_second_backward_pass_for_each_batch_is_named() -> None:
    with pytest.raises(AssertionError, match="6 backward passes for 3 batches"):
        watched_without_scaler(lambda: in_lightning(again=True), "it", PROBLEM, 1, None)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"backward": False}, "training_step returns the loss"), ({"every": 3}, "1 steps for 3 batches"),
        ({"apart": True}, "No step reached the network"), ({"other": True}, "The losses are those of a training"),
        ({"skipped": 3}, "That is the number of batches"), ({"weight": 0.5}, r"losses\[0\]"),
    ],
)  # fmt: skip
def test_what_a_training_without_a_scaler_leaves_out_is_named(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        watched_without_scaler(lambda: in_float32(**changed), "it", PROBLEM, 1, None)


def test_a_loss_without_its_weight_is_named() -> None:
    light = dataclasses.replace(PROBLEM, loss_weight=0.25, lr=PROBLEM.lr / 4)
    with pytest.raises(AssertionError, match=r"without problem\.loss_weight"):
        watched_without_scaler(in_float32, "it", light, 1, None)


def test_a_way_without_a_note_is_right_although_it_rounds_differently() -> None:
    wrong, other = trained(lr=0.0202), trained(lr=0.0201)
    with pytest.raises(AssertionError, match="too large"):
        same_training(other, trained(), PROBLEM, "it", [(lambda: other, "too large")])
    same_training(other, trained(), PROBLEM, "it", [(lambda: other, ""), (lambda: wrong, "too large")])


def validated(gradients: bool) -> History:
    """An epoch in bfloat16 with a validation, with gradients or without."""
    model = NORMALIZED.model()
    optimizer, criterion = NORMALIZED.optimizer(model), NORMALIZED.criterion()
    losses = []
    for images, labels in NORMALIZED.loader():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.set_grad_enabled(gradients):
        right = torch.cat([model(images).argmax(1) == labels for images, labels in NORMALIZED.validation_loader()])
    return NORMALIZED.history(model, losses, validation=[right.double().mean().item()])


def test_a_validation_with_gradients_is_named_where_the_loop_is_watched() -> None:
    """Only there: it changes nothing in the record."""
    watched_with_validation(lambda: validated(False), "it", NORMALIZED, 1)
    with pytest.raises(AssertionError, match=re.escape(GRAPH)):
        watched_with_validation(lambda: validated(True), "it", NORMALIZED, 1)
