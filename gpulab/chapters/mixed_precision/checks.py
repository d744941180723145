"""Mixed precision: whether what a training returns is a `History`, whole and of the right types.

Whether it is the right training is decided elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from gpulab import check
from gpulab.training.problem import History, Problem, weights_of

RAISED = {
    "_scale is None": "The loss has to be multiplied before backward: scaler.scale(loss).backward().",
    "No inf checks were recorded for this optimizer": "There were no gradients at scaler.step(optimizer): were they"
    " zeroed after the backward pass, or does the optimizer hold the weights of another network?",
    "No inf checks were recorded": "scaler.step(optimizer) looks for infinities, and scaler.update() has to follow"
    " it. Did you call optimizer.step() instead, or scaler.update() without scaler.step(optimizer) before it?",
    "step() has already been called": "scaler.update() is missing: call it once after every scaler.step(optimizer).",
    "unscale_() has already been called": "scaler.unscale_(optimizer) was called twice for one step: the gradients"
    " would be divided twice. Call it once, at the window's end.",
    "unscale_() is being called after step()": "Either scaler.update() is missing or comes before the step, or"
    " scaler.unscale_(optimizer) comes after scaler.step(optimizer) instead of before it.",
    "backward through the graph a second time": "backward() was called twice for one forward pass: does a sum of losses"
    " hold those of an earlier step? (In Lightning, training_step returns the loss, and Lightning calls backward.)",
    "modified by an inplace operation": "Something that backward() needs has changed since the forward pass. Is it the"
    " weights? Make the step after the backward pass. (In Lightning, training_step returns the loss, and Lightning"
    " makes the step.)",
    "Attempting to unscale FP16 gradients": "The parameters are float16: leave the model as it is. Autocast works"
    " on 16-bit copies.",
    "must have the same dtype": "Types were mixed: leave the model and the images in float32. Autocast works on"
    " 16-bit copies.",
    "bias type (c10::": "The weights are in 16 bits: leave the network in float32. Autocast works on 16-bit copies."
    ' (Lightning: "…-true" converts the weights; "…-mixed" leaves them alone.)',
    "should be the same": "Types or devices were mixed: model and images go to problem.device, both in float32.",
    "does not require grad": "The loss that the backward pass begins with is cut off from the weights: is it the loss"
    " itself, without detach(), item() or no_grad()?",
    'missing the required "forward"': "A LightningModule without forward was called: call the network inside it, and"
    " pass that network to problem.history.",
    "No memory is left": "Call backward for each batch of a window: it frees the batch's activations, and the gradients"
    " add up.",
    "called with gradients": "Validation needs none: put it into a `with torch.no_grad():` block.",
    "a layer computed in": "In each training step, was torch.autocast(problem.device, …) on, around the forward"
    " pass? A step needs only one: its loss, taken before the step, is the one to keep. In Lightning: did you pass"
    " precision to the Trainer?",
    "outside of a Trainer": "Make a Trainer(precision=precision, …), and call its fit, which calls training_step.",
    "twice in one step of a Trainer": "training_step gets one batch and returns its loss; the Trainer does the rest.",
    "object has no attribute 'scaler'": "The scaler belongs to the Trainer's precision_plugin. Not every precision"
    " plugin has a scaler: read its scale only if there is one.",
    "at non-singleton dimension": "Shapes do not match. Is it where predictions are compared with labels?"
    " argmax(dim=1) gives one prediction for each image.",
    "same device": "Model, images and labels have to be on problem.device, all of them.",
}
"""What torch says → what the student did."""


def recorded(
    attempt: Callable[[], Any], what: str, problem: Problem, epochs: int, blown_up: str = "", window: int = 1
) -> History:
    """The `History` that `attempt()` returns, whole and of the right types and lengths.

    Args:
        attempt: calls the student's function.
        what: that call, in words.
        problem: what was trained.
        epochs: for how long.
        blown_up: what NaN or infinity comes from, if not from `optimizer.step()`.
        window: batches per step of the optimizer.

    Raises:
        AssertionError: it is not, or the call raised one of `RAISED`; the message says why.
    """
    try:
        history = attempt()
    except (AttributeError, RuntimeError, AssertionError, ValueError) as error:
        for text, note in RAISED.items():
            if text in str(error):
                raise AssertionError(f"{what}: it raised {str(error)[:150]!r}. {note}") from None
        raise
    if type(history) is not History:
        kind = "None: is there a return statement?" if history is None else f"a {type(history).__name__}."
        raise AssertionError(f"{what}: you returned {kind} Expected a History: return problem.history(…).")
    batches = len(problem.loader())
    losses = _list(history.losses, f"{what}: losses", "batch")
    check.equal(
        len(losses),
        epochs * batches,
        f"{what}: number of losses, one for each batch",
        _with_validation(len(problem.validation_loader()), batches, epochs)
        | _counted(batches, epochs, window)
        | ({epochs: IN_STEPS} if "lightning" in what else {}),
    )
    _list(history.scales, f"{what}: scales", "update of the scaler (empty if there is none)")
    if not all(math.isfinite(loss) for loss in losses):
        raise AssertionError(f"{what}: losses hold NaN or infinity. {blown_up or _BLOWN_UP}")
    for name, kinds in (("skipped", (int,)), ("accuracy", (float, int))):
        value, kind = check.as_python(getattr(history, name)), kinds[0].__name__
        found = kind if type(value) in kinds else type(value).__name__
        check.equal(found, kind, f"{what}: type of {name}")
    _check_weights(history.weights, what, problem, blown_up or _BLOWN_UP)
    for half in (torch.bfloat16, torch.float16):  # three digits before four
        if len(set(losses)) > 1 and torch.tensor(losses).to(half).tolist() == losses:
            name = str(half).removeprefix("torch.")
            raise AssertionError(f"{what}: the losses have no more digits than {name}. {OUTSIDE}")
    return history


OUTSIDE = (
    "Is the loss computed inside autocast? There cross entropy runs in float32, outside in the type of the scores."
)


OF_VALIDATION = "That is the number of validation batches: train on problem.loader()."
BOTH = "Are the losses of the validation among them? losses holds those of the training batches alone."
IN_STEPS = (
    "That is the number of epochs: keep the loss of each batch. (max_epochs says how long Lightning trains; max_steps"
    " counts batches.)"
)


def _with_validation(validated: int, batches: int, epochs: int) -> dict[int, str]:
    return {epochs * validated: OF_VALIDATION, epochs * (batches + validated): BOTH}


def _counted(batches: int, epochs: int, window: int) -> dict[int, str]:
    """Wrong numbers of losses, and what they are the number of."""
    known = {
        batches * several: f"That is the number of batches in {several} epochs." for several in range(2, epochs + 2)
    }
    known |= {epochs * batches // window: "That is the number of windows: keep the loss of each batch."}
    repeated = f"Each batch has too many losses: is one kept {epochs} times, or was the whole training repeated?"
    known |= {epochs * epochs * batches: repeated} if epochs > 1 else {}
    known |= {1000 * batches: "That is 1,000 epochs, Lightning's default: pass max_epochs=epochs."}
    return known | {
        epochs: "That is the number of epochs: keep the loss of each batch.",
        batches: "That is the number of batches in one epoch.",
        0: "No loss was kept: was the network trained? The loss of a skipped step counts, too.",
    }


_BLOWN_UP = (
    "Infinite gradients, or ones that were still multiplied by the scale, may have reached the weights:"
    " scaler.step(optimizer) divides them first, and skips the step if one is infinite; optimizer.step() does neither."
)


def _list(value: Any, what: str, each: str) -> list[float]:
    numbers = check.as_python(value)
    if not isinstance(numbers, (list, tuple)) or not all(isinstance(item, (int, float)) for item in numbers):
        raise AssertionError(f"{what}: expected a list with one number for each {each}.")
    return list(numbers)


def _check_weights(weights: Any, what: str, problem: Problem, blown_up: str) -> None:
    first = weights_of(problem.model())
    if not isinstance(weights, dict):
        raise AssertionError(f"{what}: weights is {type(weights).__name__}, expected a dict: name → array.")
    check.equal(set(weights), set(first), f"{what}: names in weights")
    for name, array in first.items():
        kind = str(getattr(weights[name], "dtype", type(weights[name]).__name__)).removeprefix("torch.")
        half = "Parameters stay in float32: autocast makes the small copies." if "16" in kind else ""
        check.equal(kind, str(array.dtype), f"{what}: type of weights[{name!r}]", {kind: half} if half else None)
        check.equal(tuple(weights[name].shape), array.shape, f"{what}: shape of weights[{name!r}]")
        if not np.isfinite(np.asarray(weights[name])).all():
            raise AssertionError(f"{what}: weights[{name!r}] holds NaN or infinity. {blown_up}")
