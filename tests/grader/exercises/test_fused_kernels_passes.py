"""A running sum is told from two passes by its last bits, whatever the rows that are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gpulab.check.outcomes import WrongAnswer
from grader.exercises.fused_kernels.passes import in_two_passes, require_one_pass, rising_rows
from grader.exercises.fused_kernels.slips import FloatVector

Answer = tuple[None, float]
SEEDS = range(20)


def running(blocks: Sequence[FloatVector], number: Callable[[float], Any] = float) -> Answer:
    top, total = -math.inf, number(0.0)
    for block in blocks:
        larger = max(top, block.max())
        total = total * np.exp(number(top) - number(larger))
        total += np.exp(block.astype(type(total)) - number(larger)).sum()
        top = larger
    return None, float(top + np.log(total))


def by_logaddexp(blocks: Sequence[FloatVector]) -> Answer:
    return None, float(np.logaddexp.reduce(np.concatenate(blocks)))


def maximum_first(blocks: Sequence[FloatVector]) -> Answer:
    top = max(block.max() for block in blocks)
    return None, float(np.log(sum(math.exp(value - top) for block in blocks for value in block.tolist())) + top)


@pytest.mark.parametrize(
    "right", [running, lambda blocks: running(blocks, np.longdouble), by_logaddexp], ids=["float64", "longer", "merged"]
)
def test_a_running_sum_passes(right: Any) -> None:
    for seed in SEEDS:
        require_one_pass(right, np.random.default_rng(seed))


def by_scipy(blocks: Sequence[FloatVector]) -> Answer:
    logsumexp = pytest.importorskip("scipy.special").logsumexp
    return None, float(logsumexp(np.concatenate(blocks)))


@pytest.mark.parametrize("wrong", [maximum_first, by_scipy])
def test_the_maximum_of_all_blocks_first_is_refused(wrong: Any) -> None:
    for seed in SEEDS:
        with pytest.raises(WrongAnswer, match="right, but in two passes"):
            require_one_pass(wrong, np.random.default_rng(seed))


def test_rows_tell_the_two_apart() -> None:
    """In each row by its own, a running sum has the bits of two passes with a probability of about a half."""
    rows = [row for seed in SEEDS for row in rising_rows(np.random.default_rng(seed))]
    mine = [running(row)[1] for row in rows]
    for other in in_two_passes(rows):
        assert sum(one == two for one, two in zip(mine, other, strict=True)) < 0.6 * len(rows)
