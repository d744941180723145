"""`RESTART_SCRIPT`: the same training in one process, killed nowhere, or with a known mistake."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from gpulab.chapters.sharding.ranks import ShardedRun
from grader.exercises.sharding.training import (
    BATCH_SEED,
    OTHER_BATCH,
    begun_alike,
    block,
    same,
    scaled_alike,
    stepped_here,
    trained,
)

EXACT = 2e-3
"""As `training.NEAR`, in float32. Adam's first steps take each sign as it comes, so it is more than rounding alone."""
OTHERWISE = (
    "Do the ranks average their gradients (fully_shard, or DDP), and is every step's batch drawn "
    "with a seed of its own?"
)
ANEW = (
    "Does it look at TORCHELASTIC_RESTART_COUNT? That is 0 here, because a new torchrun started the ranks. Only the"
    " folder tells whether there is a checkpoint."
)
ELSEWHERE = (
    "The second attempt does not take everything from the last complete checkpoint: save and load both the weights and"
    " the optimizer's states with dcp."
)


def drawn_restart(seed: int, other: bool = False) -> tuple[dict[str, Any], tuple[int, int], int]:
    """A configuration of `RESTART_SCRIPT`, which rank is killed after which step, and the last step saved before.

    Args:
        seed: of everything that is drawn.
        other: with the distance between saves that this seed does not draw, so that a program meets both.
    """
    draw = random.Random(seed)
    every = draw.choice([3, 5])
    every = 8 - every if other else every
    saves = {3: 5, 5: 3}[every]  # the last save is not the second one, and as text another one comes last: 9, or 5
    killed = saves * every + draw.randint(2, every - 1)
    config = {
        "width": draw.choice([8, 10, 14]), "steps": (saves + 1) * every + draw.randint(1, every - 1), "every": every,
        "batch": draw.choice([10, 12, 14]), "lr": draw.uniform(0.005, 0.02), "seed": draw.randrange(10**6),
    }  # fmt: skip
    return config, (draw.choice([0, 1]), killed), saves * every


def restart_model(config: Mapping[str, Any]) -> nn.Sequential:
    """The model of `RESTART_SCRIPT` before its first step."""
    torch.manual_seed(config["seed"])
    return block(config["width"])


def _resumed(step: int, every: int, last: int, anew: bool) -> str:
    """What to say of a second attempt that goes on after another step than the last saved one."""
    as_text = max(range(every, last + 1, every), key=str)
    if step <= 0:
        return f"It starts over. {ANEW}" if anew else "It starts over."
    if step == as_text:
        return f"It resumes from step {step}: as text, '{step}' comes after '{last}'. Compare the numbers of steps."
    if step % every:
        return f"It resumes from step {step}, and config['every'] is {every}: save after that many steps."
    return f"It resumes from step {step}, not from the last saved one."


def judge_restarted(
    made: ShardedRun, config: Mapping[str, Any], what: str, last: int, scale: float = 0.0, anew: bool = False
) -> None:
    """Passes if a killed training went on from its last checkpoint, and ended as if nothing had happened.

    A training that restores itself from anything else does not follow a checkpoint that was changed.

    Args:
        made: what the ranks left.
        config: of the run.
        what: the run, in words.
        last: steps done at the last checkpoint before the kill.
        scale: the key of what the weights and the states of the optimizer in the checkpoint were multiplied by:
            `gpulab.chapters.sharding.agent.factors_of`; 0 if they were not.
        anew: whether the second attempt was started as a new job, with no restarts counted.

    Raises:
        AssertionError: it did not.
    """
    if len(made.attempts) != 2:
        raise AssertionError(f"{what}: {len(made.attempts)} attempts, expected 2.")
    saved = [name for name in made.files if name.startswith("common/") and name.endswith(".distcp")]
    if not saved:
        raise AssertionError(f"{what}: no distributed checkpoint in CHECKPOINTS.")
    again = config["steps"] - last
    for rank, held in enumerate(made.watched[1]):
        if held.get("rows", 0) > config["batch"] / 2:
            raise AssertionError(
                f"{what}, rank {rank}: it trained on {held['rows']} rows, not on batch[r::world_size]."
            )
        steps = held.get("steps", 0)
        if steps != again:
            raise AssertionError(
                f"{what}: rank {rank} took {steps} steps in the second attempt, expected {again}."
                f" {_resumed(config['steps'] - steps, config['every'], last, anew)}"
            )

    def mistaken(lr: float = config["lr"], later: int = 0, **changed: Any) -> Callable[[], Mapping[str, Any]]:
        shown = {**config, "lr": lr, "seed": config["seed"] + later}
        return lambda: trained(restart_model(config), shown, **changed)

    start = restart_model(config).state_dict()
    path: list[dict[str, Any]] = []
    right = trained(restart_model(config), config, path=path, scale_at=last, scale=scale)
    begun_alike(made, start, what)
    unloaded = "It resumes at the right step, but with the initial weights: load the saved ones."
    lost = "The optimizer has lost its states: save and load them with the model."
    same(made.weights, right, start, what, EXACT, [
        (mistaken(), "It ends as if the checkpoint had not been changed, so nothing was loaded from it."),
        (mistaken(forget_at=last), lost),
        (mistaken(forget_at=last, warm_at=last), lost),
        (mistaken(data_from=last), "The data began again from the first batch: batch and step belong together."),
        (mistaken(warm_at=0),
         "Adam made an extra step before the first one: get_state_dict steps an optimizer without states."),
        (mistaken(apart=1), OTHER_BATCH),
        (mistaken(ranks=[0]), "Only rank 0's rows had an effect: shard the model, or wrap it in DDP."),
        (mistaken(first=last), unloaded),
        (mistaken(first=last, warm_at=last), unloaded),
        (mistaken(rows=lambda rank: slice(rank, 8, 2)),
         "Only the first 8 rows had an effect: a batch has config['batch'] rows."),
        *((mistaken(later=later), BATCH_SEED) for later in (-1000, 1)),
        (mistaken(short=True), "Each rank draws its own rows: draw the whole batch, and take batch[r::world_size]."),
        *((mistaken(lr=lr), "The learning rate is not config['lr'].") for lr in (0.001, 0.01, 0.1)),
        (mistaken(forget_at=last, warm_at=last, data_from=last), "Only the weights were loaded, no optimizer or data."),
    ], ELSEWHERE if scale else OTHERWISE)  # fmt: skip
    for rank, (killed, held) in enumerate(zip(*made.watched, strict=True)):
        stepped_here(held, killed["before"][0], path, last, f"{what}, rank {rank}")
    scaled_alike(made, restart_model(config), config, False, what)
