"""Known wrong results of exercises whose formula is the exercise: visible tests hold numbers only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatVector = NDArray[np.float64]


def bytes_of_chain(inputs: Sequence[int], elements: int, item_bytes: int, fused: bool) -> tuple[int, list[Any]]:
    """Bytes that a chain of element-wise operations moves, and known wrong numbers with what is wrong.

    Args:
        inputs: tensors from outside the chain, for each operation.
        elements: of each tensor.
        item_bytes: of an element.
        fused: one kernel, or one for each operation.
    """
    outside, count, total = sum(inputs), len(inputs), elements * item_bytes
    right = outside + 1 + (0 if fused else 2 * (count - 1))
    once = "An intermediate result crosses memory twice: written, then read."
    kept = "A fused kernel keeps intermediate results in registers: they move no bytes."
    lost = "The final result is written to memory, too."
    rows = [(right - 1, lost)]
    if fused:
        rows += [(outside + 2 * count - 1, kept), (outside + count, kept)]
    else:
        rows += [(outside + 1, once), (outside + count, once), (outside + count - 1, once)]
    return right * total, [(wrong * total, note) for wrong, note in rows] + [(right * elements, "Those are elements.")]


def launch_times(kernels: Sequence[float], launch_us: float) -> tuple[dict[str, float], list[Any]]:
    """Times of a sequence of kernels, eager and as a graph, and known wrong ones with what is wrong.

    Args:
        kernels: µs each.
        launch_us: CPU time of a launch.
    """
    count, total, eager, early = len(kernels), sum(kernels), 0.0, 0.0
    for number, kernel in enumerate(kernels):
        early = max(early, number * launch_us) + kernel
        eager = max(eager, (number + 1) * launch_us) + kernel
    graph = launch_us + total
    overlap = "Launches overlap with kernels: the CPU does not wait for the GPU. "
    overlap += "While a long kernel runs, it prepares the launches after it."
    order = "The order matters: a kernel cannot start before its own launch is ready."
    wrong = [
        (count * launch_us + total, graph, overlap),
        (sum(max(kernel, launch_us) for kernel in kernels), graph, overlap),
        (launch_us + sum(max(kernel, launch_us) for kernel in kernels), graph, overlap),
        (max(count * launch_us, total), graph, order),
        (graph, graph, "The GPU also waits for launches: that is the graph's time."),
        (count * launch_us + kernels[-1], graph, "Long kernels hold up those after them."),
        (early, graph, "The first kernel starts when its launch is ready, not at time 0."),
        (eager, total, "The graph itself is launched, too: once."),
        (eager, count * launch_us + total, "A graph has one launch for all its kernels."),
    ]
    known = [(answer(one, two), note) for one, two, note in wrong]
    known.append((answer(eager, graph) | {"speedup": graph / eager}, "The speedup is eager ÷ graph."))
    return answer(eager, graph), known


def answer(eager_us: float, graph_us: float) -> dict[str, float]:
    """What `launch_bound` returns for these two times."""
    return {"eager_us": eager_us, "graph_us": graph_us, "speedup": eager_us / graph_us}


def softmax_of_blocks(blocks: Sequence[FloatVector]) -> tuple[tuple[FloatVector, float], list[Any]]:
    """Softmax and log-sum-exp of a row in blocks, and known wrong ones with what is wrong."""
    row, unscaled, parts, top = np.concatenate(blocks), 0.0, [], -np.inf
    for block in blocks:
        top = max(top, block.max())
        parts.append(np.exp(block - top))
        unscaled += parts[-1].sum()
    weights, early = np.exp(row - top), np.concatenate(parts)
    total = weights.sum()
    lse, lost = top + np.log(total), top + np.log(unscaled)
    alone = [np.exp(block - block.max()) for block in blocks]
    own, single = np.concatenate([part / part.sum() for part in alone]), np.concatenate(alone)
    plus = "The log-sum-exp is the maximum plus the logarithm of the sum."
    known = [
        (weights / unscaled, lost, "The old sum must be rescaled."),
        (early / total, lse, "Weights of earlier blocks belong to an earlier maximum: they must be rescaled."),
        (early / unscaled, lost, "Sum and weights must be rescaled."),
        (own, lse, "Each block has a sum of 1 of its own: the whole row must have the sum 1."),
        (weights / total, np.log(total), plus),
        (weights / total, total, plus),
        (weights / total, top, plus),
        (weights, lse, "The weights are not divided by the sum."),
        (single / total, lse, "The weights of each block belong to its own maximum: subtract that of the row."),
    ]
    note = "The exponentials are not stabilized, or not by the largest element of all blocks."
    known.append((np.full(len(row), np.nan), np.nan, note))
    with np.errstate(all="ignore"):
        for by in (0.0, blocks[0].max(), max(top, 0.0), blocks[-1].max(), row.min()):
            part = np.exp(row - by)
            known.append((part / part.sum(), by + np.log(part.sum()), note))
    return (weights / total, float(lse)), [((wrong, float(number)), note) for wrong, number, note in known]
