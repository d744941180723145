"""Whether `online_softmax` keeps a running sum, or finds the maximum of all blocks first: the last bits tell.

A sum that is rescaled whenever the maximum grows is rounded otherwise than one that never is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from gpulab.check.outcomes import WrongAnswer
from grader.exercises.fused_kernels.slips import FloatVector

ROWS = 40
"""A running sum has the last bits of two passes in about half of them."""
BLOCKS = 60
"""Of a row."""
Blocks = Sequence[FloatVector]
SUMS: list[Callable[[Blocks, Any, float], float]] = [
    lambda blocks, exp, top: float(np.sum(exp(np.concatenate(blocks) - top))),
    lambda blocks, exp, top: float(sum(np.sum(exp(block - top)) for block in blocks)),
    lambda blocks, exp, top: added(exp(np.concatenate(blocks) - top)),
    lambda blocks, exp, top: float(sum(exp(np.concatenate(blocks) - top).tolist())),
    lambda blocks, exp, top: math.fsum(exp(np.concatenate(blocks) - top)),
]
"""Of a row's exponentials, when the maximum is known: as one vector, block by block, element by element, exactly."""
EXPONENTIALS: list[Callable[[FloatVector], FloatVector]] = [np.exp, np.vectorize(math.exp)]
LOGARITHMS: list[Callable[[float], Any]] = [np.log, math.log]


def added(numbers: FloatVector) -> float:
    """Their sum, one after another; Python's own `sum` may compensate roundings."""
    total = 0.0
    for number in numbers.tolist():
        total += number
    return total


def rising_rows(draw: np.random.Generator) -> list[list[FloatVector]]:
    """Rows in blocks, whose maximum grows with every block and ends at 0.

    It grows slowly, so that the roundings of a running sum add up. Then it jumps, so that the whole sum is below 2, and
    its logarithm, which is the log-sum-exp, has as many digits as the sum.
    """
    rows = []
    for _ in range(ROWS):
        tops = np.cumsum(draw.uniform(0.005, 0.05, BLOCKS))
        blocks = [np.append(top - draw.uniform(0.0, 2.0, draw.integers(0, 3)), top) for top in tops]
        jump = np.log(np.exp(np.concatenate(blocks)).sum() / draw.uniform(0.4, 0.8))
        rows.append([*(block - jump for block in blocks), np.array([0.0])])
    return rows


def in_two_passes(rows: Sequence[Blocks]) -> list[list[float]]:
    """The log-sum-exp of each row, for each way to compute it from the maximum of all blocks."""
    tops = [max(block.max() for block in row) for row in rows]
    found = [
        [float(top + log(add(row, exp, top))) for row, top in zip(rows, tops, strict=True)]
        for add, exp, log in itertools.product(SUMS, EXPONENTIALS, LOGARITHMS)
    ]
    # SciPy leaves out the maximum itself, whose exponential is 1.
    below = [[np.where(block == top, -np.inf, block) for block in row] for row, top in zip(rows, tops, strict=True)]
    found += [
        [float(np.log1p(add(row, exp, top)) + top) for row, top in zip(below, tops, strict=True)]
        for add, exp in itertools.product(SUMS, EXPONENTIALS)
    ]
    whole = [torch.tensor(np.concatenate(row), device="cpu") for row in rows]
    return [*found, [float(row.logsumexp(0)) for row in whole]]


def require_one_pass(online_softmax: Any, draw: np.random.Generator) -> None:
    """Passes unless the log-sum-exps have the bits of two passes, in every row.

    Raises:
        WrongAnswer: they have.
    """
    rows = rising_rows(draw)
    found = [float(online_softmax([block.copy() for block in row])[1]) for row in rows]
    if found in in_two_passes(rows):
        raise WrongAnswer(
            "online_softmax: right, but in two passes: it adds up exponentials after it has found the maximum of all"
            " blocks. Keep a running maximum and a running sum, which is rescaled when the maximum grows."
        )
