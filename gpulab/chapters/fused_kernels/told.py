"""What the numbers of a wrong answer say about the step that went wrong, where no known mistake gives them.

Each function gives pairs for `check.close(..., mistakes=…)`: the answer itself, and what is true of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Notes = list[tuple[Any, str]]
NEAR = 1e-7
"""Relative distance below which numbers of type float64 count as the same."""
WEIGHTED = 0.01
"""Relative distance of a mean or a root that rounding does not explain."""


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


def of_layer_norm(answer: Any, x: Any, weight: Any, bias: Any, eps: float) -> Notes:
    """Of a wrong layer norm of float32 rows: what was subtracted and divided by, or which factor a column got.

    Args:
        answer: what `triton_layer_norm` returned.
        x: its rows.
        weight: one number per column.
        bias: likewise.
        eps: added to the variance.
    """
    import torch

    if not isinstance(answer, torch.Tensor) or answer.shape != x.shape or x.dtype != torch.float32:
        return []
    y, rows, w, b = (one.detach().double().cpu().numpy() for one in (answer, x, weight, bias))
    if rows.shape[1] < 8 or not np.isfinite(y).all():
        return []
    mean, root = rows.mean(1, keepdims=True), np.sqrt(rows.var(1, keepdims=True) + eps)
    centered = rows - mean
    heavy = abs(w) > 0.1 * abs(w).max()
    bare = (y - b)[:, heavy] / w[heavy]
    offset = bare.mean(1, keepdims=True)
    taken = centered[:, heavy] - centered[:, heavy].mean(1, keepdims=True)
    slope = (taken * (bare - offset)).sum(1, keepdims=True) / np.maximum((taken**2).sum(1, keepdims=True), 1e-30)
    if (abs(slope) > 1e-9).all() and _near(bare, slope * taken + offset):
        by = 1 / slope
        less = mean - offset * by + centered[:, heavy].mean(1, keepdims=True)
        off = np.maximum(abs(less - mean) / root, abs(by / root - 1)).reshape(-1)
        row = int(off.argmax())
        if off[row] < WEIGHTED:
            return []
        got = f"Without weight and bias, row {row} is (x − {less[row, 0]:.4g}) / {by[row, 0]:.4g}"
        wanted = f"its mean is {mean[row, 0]:.4g}, and the root of variance + eps {root[row, 0]:.4g}"
        return [(answer, f"{got}: {wanted}.")]
    normal = centered / root
    factor = ((y - b) * normal).sum(0) / np.maximum((normal**2).sum(0), 1e-30)
    if len(rows) > 1 and _near(y - b, factor * normal):
        column = int((abs(factor - w) * abs(normal).max(0)).argmax())
        if abs(factor[column] - w[column]) < WEIGHTED * abs(w[column]):
            return []
        wrong = f"column {column} is multiplied by {factor[column]:.4g}, but its weight is {w[column]:.4g}"
        return [(answer, f"The rows are normalized correctly. After that, {wrong}.")]
    return []


def _near(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return bool(abs(one - other).max() <= 2e-3 * abs(other).max() + 1e-6)


def of_attention(function: Any, size: int = 64) -> str:
    """Which weights a causal attention gives to the keys, read off values that are the identity: a sentence, or "".

    Args:
        function: takes q, k and v of one head.
        size: queries, keys, and elements of each.
    """
    import torch

    x = torch.sin(0.37 * torch.arange(float(2 * size * size)) ** 1.01).reshape(2, 1, size, size)
    q, k = x[0] + 0.3, (x[1] + 0.3) * torch.linspace(0.3, 1.5, size)[:, None]
    try:
        answer = function(q, k, torch.eye(size)[None])
    except Exception:  # of the student's kernel, perhaps in another process
        return ""
    scores = (q @ k.transpose(1, 2) / size**0.5).masked_fill(torch.ones(size, size).triu(1).bool(), -torch.inf)
    right = torch.softmax(scores, 2)[0].double().cpu().numpy()
    if not isinstance(answer, torch.Tensor) or answer.shape != (1, size, size):
        return ""
    return weights_of(answer[0].detach().double().cpu().numpy(), right)


def weights_of(mine: NDArray[np.float64], right: NDArray[np.float64]) -> str:
    """What is wrong with the weights that each query, a row, gives to each key."""
    if not np.isfinite(mine).all() or np.allclose(mine, right, 1e-2, 1e-4):
        return ""
    read = "Seen with values that are an identity matrix:"
    query, key = np.argwhere(~np.isclose(mine, right, 1e-2, 1e-4))[0]
    above = np.argwhere(abs(np.triu(mine, 1)) > 1e-4)
    if len(above):
        query, key = above[0]
        may = f"it may see keys 0 to {query}" if query else "it may see key 0 only"
        return f"{read} query {query} gives key {key} the weight {mine[query, key]:.2g}, but {may}."
    last = len(mine) - 1
    blind = np.flatnonzero((abs(mine[last]) < 1e-7) & (right[last] > 1e-5))
    if blind.size and blind[-1] - blind[0] + 1 == blind.size:
        keys = f"the keys {blind[0]} to {blind[-1]}" if blind.size > 1 else f"key {blind[0]}"
        return f"{read} query {last}, the last one, gives {keys} no weight."
    total = mine[last].sum()
    ratio = mine[last] / right[last]
    cuts = [0, *(np.flatnonzero(abs(np.diff(ratio)) > 1e-2 * abs(ratio).max()) + 1), len(ratio)]
    parts = list(itertools.pairwise(cuts))
    if 1 < len(parts) < 5:
        times = [f"{ratio[first:end].mean():.3g} for keys {first} to {end - 1}" for first, end in parts]
        return f"{read} the weights of query {last} are the right ones times {', '.join(times)}."
    if abs(total - 1) > 1e-2:
        return f"{read} the weights of query {last} add up to {total:.3g}, not to 1."
    should = f"it should be {right[query, key]:.3g}"
    return f"{read} query {query} gives key {key} the weight {mine[query, key]:.3g}, but {should}."
