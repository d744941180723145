"""What is seen while a training of the mixed-precision chapter runs, and what is said of it."""

from __future__ import annotations

import dataclasses
import re
import warnings
from typing import Any

import pytest
import pytorch_lightning as pl
import torch

from gpulab import History, Problem
from gpulab.chapters.mixed_precision.validating import GRAPH, watched_with_validation
from gpulab.chapters.mixed_precision.watching import (
    BYPASSED,
    DIRECT,
    KEPT_SCALE,
    OF_SHARE,
    watched,
    watched_without_scaler,
)

torch.set_num_threads(1)
PROBLEM = Problem(samples=96, batch_size=32, lr=0.02, seed=3, device="cpu")
SMALL = dataclasses.replace(PROBLEM, lr=1e-6, loss_weight=2.0**-20)
NORMALIZED = dataclasses.replace(PROBLEM, network="cnn_batch_norm")


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


def scaled(
    problem: Problem, *, first: int = 1, bypass: bool = False, set_to: float | None = None, limit: float = 1.0
) -> History:
    """A float16 training in windows of 3 batches, with a scaler that is used as these say.

    Args:
        problem: what is trained.
        first: number of the first batch; a window ends with each multiple of 3.
        bypass: steps without the scaler.
        set_to: what each update sets the scale to.
        limit: on the norm of the gradients.
    """
    model, scaler = problem.model(), torch.amp.GradScaler("cpu")
    optimizer, criterion, losses, scales = problem.optimizer(model), problem.criterion(), [], []
    for number, (images, labels) in enumerate(problem.loader(), start=first):
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


def test_windows_that_begin_one_batch_late_are_named() -> None:
    long = dataclasses.replace(PROBLEM, samples=2 * PROBLEM.samples)
    with pytest.raises(AssertionError, match="The windows are shifted by one batch"):
        watched(lambda: scaled(long, first=0), "it", long, 1, accumulate=3)


def test_steps_in_the_middle_of_a_window_are_counted() -> None:
    """They come after every third batch, where windows have six."""
    long = dataclasses.replace(PROBLEM, samples=2 * PROBLEM.samples)
    with pytest.raises(AssertionError, match="2 steps were taken for 6 batches, expected 1: one at the end"):
        watched(lambda: scaled(long), "it", long, 1, accumulate=6)


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
