"""Mixed precision: messages that name the mistake of a training loop, from what `observing` has seen of it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from gpulab import check
from gpulab.chapters.mixed_precision.checks import recorded
from gpulab.chapters.mixed_precision.observing import Watched
from gpulab.training.problem import History, Problem, weights_of

NOT_SCALED = "No scaling? The loss has to be multiplied before backward: scaler.scale(loss).backward()."
TWICE = "optimizer.step() was called besides scaler.step(optimizer), which calls it already."
NEW_SCALER = "There is more than one scaler: make one before the loops, or it forgets the scale that it has found."
INSIDE = "The backward pass ran inside autocast: leave the with block first."
LEFT = "The gradients of earlier {} are still there: zero them once per step."
LOST = (
    "Only the last batch of each window counts: zero the gradients once per window, and call backward for every batch."
)
NOT_CLIPPED = "Nothing was clipped, or only some gradients, or only after the step: clip all of them before the step."
EACH_CLIPPED = "Each parameter was clipped by itself: limit the norm of all gradients together."
VALUES_CLIPPED = (
    "That limits the largest element, as clipping each element by itself does: limit the norm of all gradients"
    " together."
)
OTHER_LIMIT = "The gradients were limited to {:.3g}. The limit is max_norm, {:.3g}."
OTHER_NORM = "The gradients were made shorter than max_norm: the norm is the root of the sum of squares, the default."
OF_SHARE = (
    "The gradients were limited to max_norm / accumulate: after the sum over a window, neither the limit nor the"
    " gradients are divided by accumulate."
)
ZEROED = "No gradients were left at the step: zero them after it."
CLIPPED_FIRST = "Clipped before unscaling: the norm still holds the scale. Call scaler.unscale_(optimizer) first."
ONE_BACKWARD = (
    "There was one backward pass for a whole window: call backward for each batch, which frees its activations;"
    " gradients add up."
)
SHIFTED = (
    "The windows are shifted by one batch: the first step comes after a single batch. Number the batches from 1, and"
    " step where number % accumulate is 0."
)
ALL_BUT_LAST = (
    "Steps were taken after all batches of a window but its last: take one step, after the last batch. Numbered from"
    " 1, that is where number % accumulate is 0."
)
NO_WINDOW = "No step was taken: does a window end? It has accumulate batches."
STEPPED = "A step was taken after every batch: step and update belong to the window's end."
MORE_STEPS = "{} steps were taken for {} batches, expected {}: one at the end of each window."
EARLY = "Those are the scales before each update: ask after scaler.update()."
NOT_DIVIDED = "The loss was not divided by accumulate: the sum of the window's gradients is too large."
OTHER_SHARE = "Before you scale the loss, divide it by accumulate, and by nothing else."
DIRECT = "The optimizer took gradients that were still scaled: scaler.step(optimizer) divides them first."
LOWERED = (
    "A step is skipped when the update lowers the scale: compare the scale before scaler.update() with the scale"
    " after it."
)
OVER_SCALE = "The losses are divided by the scale: the criterion's value is not scaled yet, so keep it as it is."
STAYS = (
    "Is the network made once, before the loops? Are the gradients divided by the scale once, by"
    " scaler.step(optimizer)? Are optimizer and batches the problem's, as they are?"
)
BYPASSED = (
    "optimizer.step() was called instead of scaler.step(optimizer), which skips the step if a gradient is infinite."
)
KEPT_SCALE = (
    "A step was skipped because a gradient was infinite, and the scale did not fall: call scaler.update() after every"
    " step, without arguments."
)
DIVIDED = "The losses are divided by accumulate: keep the loss before you divide it."
MULTIPLIED = "The losses are multiplied by the scale: keep the loss itself, not scaler.scale(loss)."
DEFAULTS = "Use the scaler's defaults, which begin at 65,536."
GREW = "The scale grew here, after fewer than 2,000 good steps: use the scaler's defaults."
SWITCHED_OFF = (
    "The scaler is disabled, and scaler.scale(loss) returns the loss as it is: make it for the device of the problem,"
    " torch.amp.GradScaler(problem.device)."
)
FIRST_UPDATE = "The scale before the first update is 65,536, the scaler's default: the first update counts as well."
ON_TOP = (
    "Does training_step return the loss itself, neither scaled nor divided by problem.loss_weight? Lightning scales it"
    " where the precision needs it."
)
TWICE_BACKWARD = "training_step returns the loss, and Lightning calls backward itself."
IN_ANOTHER_TYPE = "Did you pass precision to the Trainer? Is there an autocast of your own?"
OF_OTHER_WEIGHTS = "The losses are those of a training: are the weights those of the network that was trained?"
NO_STEP = (
    "No step reached the network, and its losses stay as they were: does the loss go into the backward pass"
    " (in Lightning, training_step returns it), and does the optimizer have this network's parameters?"
)
OF_IMAGES = "That is multiplied by the number of images: the criterion's value is their mean, so keep it as it is."
UNWEIGHTED = "That is the loss without problem.loss_weight: problem.criterion() multiplies by it."
WEIGHTED_AGAIN = "That is multiplied by problem.loss_weight twice: problem.criterion() multiplies by it already."
SOFTMAX = "The scores went through a softmax first: problem.criterion() takes them as the network returns them."
AUTOCAST_ON = "was torch.autocast(problem.device, …) on, around the forward pass?"
IN_FLOAT32 = f"That is the training in float32: {AUTOCAST_ON}"
IN_BFLOAT16 = "That is bfloat16: pass dtype=torch.float16 to autocast."


def watched(
    attempt: Callable[[], Any],
    what: str,
    problem: Problem,
    epochs: int,
    *,
    accumulate: int = 1,
    max_norm: float = math.inf,
    falls_to: float = math.inf,
) -> History:
    """The `History` of a float16 training with a scaler that begins at 65,536, after a look at how it came about.

    Args:
        attempt: calls the student's function.
        what: that call, in words.
        problem: what is trained.
        epochs: for how long.
        accumulate: batches per window.
        max_norm: limit on the norm of the gradients; smaller than that of the first window.
        falls_to: share of the first loss that the last one must not exceed, in a training of this process.

    Raises:
        AssertionError: a mistake was seen; the message names it.
    """
    seen = Watched()
    with seen.watching():
        history = recorded(attempt, what, problem, epochs, window=accumulate)
    windows = len(history.losses) // accumulate
    of_window = [(len(history.losses), "Step and update belong to the window's end.")]
    kept = "Keep scaler.get_scale() after every update, whether it has changed or not."
    batches = len(problem.loader())
    longer = f"That is less than one update for every {accumulate} batches: are the windows longer than accumulate?"
    of_window += [(epochs * (batches // (accumulate + 1)), longer)] if accumulate > 1 else []
    none = f"{kept} Or did no window end? It has accumulate batches." if accumulate > 1 else kept
    of_window += [(0, none), (epochs, f"That is the number of epochs. {kept}")]
    if seen.backward and len(history.scales) not in (count for count, note in of_window if note == longer):
        _explain(seen, history, what, problem, accumulate, max_norm)
    check.equal(len(history.scales), windows, f"{what}: number of scales, one for each update", mistakes=of_window)
    _check_first_loss(history, what, problem, _untrained_losses(problem)[0], accumulate)
    if not seen.backward:
        return history
    if not 2.0**10 < history.scales[0] <= 65536.0:
        cause = NOT_SCALED if history.scales[0] == 1 else DEFAULTS
        raise AssertionError(f"{what}: the first scale is {history.scales[0]:g}. {cause}")
    scales = seen.scales if seen.scaler_steps else list(history.scales)  # a scaler of their own is not seen
    check.equal(list(history.scales), scales, f"{what}: scales", mistakes=[([65536.0, *scales[:-1]], EARLY)])
    fell = _falls(scales)
    note = f"{LOWERED} Each window counts once."
    missed = [(fell - 1, FIRST_UPDATE)] if scales[0] < 65536.0 else []
    check.equal(int(history.skipped), fell, f"{what}: skipped", mistakes=[*missed, (history.skipped, note)])
    if fell < windows:
        _check_moved(history, what, problem)
    if history.losses[-1] > falls_to * history.losses[0]:
        share = f"the last loss is {history.losses[-1] / history.losses[0]:.3g} times the first"
        raise AssertionError(f"{what}: {share}, expected less than {falls_to:g}. {STAYS}")
    return history


def watched_without_scaler(
    attempt: Callable[[], Any], what: str, problem: Problem, epochs: int, dtype: torch.dtype | None
) -> History:
    """The `History` of a training by Lightning in a type that needs no scaler; None stands for float32.

    Raises:
        AssertionError: a mistake was seen; the message names it.
    """
    seen = Watched()

    def attempted() -> Any:
        history = attempt()
        _explain_steps(seen, what, epochs * len(problem.loader()))
        return history

    with seen.watching():
        history = recorded(attempted, what, problem, epochs, ON_TOP)
    first = _untrained_losses(problem)[0]
    if max([history.losses[0], *(value for value, _ in seen.backward[:1])]) > 1000 * first:
        raise AssertionError(f"{what}: the loss is {history.losses[0] / first:.3g} times too large. {ON_TOP}")
    if seen.types and seen.types != {dtype}:
        names = " and ".join(str(kind or torch.float32).removeprefix("torch.") for kind in seen.types)
        raise AssertionError(f"{what}: the forward pass ran in {names}. {IN_ANOTHER_TYPE}")
    note = "There is no scaler in this precision, unless you have put one on top: scales stays empty."
    check.equal(list(history.scales), [], f"{what}: scales", mistakes=[(list(history.scales), note)])
    _check_first_loss(history, what, problem, first)
    _check_moved(history, what, problem)
    batches = [
        (len(history.losses), "That is the number of batches; a step is skipped when the update lowers the scale.")
    ]
    check.equal(int(history.skipped), 0, f"{what}: skipped", mistakes=batches)
    if seen.backward and not seen.by_trainer:
        raise AssertionError(f"{what}: no Trainer trained: make a Trainer(precision=precision, …), and call its fit.")
    return history


def _explain_steps(seen: Watched, what: str, batches: int) -> None:
    passes, steps = len(seen.backward), len(seen.norms)
    if passes == 2 * batches and steps < passes:
        raise AssertionError(f"{what}: {passes} backward passes for {batches} batches. {TWICE_BACKWARD}")
    if seen.forward and not passes:
        raise AssertionError(f"{what}: no backward pass followed the forward passes: training_step returns the loss.")
    if 0 < steps < passes:
        raise AssertionError(f"{what}: the optimizer made {steps} steps for {passes} batches, expected one for each.")


def _check_first_loss(history: History, what: str, problem: Problem, first: float, accumulate: int = 1) -> None:
    mistakes = [(first * 65536.0, MULTIPLIED), (first / problem.loss_weight, UNWEIGHTED)]
    mistakes += [(first / 65536.0, OVER_SCALE), (first * problem.batch_size, OF_IMAGES)]
    mistakes += [(first * problem.loss_weight, WEIGHTED_AGAIN)]
    mistakes += [(first / accumulate, DIVIDED)] if accumulate > 1 else []
    check.close(history.losses[0], first, f"{what}: losses[0]", rtol=0.05, mistakes=mistakes)


def _check_moved(history: History, what: str, problem: Problem) -> None:
    first = weights_of(problem.model())
    if all(abs(history.weights[name] - start).max() < 1e-7 for name, start in first.items()):
        untrained = abs(history.losses[-1] / _untrained_losses(problem)[-1] - 1) < 1e-5
        raise AssertionError(f"{what}: the weights have hardly moved. {NO_STEP if untrained else OF_OTHER_WEIGHTS}")


def _explain(seen: Watched, history: History, what: str, problem: Problem, accumulate: int, max_norm: float) -> None:
    first = _untrained_losses(problem)[0]  # the gradients are of its size
    told = history.losses[0] / first
    value, _ = seen.backward[0]
    scaled = value / first
    later = [present for number, (_, present) in enumerate(seen.backward) if number and number % accumulate == 0]
    between = [present for number, (_, present) in enumerate(seen.backward) if number % accumulate]
    limited = [norm / max_norm for norm in seen.norms] if max_norm < math.inf else []
    above = any(share > 1.01 for share in limited)
    limit = seen.norms[0] if seen.norms else 0.0
    share = scaled * accumulate / 65536 if seen.scales and seen.scales[0] >= 32768 else 1.0  # of the right loss
    enabled = [scaler for scaler in seen.scalers if scaler.is_enabled()]
    faults = {
        SWITCHED_OFF: len(enabled) < len(seen.scalers),
        DEFAULTS: bool(enabled)
        and (seen.first_scale or 65536.0, *map(_settings, enabled)) != (65536.0, *[(2.0, 0.5, 2000)] * len(enabled)),
        NOT_SCALED: scaled < 2,
        INSIDE: seen.inside,
        MULTIPLIED: told > 1000,
        ONE_BACKWARD: accumulate > 1 and len(seen.backward) == len(history.losses) // accumulate,
        # Before what is said of zeroing: a loop that steps after every batch zeroes after every batch, too.
        ALL_BUT_LAST: accumulate > 2
        and len(seen.passes) * accumulate == len(seen.backward) * (accumulate - 1)
        and all(one % accumulate for one in seen.passes),
        STEPPED: accumulate > 1 and seen.scaler_steps == len(seen.backward),
        MORE_STEPS.format(seen.scaler_steps, len(seen.backward), len(seen.backward) // accumulate): accumulate > 1
        and seen.scaler_steps > len(seen.backward) // accumulate,
        NO_WINDOW: accumulate > 1 and not seen.scaler_steps and not seen.norms,
        SHIFTED: accumulate > 1 and seen.passes[:2] == [1, 1 + accumulate],
        LEFT.format("windows" if accumulate > 1 else "batches"): any(later),
        LOST: bool(between) and not any(between),
        DIRECT: bool(seen.norms) and not seen.scaler_steps and seen.norms[0] > 1000 * first,
        BYPASSED: bool(seen.norms) and bool(enabled) and not seen.scaler_steps,
        KEPT_SCALE: seen.scaler_steps - len(seen.norms) > _falls(seen.scales),
        TWICE: 0 < seen.scaler_steps < len(seen.norms),
        NEW_SCALER: len(seen.scalers) > 1,
        EACH_CLIPPED: above and abs(max(seen.longest) / max_norm - 1) < 0.01,
        VALUES_CLIPPED: above and abs(max(seen.largest) / max_norm - 1) < 0.01,
        OTHER_LIMIT.format(limit, max_norm): above and all(abs(norm / limit - 1) < 0.01 for norm in seen.norms),
        NOT_CLIPPED: above,
        ZEROED: bool(seen.norms) and not any(seen.norms),
        CLIPPED_FIRST: bool(limited) and limited[0] < 0.01,
        OF_SHARE: accumulate > 1 and bool(limited) and all(abs(one * accumulate - 1) < 0.01 for one in limited),
        OTHER_NORM: bool(limited) and limited[0] < 0.9,
        NOT_DIVIDED: accumulate > 1 and abs(share / accumulate - 1) < 0.1,
        OTHER_SHARE: accumulate > 1 and abs(share - 1) > 0.1,
    }
    if torch.float16 not in seen.types:  # a layer may stay in float32 on purpose
        raise AssertionError(f"{what}: {IN_BFLOAT16 if torch.bfloat16 in seen.types else IN_FLOAT32}")
    for message, found in faults.items():
        if found:
            raise AssertionError(f"{what}: {message}")


def _falls(scales: Sequence[float]) -> int:
    """Updates that lowered the scale, if it began at 65,536."""
    return sum(after < before for before, after in itertools.pairwise([65536.0, *scales]))


def grown(scales: Sequence[float]) -> list[tuple[list[float], str]]:
    """A mistake for `check`: scales of a short training that have grown; with a scaler's defaults they do not."""
    rises = any(after > before for before, after in itertools.pairwise(scales))
    return [(list(scales), GREW)] if rises and len(scales) < 2000 else []


def _settings(scaler: torch.amp.GradScaler) -> tuple[float, float, int]:
    return scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()


def _untrained_losses(problem: Problem) -> list[float]:
    """Of each batch with the first weights, in float32."""
    model, criterion = problem.model().to(problem.device), problem.criterion()
    with torch.no_grad():
        return [
            float(criterion(model(images.to(problem.device)), labels.to(problem.device)))
            for images, labels in problem.loader()
        ]
