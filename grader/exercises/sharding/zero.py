"""`zero1_step`: a drawn state, the step in one process, and what ranks must have said to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab import check
from gpulab.ranks.messages import addend

SPARE = 100
"""Numbers that a rank may scatter or gather besides what it has to, such as lengths."""
ENOUGH = "reduce-scatter and all-gather are enough."
UNHEARD = (
    "The result does not depend on what the ranks receive: a number was added to the gradients on their way into the "
    "reduce-scatter, and their mean stayed the same."
)
UNGATHERED = (
    "The new weights do not depend on what the ranks receive: a number was added to each share on its way into the "
    "all-gather, and the weights stayed the same."
)


@dataclass(frozen=True)
class ZeroCase:
    """The arguments of one call."""

    gradients: list[dict[str, Any]]
    state: dict[str, Any]
    lr: float


def drawn(seed: int, world_size: int = 3, padded: bool = True) -> ZeroCase:
    """So many ranks, and shapes whose total is no multiple of them; or, unless `padded`, is one.

    The states that a rank must not be given take more bytes than it may be given besides arrays.
    One parameter was never moved, and its gradients are as small as ε, so that where ε stands shows in its weight.
    """
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(50, 60))
    shapes = {"b": (int(draw.integers(2, 5)),), "a": (rows, int(draw.integers(60, 70))), "c": (2, 2, 2)}
    total = sum(int(np.prod(shape)) for shape in shapes.values())
    if (total % world_size == 0) == padded:
        shapes["d"] = (1,) if padded else (-total % world_size,)
        total += shapes["d"][0]
    share = -(-total // world_size)

    def arrays(scale: float) -> dict[str, NDArray[np.float32]]:
        return {name: (scale * draw.normal(size=shape)).astype(np.float32) for name, shape in shapes.items()}

    m, v = draw.normal(size=(2, share * world_size)).astype(np.float32)
    m, v = 0.3 * m, v**2 + np.float32(0.05)
    m[total:], v[total:] = 0, 0
    state: dict[str, Any] = {
        "step": int(draw.integers(2, 6)),
        "weights": arrays(1.0),
        "m": list(m.reshape(world_size, share)),
        "v": list(v.reshape(world_size, share)),
    }
    gradients = [arrays(1.0) for _ in range(world_size)]
    place = int(draw.integers(shapes["b"][0]))  # "b" is the first, so this is the place in the flat vector too
    state["m"][0][place] = state["v"][0][place] = 0
    for one in gradients:
        one["b"][place] = draw.uniform(0.5, 2) * 1e-8
    gradients[-1] = dict(reversed(gradients[-1].items()))
    return ZeroCase(gradients, state, float(draw.uniform(0.01, 0.3)))


def lengths(case: ZeroCase) -> str:
    """How many numbers there are, and how many with the padding."""
    total, p = sum(array.size for array in case.state["weights"].values()), len(case.gradients)
    if total % p == 0:
        return f"There are {total} numbers here, a multiple of {p} ranks: such a length is not padded at all."
    return f"There are {total} numbers for {p} ranks here: {-total % p} of padding makes the length a multiple of {p}."


def _flat(arrays: dict[str, Any], length: int) -> NDArray[np.float64]:
    row = np.concatenate([np.asarray(array, np.float64).ravel() for array in arrays.values()])
    return np.pad(row, (0, length - len(row)))


def _stepped(
    case: ZeroCase, gradient: NDArray[np.float64], t: int, inside: float = 0.0, outside: float = 1e-8
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Weights, m and v after the step, with an ε inside and one outside of the square root."""
    length = sum(len(one) for one in case.state["m"])
    m = 0.9 * np.concatenate(case.state["m"]).astype(np.float64) + 0.1 * gradient
    v = 0.999 * np.concatenate(case.state["v"]).astype(np.float64) + 0.001 * gradient**2
    with np.errstate(invalid="ignore"):  # without an ε, the padding is 0 / 0
        update = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t) + inside) + outside)
    return _flat(case.state["weights"], length) - case.lr * update, m, v


def judge(answer: Any, sent: Sequence[dict[str, Any]], case: ZeroCase, perturb: float = 0.0) -> None:
    """Passes if the answer is the state after one step, and ranks scattered and gathered.

    Args:
        answer: the student's.
        sent: by rank.
        case: the arguments of the call.
        perturb: as `launch.listening` was given it.

    Raises:
        AssertionError: it is not; the message names a known mistake.
    """
    p = len(case.gradients)
    shapes = {name: array.shape for name, array in case.state["weights"].items()}
    what = f"zero1_step of {p} ranks, {shapes}"
    length = sum(len(one) for one in case.state["m"])
    share, total, t = length // p, sum(int(np.prod(shape)) for shape in shapes.values()), case.state["step"] + 1
    flats = np.array([_flat({name: one[name] for name in shapes}, length) for one in case.gradients])
    unheard = flats.mean(axis=0)
    mean = unheard + _added(sent, flats[:, :total], perturb)
    weights, m, v = _stepped(case, mean, t)
    here = weights
    if perturb and sent and "unseen_seconds" not in sent[0]:
        weights = here + np.repeat([addend(perturb, rank) for rank in range(p)], share)
    keys = sorted(answer) if isinstance(answer, dict) else answer
    check.equal(keys, ["m", "step", "v", "weights"], f"keys of {what}")
    check.equal(answer["step"], t, f"step of {what}", mistakes={t - 1: "The step is counted: step + 1."})
    whole = "The whole state is on every rank: each holds its share only."
    for name, right in (("m", m), ("v", v)):
        lengths = [np.asarray(one).size for one in answer[name]]
        check.equal(lengths, [share] * p, f"lengths of {name} by rank, {what}", mistakes=[
            ([total] * p, whole), ([length] * p, whole),
        ])  # fmt: skip
        scaled = {
            "sum": flats.sum(axis=0),
            "order": np.array([_flat(one, length) for one in case.gradients]).mean(axis=0),
            "halved": flats.sum(axis=0) / 2,
            "own": np.concatenate([flats[r][r * share : (r + 1) * share] for r in range(p)]),
        }
        summed, mixed, halved, own = (_stepped(case, one, t)["mv".index(name) + 1] for one in scaled.values())
        known = [
            (summed, "Summed, not averaged: divide by the number of ranks."),
            (mixed, "Lay the gradients out in the order of state['weights']: a rank's dict may have another order."),
            (halved, "Divide by the number of ranks, which is not always 2."),
            (own, "That comes from the rank's own gradients alone."),
        ]
        if perturb:
            known.insert(0, (_stepped(case, unheard, t)["mv".index(name) + 1], UNHEARD))
        found = np.concatenate([np.ravel(one) for one in answer[name]])
        check.close(found, right.astype(np.float32), f"{name} of {what}", rtol=1e-4, atol=1e-6, mistakes=[
            (one.astype(np.float32), note) for one, note in known
        ])  # fmt: skip
    check.equal(sorted(answer["weights"]), sorted(shapes), f"names of weights of {what}")
    slips = [
        (here, UNGATHERED),
        (_stepped(case, mean, t - 1)[0], "The bias correction uses t = step + 1."),
        (_stepped(case, mean, t, outside=0)[0], "ε is missing: it is added to the square root."),
        (
            _stepped(case, mean, t, inside=1e-8, outside=0)[0],
            "Your ε is under the square root: add it after taking the square root.",
        ),
    ]
    at = 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        place = slice(at, at + size)
        known_here = [(one[place].reshape(shape).astype(np.float32), note) for one, note in slips]
        right = weights[place].reshape(shape).astype(np.float32)
        check.close(
            answer["weights"][name], right, f"weights {name!r} of {what}", rtol=1e-4, atol=1e-5, mistakes=known_here
        )
        at += size
    _heard(sent, what, p, 2 * length + 3 * share)
    for rank, one in enumerate(sent):
        if (put := one["numbers"]["gathered"]) > share + SPARE:
            raise AssertionError(
                f"{what}: rank {rank} put {put} numbers into all-gathers, expected {share}: the new weights of its "
                "share. Whatever is gathered is whole on every rank."
            )
        if (put := one["numbers"]["scattered"]) > length + SPARE:
            raise AssertionError(
                f"{what}: rank {rank} put {put} numbers into reduce-scatters, expected {length}: its gradients, once."
            )
    _same_numbers(sent, flats[:, :total], here[:total], _flat(case.state["weights"], length)[:total], what)


def _added(sent: Sequence[dict[str, Any]], gradients: NDArray[np.float64], perturb: float) -> float:
    """What `launch.listening` has added to the mean of all gradients; they may be divided before they are sent."""
    if not perturb or not sent or "unseen_seconds" in sent[0]:
        return 0.0
    p = len(gradients)
    divided = any(_begins(np.array(row), gradients[0] / p) for row in sent[0]["scattered"])
    return sum(addend(perturb, rank) for rank in range(p)) / (1 if divided else p)


def _heard(sent: Sequence[dict[str, Any]], what: str, ranks: int, most: int) -> None:
    if any("unseen_seconds" in one for one in sent):
        return  # ranks of another make: nobody has listened to them
    used = [set(one["collectives"]) for one in sent]
    if not used or not any(used):
        raise AssertionError(f"{what}: there was no collective: the ranks sent each other nothing.")
    if len(sent) != ranks:
        raise AssertionError(
            f"{what}: {len(sent)} ranks were started, expected {ranks}. Each rank does the whole step, Adam included: "
            "start them once."
        )
    for rank, one in enumerate(used):
        if "allreduce" in one:
            raise AssertionError(f"{what}: an all-reduce gives every rank the whole sum: use reduce-scatter.")
        if not (any("reduce_scatter" in name for name in one) and any("gather" in name for name in one)):
            raise AssertionError(f"{what}: rank {rank} used {sorted(one)}: use reduce-scatter and all-gather.")
        if others := sorted(name for name in one if "reduce_scatter" not in name and "gather" not in name):
            raise AssertionError(f"{what}: rank {rank} used {others}: {ENOUGH}")
        if count := sent[rank]["messages"]:
            many = "s" if count > 1 else ""
            raise AssertionError(f"{what}: rank {rank} sent {count} message{many} to single ranks: {ENOUGH}")
    for rank, numbers in enumerate(one["given"] for one in sent):
        if numbers > most:  # a share more than it needs: of the weights, which it may have twice
            raise AssertionError(
                f"{what}: rank {rank} was given {numbers} numbers, expected at most {most}: its own gradients, its "
                "shares of m and v, and all weights. Variables that its function captures count as well."
            )


def _same_numbers(
    sent: Sequence[dict[str, Any]],
    gradients: NDArray[np.float64],
    weights: NDArray[np.float64],
    before: NDArray[np.float64],
    what: str,
) -> None:
    """Passes if the ranks scattered their gradients, and gathered the new weights or what was added to the old ones.

    Args:
        sent: by rank.
        gradients: (ranks, weights), of each rank.
        weights: after the step, flat.
        before: before it.
        what: the call, in words.

    Raises:
        AssertionError: they sent something else.
    """
    if any("unseen_seconds" in one for one in sent):
        return
    p = len(gradients)
    share = -(-len(weights) // p)
    scattered, gathered = ([np.array(row) for one in sent for row in one[name]] for name in ("scattered", "gathered"))
    for rank, own in enumerate(gradients):
        if not any(_begins(row, own * factor) for row in scattered for factor in (1.0, 1 / p)):
            raise AssertionError(
                f"{what}: no rank put the gradients of rank {rank} into a reduce-scatter. Each rank gets its own "
                "gradients as one flat vector, and nothing of the others'."
            )
        part = slice(rank * share, (rank + 1) * share)
        if not any(_begins(row, one[part]) for row in gathered for one in (weights, weights - before)):
            raise AssertionError(
                f"{what}: no rank put the new weights of share {rank} into an all-gather. Each rank computes the new "
                "weights of its share, and receives the others."
            )


def _begins(row: NDArray[Any], wanted: NDArray[np.float64]) -> bool:
    """Whether a row begins with these numbers; what follows is padding."""
    return len(row) >= len(wanted) and bool(np.allclose(row[: len(wanted)], wanted, rtol=1e-3, atol=1e-4))
