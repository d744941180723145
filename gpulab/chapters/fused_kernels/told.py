"""What the numbers of a wrong answer say about the step that went wrong, where no known mistake gives them.

Each function gives pairs for `check.close(..., mistakes=…)`: the answer itself, and what is true of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Notes = list[tuple[Any, str]]
NEAR = 1e-7
"""Relative distance below which numbers of type float64 count as the same."""


def of_softmax(answer: Any, blocks: Sequence[NDArray[np.float64]]) -> Notes:
    """Of the weights and the log-sum-exp of a row: which of the two is wrong, and what the running sum was.

    Args:
        answer: what `online_softmax` returned.
        blocks: of the row.
    """
    row = np.concatenate(blocks)
    try:
        weights, lse = np.asarray(answer[0], np.float64), float(answer[1])
    except (TypeError, ValueError, IndexError, KeyError):
        return []
    if weights.shape != row.shape or not (np.isfinite(weights).all() and np.isfinite(lse)):
        return []
    top = float(row.max())
    total = float(np.exp(row - top).sum())
    right, log = np.exp(row - top) / total, float(np.log(total))
    weights_right, lse_right = np.allclose(weights, right, 1e-6, 1e-12), np.isclose(lse, top + log, NEAR, 1e-9)
    if weights_right and lse_right:
        return []
    if weights_right:
        parts = f"the maximum plus the natural logarithm of the sum, here {top:.4g} + {log:.4g}"
        return [(answer, f"The weights are right. The log-sum-exp is {parts}.")]
    if lse_right:
        if np.allclose(np.sort(weights), np.sort(right), NEAR, 1e-12):
            return [(answer, "Those are the right weights in another order: blocks and elements keep their order.")]
        made = "The log-sum-exp is right. The weight of x is exp(x − log-sum-exp), which is exp(x − maximum) / sum."
        return [(answer, made)]
    biggest = int(right.argmax())
    factor = float(weights[biggest] / right[biggest])
    if factor <= 0 or not np.allclose(weights, factor * right, NEAR, 1e-12):
        return []
    if not np.isclose(lse, top + np.log(total / factor), NEAR, 1e-9):
        return []
    each, so_far = [], -np.inf
    for number, block in enumerate(blocks, start=1):
        so_far = max(so_far, float(block.max()))
        each.append(f"{np.exp(np.concatenate(blocks[:number]) - so_far).sum():.4g}")
    ends = f"With the maximum of the row, {top:.4g}, your sum is {total / factor:.4g}, and should be {total:.4g}."
    listed = f"After each block, with the maximum so far, it should be {', '.join(each)}." if len(each) < 7 else ""
    return [(answer, f"{ends} {listed}".strip())]
