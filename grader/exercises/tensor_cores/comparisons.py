"""What the tensor-core chapter's layers are timed against on a GPU; see `gpulab.measuring.speedup`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from gpulab.measuring.devices import NeedsPart
from gpulab.measuring.speedup import Comparison, Speed

NONE_AT, ALL_AT = 1.03, 1.15
"""Times the plain product's speed: no points up to the first, all of them from the second on."""
GAINS_AT = 1.1
"""Gain of the chapter's own answer up to which a GPU cannot tell padding from noise."""
SHARE = 0.95
"""Of the own answer's gain, where it is small: an answer as fast as that has all points."""


def padded(x: Any, weight: Any) -> Any:
    """The chapter's own `padded_linear`: x (tokens × features), weight (outputs × features)."""
    outputs = weight.shape[0]
    whole = torch.nn.functional.pad(weight, (0, 0, 0, -outputs % 64))
    return (x @ whole.T)[..., :outputs]


PADDED = Comparison(
    name=f"{__name__}:PADDED",
    workload="gpulab.chapters.tensor_cores.workloads:LAYER",
    reference=torch.nn.functional.linear,
)
"""`padded_linear` against the product as it is; sizes `tokens`, `features`, `outputs`."""
OWN_PADDED = Comparison(
    name=f"{__name__}:OWN_PADDED",
    workload="gpulab.chapters.tensor_cores.workloads:LAYER",
    reference=padded,
)
"""`padded_linear` against the chapter's own answer; the same sizes."""


def padding_points(most: float, speed: Speed, against_own: Callable[[], Speed], what: str) -> float:
    """Points for padding, in proportion to what it can gain on this GPU.

    Rows of 16 bytes are no law: on an RTX 4090 a product of n = 2056 ran slower than one of n = 2055
    (pytorch/pytorch issue 181718). So the chapter's own answer is timed too where an answer would lose points.

    Args:
        most: points for a gain of `ALL_AT`, or for nearly all that the own answer gains, whichever is less.
        speed: the answer against the plain product.
        against_own: times the answer against the chapter's own; called only where points would be lost.
        what: what was timed, for the sentence about lost points.

    Raises:
        AssertionError: no points.
        NeedsPart: the own answer gains too little on this GPU.
        Noisy: a spread is too large to tell.
    """
    if speed.points(most, none_at=NONE_AT, all_at=ALL_AT) == most:
        return most
    own = against_own()
    gain = speed.median / own.median  # of the own answer over the plain product: the answer's time cancels
    if gain <= GAINS_AT:
        raise NeedsPart(
            f"This GPU does not gain from padding: the course's own answer is {gain:.3g} times as fast as the plain"
            f" product ({speed.device}), and more than {GAINS_AT} is needed to tell it from noise. The points are"
            " pending, not lost. This says nothing about your answer."
        )
    return speed.told_points(
        most,
        none_at=NONE_AT,
        all_at=min(ALL_AT, SHARE * gain),
        what=what,
        than="the plain product",
        hint="Is the weight padded at all, or is the whole result copied once more?",
    )
