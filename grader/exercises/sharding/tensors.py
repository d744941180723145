"""`tensor_parallel_mlp`: drawn matrices, the product in one process, and what ranks must have said to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import gelu

from gpulab import check
from gpulab.ranks import packing
from gpulab.ranks.messages import FLOAT_BYTES, FREE_BYTES, addend

ALONE = "That is the summand of rank 0 alone: add up with an all-reduce, and wait() for it with async_op=True."
GATHERED = "Nothing has to be gathered: one all-reduce adds up the summands and gives everybody the sum."
NOT_IN_RANKS = (
    "the ranks did not compute the products and the GELU. Each number that a rank was given was multiplied by another "
    "one, and its summand stayed the same, or was multiplied, too. Give each rank x, its columns of w1, and its rows "
    "of w2."
)
ONLY_SUM = "Each rank computes with the weights that it is given, and the all-reduce is the only communication."
SHORT = "That is close, but as inexact as a 16-bit type: compute in float32, with torch.nn.functional.gelu as it is."
BARRIER = "A barrier is a collective call, too, and the all-reduce needs none."


@dataclass(frozen=True)
class ColumnSplitCase:
    """The arguments of one call, as tensors."""

    x: Tensor
    w1: Tensor
    w2: Tensor
    world_size: int

    def arguments(self) -> tuple[Any, ...]:
        """As arrays, for the student to change."""
        return (*(one.clone().numpy() for one in (self.x, self.w1, self.w2)), self.world_size)


def drawn(seed: int, world_size: int = 3, samples: int | None = None) -> ColumnSplitCase:
    """Three ranks; all dimensions differ. The number of samples is drawn, too, if it is not given.

    The weights that a rank must not be given take more bytes than it may be given besides arrays.
    """
    dice = torch.Generator().manual_seed(seed)
    several, features, outputs = (int(torch.randint(2, 6, (), generator=dice)) + extra for extra in (0, 23, 50))
    hidden = world_size * int(torch.randint(40, 44, (), generator=dice))
    x, w1, w2 = (
        torch.randn(rows, columns, generator=dice)
        for rows, columns in (
            (samples or several, features * world_size),
            (features * world_size, hidden),
            (hidden, outputs),
        )
    )
    return ColumnSplitCase(x, w1 / 8, w2, world_size)


def blocks(case: ColumnSplitCase) -> str:
    """What to say if the weights were cut into another number of blocks."""
    return f"There are {case.world_size} ranks here: world_size says how many blocks to cut w1 and w2 into."


def judge(
    answer: Any, sent: Sequence[dict[str, Any]], case: ColumnSplitCase, perturb: float = 0.0, scale: float = 1.0
) -> None:
    """Passes if the answer is the product, and the ranks made one kind of collective call.

    Args:
        answer: the student's.
        sent: by rank.
        case: the arguments of the call.
        perturb: as `launch.listening` was given it.
        scale: likewise.

    Raises:
        AssertionError: it is not; the message names a known mistake.
    """
    x, w1, w2, p = case.x, case.w1, case.w2, case.world_size
    what = f"tensor_parallel_mlp of {p} ranks, x {tuple(x.shape)}, w1 {tuple(w1.shape)}, w2 {tuple(w2.shape)}"
    if sent and "unseen_seconds" not in sent[0]:
        _only_collectives(sent, what)
    if perturb and sent and "unseen_seconds" not in sent[0]:
        check.equal(tuple(np.shape(answer)), (len(x), w2.shape[1]), f"shape of {what}")
        plain, added = gelu(x @ w1) @ w2, sum(addend(perturb, rank) for rank in range(p))
        _enough(sent, case, what)
        own_x, own_w1, own_w2 = (_multiplied(one, scale) for one in (x, w1, w2))
        accepted = [gelu(own_x @ own_w1) @ own_w2]
        if any(one["scaled"] < _fewest(case) for one in sent):  # weights as bytes, or as integers
            accepted += [plain, gelu(own_x @ w1) @ w2]
        elif scale != 1 and any(_near(answer, one + added) for one in _elsewhere(case, scale)):
            raise AssertionError(f"tensor_parallel_mlp: {NOT_IN_RANKS}")
        if not any(_near(answer, one + added) for one in accepted):
            raise AssertionError(
                "tensor_parallel_mlp: the result does not depend on what the ranks receive: a number was added to each "
                "summand on its way into the all-reduce, and each number that a rank was given was multiplied by "
                "another one, and their sum does not follow."
            )
        return
    right = gelu(x @ w1) @ w2
    columns, rows = w1.chunk(p, dim=1), w2.chunk(p, dim=0)
    partial = [gelu(part @ piece) for part, piece in zip(x.chunk(p, dim=1), w1.chunk(p, dim=0), strict=True)]
    mistakes = [
        (gelu(x @ columns[0]) @ rows[0], ALONE),
        (sum(partial[1:], partial[0]) @ w2, "w1 is cut by rows: GELU saw parts of a sum."),
        (right / p, "That is the mean of the summands: the result is their sum."),
        (x @ w1 @ w2, "GELU is missing."),
        (torch.relu(x @ w1) @ w2, "That is ReLU, not GELU."),
        (gelu(x @ w1, approximate="tanh") @ w2, "That is the approximation of GELU with tanh."),
        (gelu(x @ w1 @ w2), "GELU comes between the products, not after the sum."),
        (right * p, "Every rank computed everything, and the results were added up."),
    ]
    if isinstance(answer, np.ndarray) and answer.shape == right.shape and answer.dtype.kind == "f":
        off = float(abs(answer - right.numpy()).max() / abs(right).max())
        mistakes += [(torch.from_numpy(answer), SHORT)] if off < 0.02 else []
    check.close(
        answer, right.numpy(), what, rtol=1e-4, atol=1e-4, mistakes=[(one.numpy(), note) for one, note in mistakes]
    )
    if any("unseen_seconds" in one for one in sent):
        return  # ranks of another make: nobody has listened to them
    if not sent:
        raise AssertionError(f"{what}: there was no collective. Was it computed in one process?")
    check.equal(len(sent), p, f"ranks of {what}", mistakes=[(len(sent), blocks(case))])
    for rank, one in enumerate(sent):
        used = ", ".join(one["collectives"])
        note = GATHERED if "gather" in used else ""
        check.equal(used, "allreduce", f"collectives of rank {rank}, {what}", mistakes=[(used, note)])
        check.equal(len(one["summands"]), 1, f"all-reduces of rank {rank}, {what}")
        check.equal(one["barriers"], 0, f"barriers of rank {rank}, {what}", mistakes=[(one["barriers"], BARRIER)])
        most = x.numel() + (w1.numel() + w2.numel()) // p
        if one["given"] > most:
            raise AssertionError(
                f"{what}: rank {rank} was given {one['given']} numbers, expected at most {most}: x, its columns of w1, "
                "and its rows of w2."
            )
    _enough(sent, case, what)
    summands = [torch.tensor(one["summands"][0]) for one in sent]
    for rank, (mine, below) in enumerate(zip(columns, rows, strict=True)):
        share = (gelu(x @ mine) @ below).reshape(-1)
        block = f"columns {rank * mine.shape[1]} to {(rank + 1) * mine.shape[1] - 1} of w1 and the matching rows of w2"
        have = [_alike(one, share) for one in summands]
        every = (gelu(x @ w1[:, rank::p]) @ w2[rank::p]).reshape(-1)
        if not any(have) and _alike(summands[rank], every):
            raise AssertionError(
                f"{what}: rank {rank} added the part of columns {rank}, {rank + p}, {rank + 2 * p}, … of w1. Give each "
                "rank a block of consecutive columns, and the matching rows of w2."
            )
        if not any(have):
            raise AssertionError(
                f"{what}: no rank added the part of {block}. Each rank gets its share of the weights, and nothing else "
                "of them."
            )
        if not have[rank]:
            raise AssertionError(
                f"{what}: rank {have.index(True)} added the part of {block}. That is the block of rank {rank}: rank r "
                "has the r-th one."
            )


def _only_collectives(sent: Sequence[dict[str, Any]], what: str) -> None:
    """Passes if no rank sent a message to a single other one.

    Raises:
        AssertionError: one did.
    """
    for rank, one in enumerate(sent):
        if count := one["messages"]:
            raise AssertionError(
                f"{what}: rank {rank} sent {count} message{'s' if count > 1 else ''} to single ranks. {ONLY_SUM}"
            )


def _enough(sent: Sequence[dict[str, Any]], case: ColumnSplitCase, what: str) -> None:
    """Passes if each rank was given as many numbers as its share of the weights has.

    Raises:
        AssertionError: one was given fewer, so that it cannot have computed its summand.
    """
    for rank, one in enumerate(sent):
        if one["given"] < _fewest(case):
            raise AssertionError(
                f"{what}: rank {rank} was given {one['given']} numbers, fewer than its columns of w1 and its rows of "
                "w2 have. The ranks compute the products, not the process that starts them."
            )


def _fewest(case: ColumnSplitCase) -> int:
    """Numbers that a rank's share of the weights has, less those that may be in bytes that do not count."""
    return (case.w1.numel() + case.w2.numel()) // case.world_size - FREE_BYTES // FLOAT_BYTES


def _multiplied(numbers: Tensor, scale: float) -> Tensor:
    """What becomes of numbers that a rank is given under this scale."""
    return numbers if scale == 1 else torch.from_numpy(packing.multiplied(numbers.numpy(), scale))


def _elsewhere(case: ColumnSplitCase, scale: float) -> list[Tensor]:
    """The sums of all summands if one process has computed some of it, and hands what it has to the ranks."""
    x, w1, w2, p = case.x, case.w1, case.w2, case.world_size
    pairs = list(zip(w1.chunk(p, dim=1), w2.chunk(p, dim=0), strict=True))
    before, rows = x @ w1, _multiplied(w2, scale)
    return [
        gelu(before) @ w2,
        sum((_multiplied(gelu(x @ a) @ b, scale) for a, b in pairs), torch.zeros(())),
        gelu(_multiplied(before, scale)) @ rows,
        _multiplied(gelu(before), scale) @ rows,
    ]


def _near(answer: Any, right: Tensor) -> bool:
    return bool(np.allclose(np.asarray(answer, np.float64), right.numpy(), rtol=1e-4, atol=1e-4))


def _alike(one: Tensor, other: Tensor) -> bool:
    """Whether two summands are the same up to rounding."""
    return one.shape == other.shape and torch.allclose(one, other, rtol=1e-3, atol=1e-3)
