"""DDP and scaling: whether two sets of weights are those of the same training, up to the order of sums.

Only compares. What the weights should have been is computed by the tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab.training.problem import Problem, weights_of

EXACT = 1e-3
"""Distance, as a share of the way that the weights went, that sums in another order leave: 1e-6 is usual."""
NEAR = 0.02
"""Distance up to which a training with a known mistake is taken for the student's."""


def flat(weights: Mapping[str, Any], problem: Problem, what: str) -> NDArray[np.float64]:
    """All weights in one row, in the network's order; a prefix that all names share is ignored.

    Raises:
        AssertionError: they are not this network's.
    """
    first = weights_of(problem.model())
    prefixes = {name[: -len(last)] for last in [next(iter(first))] for name in weights if name.endswith(last)}
    for prefix in prefixes:
        if {prefix + name for name in first} == set(weights):
            shapes = {name: tuple(weights[prefix + name].shape) for name in first}
            if shapes == {name: array.shape for name, array in first.items()}:
                arrays = [np.asarray(weights[prefix + name], dtype=np.float64) for name in first]
                return np.concatenate([array.ravel() for array in arrays])
    raise AssertionError(
        f"{what}: the checkpoint has {sorted(map(str, weights))[:3]}…, expected the network's {sorted(first)[:3]}…"
    )


def same_weights(
    weights: Mapping[str, Any],
    expected: Mapping[str, Any],
    problem: Problem,
    what: str,
    mistakes: Sequence[tuple[Callable[[], Mapping[str, Any]], str]] = (),
    compared: str = "",
) -> None:
    """Passes if two trainings ended in the same place, up to the order of sums.

    Args:
        weights: the student's.
        expected: the right ones.
        problem: where both started.
        what: the run, in words.
        mistakes: functions that do a training with a known mistake; the one that comes out nearest is named.
        compared: what the right ones are, in words, for a training with an unknown mistake.

    Raises:
        AssertionError: they did not.
    """
    start = flat(weights_of(problem.model()), problem, what)
    mine, right = flat(weights, problem, what), flat(expected, problem, what)
    way = float(np.linalg.norm(right - start))
    off = float(np.linalg.norm(mine - right)) / way
    if off <= EXACT:
        return
    nearest, named = min(NEAR, off / 10), ""
    for train, note in mistakes:
        wrong = flat(train(), problem, what)
        if np.linalg.norm(wrong - right) / way > EXACT:
            apart = float(np.linalg.norm(mine - wrong)) / way
            if math.isfinite(apart) and apart < nearest:
                nearest, named = apart, note
        if nearest == 0.0:
            break  # the same bits: the other trainings can be no closer
    if float(np.linalg.norm(mine - start)) < EXACT * way:
        named = (
            "They are the first weights: nothing was trained, or the optimizer or the checkpoint is of another"
            " copy of the network. Were there gradients when the optimizer made its step, and were the weights taken"
            " after it?"
        )
    text = f"{what}: the weights are off by {off:.2g} times the distance that they had to move."
    raise AssertionError(f"{text} {named or compared}".strip())
