"""DDP and scaling: what two ranks must have told each other, seen by giving each of them pictures of its own.

Weights that are right could come from one rank that did the work of all. Once the other's pictures are its own, what
the first has not seen must have reached it by gradients; and once each rank weighs its gradients by a number of its own
(`weighed`), the weights show that no rank has computed another's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch

from gpulab import check
from gpulab.chapters.ddp_scaling.checks import TrainedRanks
from gpulab.chapters.ddp_scaling.weights import same_weights
from gpulab.training.problem import Problem
from grader.exercises.ddp_scaling.weighed import strengths

First = Literal["sent", "kept", "mean"]
"""What becomes of the ranks' first weights, which differ: those of rank 0 are sent to all, as DDP does; all keep their
own; or all keep their own and take the mean of their weights after each step, instead of that of their gradients."""
SILENT = (
    "Rank 0 has not learned from the other rank's pictures: it must learn from them through the averaged gradients."
)
ONE_FOR_ALL = "Rank 0 has computed the gradients of the other rank's pictures, too: each rank computes its own."
NOT_FITTED = (
    "The gradients did not come from the network of problem.model() (in LIGHTNING_SCRIPT: called in training_step, by a"
    ' Trainer with strategy="ddp").'
)


ONE_CALL = (
    "All steps were made while the Trainer called training_step once: return the loss of one batch, and the Trainer "
    "makes the step."
)


def learnt_from_each_other(
    made: TrainedRanks,
    problems: Sequence[Problem],
    each: int,
    what: str,
    lr: float = 1.0,
    weights: Sequence[float] = (1.0, 1.0),
    by_step: bool = False,
) -> None:
    """Passes if rank 0 knows what only the others' pictures could teach it, in any of the three ways of `First`.

    Args:
        made: what the ranks left behind.
        problems: by rank, the problem that it was given; all may be the same, and there may be a single rank.
        each: samples a step and rank.
        what: the run, in words.
        lr: how many times the problem's learning rate.
        weights: by rank, the number of its own that its gradients were multiplied by: `weighed.strengths`.
        by_step: whether each step had numbers of its own.

    Raises:
        AssertionError: it does not.
    """
    for rank, share in enumerate(made.samples[1:], start=1):
        check.equal(len(share), len(made.samples[0]), f"{what}: samples of rank {rank}")
    alone, own = replace(made, samples=made.samples[:1]), [weights[0]] * len(problems)
    same = [problems[0]] * len(problems)
    mistakes = [
        (lambda: together(problems[:1], alone, each, "kept", lr, weights, by_step), SILENT),
        (lambda: together(same, made, each, "kept", lr, weights, by_step), SILENT),
        (lambda: together(same, made, each, "kept", lr, own, by_step), SILENT),
        (lambda: together(same, made, each, "kept", lr), SILENT),
    ]
    if list(problems) == same:  # then the pictures of one rank are those of the others, too
        mistakes = mistakes[: len(problems) > 1]
    mistakes += [
        (lambda: together(problems, made, each, "sent", lr, own, by_step), ONE_FOR_ALL),
        (lambda: together(problems, made, each, "sent", lr), NOT_FITTED),
        (lambda: together(problems, made, each, "kept", lr), NOT_FITTED),
    ]
    if len(problems) == 1:
        del mistakes[0]
    if by_step:
        mistakes.append((lambda: together(problems, made, each, "sent", lr, weights), ONE_CALL))
        mistakes.append((lambda: together(problems, made, each, "kept", lr, weights), ONE_CALL))
    ways: tuple[First, ...] = ("kept", "mean", "sent")
    for first in ways:
        try:
            return same_weights(
                made.weights, together(problems, made, each, first, lr, weights, by_step), problems[0], what, mistakes
            )
        except AssertionError as error:
            wrong = error
    raise wrong


def together(
    problems: Sequence[Problem],
    made: TrainedRanks,
    each: int,
    first: First,
    lr: float = 1.0,
    weights: Sequence[float] = (1.0, 1.0),
    by_step: bool = False,
) -> Mapping[str, Any]:
    """Rank 0's weights after ranks have trained together, each on a problem of its own: first weights, pictures, order.

    The arguments are those of `learnt_from_each_other`.
    """
    models = [problem.model() for problem in problems]
    if first == "sent":
        for model in models:
            model.load_state_dict(problems[0].model().state_dict())
    optimizers = [problem.optimizer(model) for problem, model in zip(problems, models, strict=True)]
    for optimizer in optimizers:
        optimizer.param_groups[0]["lr"] *= lr
    data = [problem.dataset() for problem in problems]
    for step, begin in enumerate(range(0, len(made.samples[0]), each)):
        ranks = zip(problems, models, data, made.samples, weights, strict=False)  # one weight more, where one is alone
        for problem, model, pictures, share, weight in ranks:
            model.zero_grad()
            images, labels = pictures[share[begin : begin + each]]
            scores = model(images)
            by = strengths(images, scores, weight, step if by_step else 0)
            scores.register_hook(lambda gradient, by=by: gradient * by)
            problem.criterion()(scores, labels).backward()
        if first != "mean":
            _average(*([weight.grad for weight in model.parameters()] for model in models))
        for optimizer in optimizers:
            optimizer.step()
        if first == "mean":
            _average(*([weight.detach() for weight in model.parameters()] for model in models))
    return dict(models[0].state_dict())


def _average(*ranks: Sequence[torch.Tensor | None]) -> None:
    """Writes the mean over the ranks into each rank's tensors."""
    for tensors in zip(*ranks, strict=True):
        held = [tensor for tensor in tensors if tensor is not None]
        mean = torch.stack(held).mean(dim=0)
        for tensor in held:
            tensor.copy_(mean)
