"""A float16 training with accumulated and clipped gradients on this GPU, to compare another one with."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from gpulab import History, Problem, check
from gpulab.training.problem import weights_of
from grader.exercises.confront import Unusable
from grader.exercises.mixed_precision.trainings import same_losses, same_training

EPOCHS, WINDOW = 2, 3
RUNS: dict[str, tuple[dict[str, Any], float]] = {
    "clipped": ({"network": "cnn_float32_head", "lr": 0.4, "loss_weight": 2.0**-10}, 0.3),
    "loose": ({"network": "cnn_float32_head", "lr": 0.1, "loss_weight": 2.0**-10}, 10.0),
    "stormy": ({"network": "cnn", "lr": 0.03, "loss_weight": 2.0**100}, 0.3),
}
"""Problem, and the limit in multiples of the first window's norm: a limit for every window; one for none; and a loss
with which every gradient overflows at every scale, so that all windows are skipped, whatever is rounded how."""


def problem_of(name: str, device: str) -> Problem:
    """What a run trains."""
    return Problem(samples=24 * 12, batch_size=24, seed=11, device=device, **RUNS[name][0])


def trained(device: str = "cuda") -> dict[str, Any]:
    """For each run the limit on the norm, and what the training gave."""
    found: dict[str, Any] = {}
    for name, (_, factor) in RUNS.items():
        problem = problem_of(name, device)
        limit = factor * first_norm(problem)
        history = train(problem, limit)
        weights = {key: np.asarray(value).tolist() for key, value in history.weights.items()}
        run = {"losses": history.losses, "scales": history.scales, "skipped": history.skipped, "limit": limit}
        found[name] = run | ({} if history.skipped else {"weights": weights})
    return {"device": device, "runs": found}


def first_norm(problem: Problem) -> float:
    """Norm of the gradient of the first window, in float32."""
    import torch

    model, criterion = problem.model().to(problem.device), problem.criterion()
    for images, labels in itertools.islice(problem.loader(), WINDOW):
        (criterion(model(images.to(problem.device)), labels.to(problem.device)) / WINDOW).backward()
    return float(
        torch.nn.utils.get_total_norm([one.grad.double() for one in model.parameters() if one.grad is not None])
    )


def train(problem: Problem, limit: float) -> History:
    """The training itself."""
    import torch

    model = problem.model().to(problem.device)
    optimizer, criterion = problem.optimizer(model), problem.criterion()
    scaler = torch.amp.GradScaler(problem.device)
    losses, scales, skipped = [], [], 0
    for _ in range(EPOCHS):
        for number, (images, labels) in enumerate(problem.loader(), start=1):
            with torch.autocast(problem.device, dtype=torch.float16):
                loss = criterion(model(images.to(problem.device)), labels.to(problem.device))
            scaler.scale(loss / WINDOW).backward()
            losses.append(loss.item())
            if number % WINDOW:
                continue
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
            before = scaler.get_scale()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            scales.append(scaler.get_scale())
            skipped += int(scales[-1] < before)
    return problem.history(model, losses, scales, skipped)


def check_clipped(answer: Any, readings: Any) -> None:
    """`train_amp_clipped` takes the same way through the weights on the GPU, and skips the same windows."""
    where = "this GPU" if readings["device"] == "cuda" else readings["device"]
    for name, run in readings["runs"].items():
        _require_run(run, stormy=name == "stormy")
        problem = problem_of(name, readings["device"])
        told = f"a loss of weight {problem.loss_weight:g}, max_norm {run['limit']:.3g}, windows of {WINDOW}"
        what = f"train_amp_clipped on {where}, {told}"
        history = answer(problem, EPOCHS, run["limit"], WINDOW)
        check.equal(list(history.scales), run["scales"], f"{what}: scales")
        check.equal(int(history.skipped), run["skipped"], f"{what}: skipped")
        check.equal(len(history.losses), len(run["losses"]), f"{what}: number of losses, one for each batch")
        weights = {key: np.array(value, np.float32) for key, value in run.get("weights", {}).items()}
        right = History(run["losses"], run["scales"], run["skipped"], history.accuracy, weights)
        same_losses(history, right, what)
        if weights:
            first = weights_of(problem.model())
            if all(np.allclose(weights[key], start, atol=1e-7) for key, start in first.items()):
                raise Unusable("the weights are where they began")
            same_training(history, right, problem, what)


def _require_run(run: Any, stormy: bool) -> None:
    """Passes a training as a GPU does it.

    Raises:
        Unusable: a loss that is no number, windows skipped without an overflow or taken in spite of one, no learning.
    """
    losses = run["losses"]
    if not losses or not all(0 < loss < math.inf for loss in losses):
        raise Unusable("a loss is not a number above 0")
    if run["skipped"] != (len(run["scales"]) if stormy else 0):
        raise Unusable(f"{run['skipped']} of {len(run['scales'])} windows were skipped")
    first, last = (sum(part) for part in (losses[: len(losses) // EPOCHS], losses[-(len(losses) // EPOCHS) :]))
    if not stormy and last > 0.998 * first:  # the same batches in both
        raise Unusable(f"the losses of an epoch went from {first:.4g} to {last:.4g}: nothing was learned")
