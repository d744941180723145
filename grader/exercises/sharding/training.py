"""`FSDP_SCRIPT`: the same training in one process, right or with a known mistake. `restarting` builds on it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gpulab.chapters.sharding.agent import factors_of
from gpulab.chapters.sharding.ranks import ShardedRun

NEAR = 0.15
"""Distance, as a share of the way that the weights went, that bfloat16 and other orders of sums leave; often 0.05."""
FOLLOWED = 0.5
"""The same for a sample of a rank's weights, after each step. Weights that no gradient has moved are off by 1."""
SCALED = 1.5
"""Gradients that are this many times too large or too small were not averaged in the same way. Rounding leaves 1.1."""
TYPES = (
    ("compute", "torch.bfloat16", "the layers compute with weights of type"),
    ("reduced", "torch.float32", "gradients are reduced as"),
    ("stored", "torch.float32", "shards are stored as"),
)
"""What is noted of each rank, and how the exercise wants it."""
OTHER_BATCH = "Each rank drew another batch: its seed must not depend on the rank, batch[r::world_size] deals the rows."
OTHER_WEIGHTS = "The ranks begin with different weights: the seed must not depend on the rank."
BATCH_SEED = "The seed of a step's batch is config['seed'] + 1000 + step, and the first step is step 0."
DECOY = "The optimizer that makes the steps must be the one that trains the model."
UNHEARD = "They do not depend on the gradients that the ranks send to each other: fully_shard averages those."


def drawn(seed: int, blocks: int = 5) -> dict[str, Any]:
    """A configuration of `FSDP_SCRIPT`."""
    draw = random.Random(seed)
    return {
        "width": draw.choice([16, 24, 40]), "blocks": blocks, "steps": draw.choice([2, 3]),
        "batch": draw.choice([12, 20, 24]), "lr": draw.uniform(0.002, 0.01), "seed": draw.randrange(10**6),
    }  # fmt: skip


def drawn_factors(seed: int) -> list[float]:
    """What to multiply the gradients of each step by. One step goes back, since Adam does not mind a mere factor."""
    return [1.0, -random.Random(seed).uniform(0.3, 0.6), 1.0]


def block(width: int) -> nn.Sequential:
    """A block of both scripts' models, of so many features."""
    return nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))


def sharded_model(config: Mapping[str, Any], *, each: bool = True) -> nn.Sequential:
    """The model of `FSDP_SCRIPT` before its first step; unless `each`, only the first block is seeded."""
    blocks = []
    for number in range(config["blocks"]):
        if each or not number:
            torch.manual_seed(config["seed"] + number)
        blocks.append(block(config["width"]))
    return nn.Sequential(*blocks)


def _by_rank(config: Mapping[str, Any]) -> nn.Sequential:
    """The model of `FSDP_SCRIPT` if rank 1, which holds the lower half of each tensor, adds 1 to the seeds."""
    model, other = sharded_model(config), sharded_model({**config, "seed": config["seed"] + 1})
    for mine, theirs in zip(model.parameters(), other.parameters(), strict=True):
        mine.data = torch.cat([mine.detach().chunk(2)[0], theirs.detach().chunk(2)[1]])
    return model


def trained(
    model: nn.Module,
    config: Mapping[str, Any],
    *,
    ranks: Sequence[int] = (0, 1),
    world_size: int = 2,
    factors: Sequence[float] = (),
    narrow: bool = False,
    rows: Callable[[int], slice] | None = None,
    first: int = 0,
    data_from: int | None = None,
    forget_at: int | None = None,
    warm_at: int | None = None,
    scale_at: int | None = None,
    scale: float = 0.0,
    path: list[dict[str, Any]] | None = None,
    adding: bool = False,
    short: bool = False,
    apart: int = 0,
) -> dict[str, Any]:
    """Weights after the steps of a configuration.

    Args:
        model: changed by it.
        config: width, steps, batch, lr, seed.
        ranks: whose gradients are averaged.
        world_size: over which rows are dealt.
        factors: of the gradients, by step; 1 when left out.
        narrow: compute in bfloat16, keep and average in float32.
        rows: of each rank; every `world_size`-th from its own when left out.
        first: the step to begin with.
        data_from: at this step the data begins again from the first.
        forget_at: before this step the optimizer forgets its states.
        warm_at: before this step it makes one with learning rate 0 and no gradient, as `get_state_dict` has it do.
        scale_at: before this step the weights and the optimizer's states are multiplied by `agent.factors_of`.
        scale: the key of the factors; 0 for none.
        path: takes the weights before the first step and after each one.
        adding: gradients of all steps add up.
        short: each rank draws as many rows as it needs, all of them the same.
        apart: each rank adds its number times this one to the seed of the batch.
    """
    torch.set_num_threads(1)
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    seen = [] if path is None else path
    seen.append(_copied(model))
    for step in range(first, config["steps"]):
        if step == forget_at:
            optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
        if step == warm_at:
            _warm(optimizer)
        if step == scale_at and scale:
            _scale(optimizer, scale)
            seen[-1] = _copied(model)
        shown = step if data_from is None or step < data_from else step - data_from
        torch.manual_seed(config["seed"] + 1000 + shown)
        batch = torch.randn(config["batch"] // (world_size if short else 1), config["width"])
        if not adding:
            optimizer.zero_grad()
        for rank in ranks:
            if apart:
                torch.manual_seed(config["seed"] + 1000 + shown + apart * rank)
                batch = torch.randn_like(batch)
            part = batch if short else batch[rows(rank) if rows else slice(rank, None, world_size)]
            _add_gradients(model, part, (factors[step] if factors else 1.0) / len(ranks), narrow)
        optimizer.step()
        seen.append(_copied(model))
    return _copied(model)


def _copied(model: nn.Module) -> dict[str, Any]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _warm(optimizer: torch.optim.Optimizer) -> None:
    group = optimizer.param_groups[0]
    for one in group["params"]:
        one.grad = torch.zeros_like(one)
    rate, group["lr"] = group["lr"], 0.0
    optimizer.step()
    group["lr"] = rate


def _scale(optimizer: torch.optim.Optimizer, key: float) -> None:
    for weight, state in optimizer.state.items():
        for one in (weight.detach(), state["exp_avg"], state["exp_avg_sq"]):
            one.mul_(factors_of(one, key))


def _add_gradients(model: nn.Module, part: torch.Tensor, weight: float, narrow: bool) -> None:
    kind = torch.bfloat16 if narrow else torch.float32
    copies = {name: one.detach().to(kind).requires_grad_() for name, one in model.named_parameters()}
    out = torch.func.functional_call(model, copies, (part.to(kind),))
    (out.float() - part).square().mean().backward()
    for name, one in model.named_parameters():
        gradient = copies[name].grad
        assert gradient is not None
        added = weight * gradient.float()
        one.grad = added if one.grad is None else one.grad + added


def flat(weights: Mapping[str, Any], names: Sequence[str], what: str) -> NDArray[np.float64]:
    """All weights in one row.

    Raises:
        AssertionError: they have other names.
    """
    if sorted(weights) != sorted(names):
        raise AssertionError(
            f"{what}: the checkpoint has {sorted(map(str, weights))[:4]}…, expected {sorted(names)[:4]}…"
        )
    return np.concatenate([np.asarray(weights[name], np.float64).ravel() for name in names])


def same(
    weights: Mapping[str, Any],
    right: Mapping[str, Any],
    start: Mapping[str, Any],
    what: str,
    tolerance: float,
    mistakes: Sequence[tuple[Callable[[], Mapping[str, Any]], str]],
    otherwise: str = "",
) -> None:
    """Passes if two trainings ended in the same place, up to a share of the way that they went.

    Args:
        weights: the student's.
        right: the right ones.
        start: where both began.
        what: the run, in words.
        tolerance: that share.
        mistakes: functions that do a training with a known mistake.
        otherwise: what to say when none of them comes near.

    Raises:
        AssertionError: they did not; the nearest training with a known mistake is named.
    """
    names = list(right)
    mine, expected, begun = (flat(one, names, what) for one in (weights, right, start))
    way = float(np.linalg.norm(expected - begun))
    off = float(np.linalg.norm(mine - expected)) / way
    if off <= tolerance:
        return
    nearest, named = max(tolerance, off / 5), otherwise
    for train, note in mistakes:
        apart = float(np.linalg.norm(mine - flat(train(), names, what))) / way
        if apart < nearest:
            nearest, named = apart, note
    moved = float(np.linalg.norm(mine - begun)) / way
    if not moved > 1e-3:
        named = "They are the first weights: nothing was trained."
    elif moved <= tolerance:
        named = f"They moved {moved:.1%} of that distance: is the learning rate config['lr']?"
    text = f"{what}: the weights are off by {off:.2g} times the distance that they had to move."
    raise AssertionError(f"{text} {named}".strip())


def begun_alike(made: ShardedRun, start: Mapping[str, Any], what: str) -> None:
    """Passes unless rank 0 begins with the right first weights, and another rank does not.

    Args:
        made: what the ranks left.
        start: the right first weights.
        what: the run, in words.

    Raises:
        AssertionError: the ranks made different models.
    """
    right = flat(start, list(start), what)
    first, *others = (
        np.isin(held["before"][0], right).mean() if held.get("before") else 0.0 for held in made.watched[0]
    )
    for rank, share in enumerate(others, start=1):
        if first > 0.9 and share < 0.5:
            raise AssertionError(
                f"{what}: rank 0 begins with the weights of config['seed'], and rank {rank} does not. {OTHER_WEIGHTS}"
            )


def scaled_alike(made: ShardedRun, model: nn.Module, config: Mapping[str, Any], narrow: bool, what: str) -> None:
    """Passes unless the gradients of the first step are larger or smaller than the right ones.

    Adam's steps hide that: they stay the same when all gradients are multiplied by a number.

    Args:
        made: what the ranks left.
        model: before its first step; it gets the right gradients.
        config: of the run.
        narrow: whether the gradients are computed in bfloat16.
        what: the run, in words.

    Raises:
        AssertionError: they are; the message names the mistake that gives this number.
    """
    torch.manual_seed(config["seed"] + 1000)
    batch = torch.randn(config["batch"], config["width"])
    for rank in (0, 1):
        _add_gradients(model, batch[rank::2], 0.5, narrow)
    values = torch.cat([one.detach().flatten() for one in model.parameters()]).tolist()
    gradients = torch.cat([one.grad.flatten() for one in model.parameters() if one.grad is not None]).tolist()
    right = dict(zip(values, gradients, strict=True))
    for rank, held in enumerate(made.watched[0]):
        begun = (held.get("before") or [[]])[0]
        found = [
            (one, right[value]) for value, one in zip(begun, held.get("moments", ()), strict=False) if value in right
        ]
        moment, expected = np.linalg.norm(np.array(found, np.float64).reshape(-1, 2), axis=0)
        times = 10 * float(moment / expected) if expected else 1.0  # Adam's first m is a tenth of the gradient
        if not 1 / SCALED < times < SCALED:
            text = f"{what}, rank {rank}: the gradients of its first step are {times:.3g} times as large as expected."
            raise AssertionError(f"{text} {_scale_note(times, config)}".strip())


def _scale_note(times: float, config: Mapping[str, Any]) -> str:
    """What a factor of the gradients says."""
    of_part, of_batch = config["batch"] * config["width"] / 2, config["batch"] * config["width"]
    hidden = "Adam's steps hide the factor."
    summed = f"The loss is the mean over the rank's rows, not their sum: {hidden}"
    by_row = f"The loss is the mean over all numbers of the rank's rows: {hidden}"
    notes = [
        (of_part, summed),
        (of_batch, summed),
        (config["width"], by_row),
        (config["batch"] / 2, by_row),
        (2.0, f"Average the gradients over the ranks, do not add them up: {hidden}"),
        (0.5, f"Gradients are averaged over the ranks already: do not divide once more. {hidden}"),
    ]
    found = (note for factor, note in notes if 0.9 < times / factor < 1.1)
    return next(found, "Adam makes the same steps with them, but other optimizers would not.")


def stepped_here(
    held: Mapping[str, Any], begun: Sequence[float], path: Sequence[Mapping[str, Any]], first: int, what: str
) -> None:
    """Passes if the watched optimizer itself moved the model's weights along the right path.

    Args:
        held: what the agent noted of a rank.
        begun: the same sample of weights before the first step of all.
        path: the right weights before the first step of all, and after each one.
        first: steps that had been made before those of `held`.
        what: the rank, in words.

    Raises:
        AssertionError: its parameters are others, or something else moved them.
    """
    flats = [flat(one, list(path[0]), what) for one in path]
    values, places, counts = np.unique(flats[0], return_index=True, return_counts=True)
    # By their first values, since a rank may hold any part of the weights, in any order.
    found = {value: place for value, place, count in zip(values, places, counts, strict=True) if count == 1}
    mine = [number for number, value in enumerate(begun) if value in found]
    if len(mine) < 0.9 * len(begun) or not mine:
        raise AssertionError(f"{what}: the weights that its optimizer has are not those of the model. {DECOY}")
    place = [found[begun[number]] for number in mine]
    before, after = (np.array(held[name], np.float64)[:, mine] for name in ("before", "after"))
    if not np.array_equal(before[1:], after[:-1]):
        raise AssertionError(
            f"{what}: between two steps, something else than its optimizer changed its weights. {DECOY}"
        )
    for step, (old, new) in enumerate(zip(before, after, strict=True), start=first):
        for where, values in ((step, old), (step + 1, new)):
            way = np.linalg.norm((flats[where] - flats[0])[place])
            if not np.linalg.norm(values - flats[where][place]) <= FOLLOWED * way:
                raise AssertionError(f"{what}: step {step + 1} of its optimizer did not train these weights. {DECOY}")


def judge_sharded(made: ShardedRun, config: Mapping[str, Any], what: str, factors: Sequence[float] = ()) -> None:
    """Passes if two ranks of `FSDP_SCRIPT` trained the model together, each on its rows, and held no more than a share.

    Args:
        made: what the ranks left.
        config: of the run.
        what: the run, in words.
        factors: by step, what the gradients were multiplied by on their way into the reduce-scatter.

    Raises:
        AssertionError: they did not.
    """
    total = sum(one.numel() for one in sharded_model(config).parameters())
    for rank, held in enumerate(made.watched[0]):
        told = f"{what}, rank {rank}"
        if not held.get("trained"):
            raise AssertionError(f"{told}: no optimizer of torch.optim made a step.")
        if held["trained"] > 0.55 * total or held["states"] > 1.1 * total:
            raise AssertionError(f"{told}: nothing is sharded: the whole model is on each rank.")
        if held["built"] > total / 2:
            raise AssertionError(f"{told}: the whole model was built before it was sharded.")
        if held["rows"] > config["batch"] / 2:
            raise AssertionError(f"{told}: it trained on {held['rows']} rows: rank r takes batch[r::world_size].")
        for name, wanted, words in TYPES:
            if held[name] != wanted:
                raise AssertionError(f"{told}: {words} {held[name] or 'nothing'}, expected {wanted} everywhere.")
        if held["gathered"] > total / 2:
            raise AssertionError(f"{told}: everything is gathered at once: call fully_shard on each block.")
    if all(bool((value.bfloat16() == value).all()) for value in made.weights.values()):
        raise AssertionError(
            f"{what}: the weights in WEIGHTS were rounded to bfloat16. Save the float32 master weights."
        )

    def mistaken(each: bool = True, later: int = 0, **changed: Any) -> Callable[[], Mapping[str, Any]]:
        shown = {**config, "seed": config["seed"] + later}
        return lambda: trained(sharded_model(config, each=each), shown, narrow=True, **changed)

    start = sharded_model(config).state_dict()
    path: list[dict[str, Any]] = []
    right = trained(sharded_model(config), config, narrow=True, path=path, factors=factors)
    begun_alike(made, start, what)
    same(made.weights, right, start, what, NEAR, [
        (mistaken(), UNHEARD),
        (mistaken(ranks=[0]), "Only rank 0's rows had an effect: rank r takes batch[r::world_size]."),
        (mistaken(ranks=[1]), "Only rank 1's rows had an effect: rank r takes batch[r::world_size]."),
        (mistaken(data_from=1), "Every step saw the same batch."),
        (mistaken(adding=True), "Gradients of several steps add up: optimizer.zero_grad() comes before each."),
        (mistaken(apart=1), OTHER_BATCH),
        (lambda: trained(_by_rank(config), config, narrow=True), OTHER_WEIGHTS),
        (lambda: trained(_by_rank(config), config, narrow=True, apart=1), OTHER_WEIGHTS),
        *((mistaken(later=later), BATCH_SEED) for later in (-1000, 1)),
        (mistaken(short=True), "Each rank drew its rows alone: draw the whole batch, take batch[r::world_size]."),
        (mistaken(each=False), "The initial weights differ: torch.manual_seed comes right before each block."),
    ])  # fmt: skip
    for rank, held in enumerate(made.watched[0]):
        stepped_here(held, held["before"][0], path, 0, f"{what}, rank {rank}")
        for step, rates in enumerate(held.get("rates", ()), start=1):
            if other := [rate for rate in rates if not np.isclose(rate, config["lr"], rtol=1e-6)]:
                raise AssertionError(
                    f"{what}, rank {rank}: the learning rate at step {step} is {other[0]:g}, expected config['lr'],"
                    f" {config['lr']:g}, in each step."
                )
    scaled_alike(made, sharded_model(config), config, True, what)
