"""Which change of the profiling chapter's loop gives the losses that a program returned.

Each known change is made in the text of `profiling.slow_loop`, the loop as it is handed out.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch

from gpulab.chapters.profiling import slow_loop

WRAPPED = "128 was subtracted from bytes: a uint8 has no values below 0, so they wrap around. Convert to float first."
PLANES = "view and reshape do not move an axis: they read the bytes of three colors as a plane. Use permute."
TURNED = "Height and width are swapped: the axes become (picture, color, height, width)."
OTHERWISE = "The pictures are normalized in another way: subtract 128, then divide by 64."
ADDED = "The gradients are not set to zero: each step adds to those of the steps before it."

NORMALIZED = "(one.double() - 128) / 64"
STACKED = "torch.stack(pieces).permute(0, 3, 1, 2).contiguous()"
OTHER_NORMALIZATIONS = (
    "one.double()",
    "one.double() - 128",
    "one.double() / 64",
    "one.double() / 255",
    "one.double() / 256",
    "(one.double() - 128) / 128",
    "(one.double() - 64) / 128",
    "one.double() / 64 - 128",
    "one.double() / 127.5 - 1",
)
CHANGES = (
    (NORMALIZED, "(one - 128).double() / 64", WRAPPED),
    (STACKED, "torch.stack(pieces).view(-1, 3, 16, 16)", PLANES),
    (STACKED, "torch.stack(pieces).permute(0, 3, 2, 1).contiguous()", TURNED),
    *((NORMALIZED, other, OTHERWISE) for other in OTHER_NORMALIZATIONS),
    ("model.zero_grad()", "pass", ADDED),
)
"""What stands in the loop, what stands there instead, and what to say."""


SEEDED = (
    "The seed is set after the model is made: torch.manual_seed(0) comes first, so that the first weights are the same."
)


def seeded_late(losses: Sequence[float], files: Sequence[bytes], labels: torch.Tensor, rtol: float) -> str:
    """What to say if a second call of the loop gives these losses when it sets the seed after it has made the model.

    Args:
        losses: of a second call.
        files: the compressed pictures.
        labels: their labels.
        rtol: how far losses may be off.
    """
    source, seed, made = inspect.getsource(slow_loop), "    torch.manual_seed(0)\n", "    optimizer = "
    names: dict[str, Any] = {"__name__": f"{slow_loop.__name__}, changed"}
    late = source.replace(seed, "").replace(made, f"{seed}{made}")
    exec(compile(late, slow_loop.__file__, "exec"), names)
    with torch.random.fork_rng(devices=[]):
        names["train"](files, labels)
        changed = names["train"](files, labels)
    near = all(abs(one - other) <= rtol * abs(other) for one, other in zip(losses, changed, strict=False))
    return SEEDED if near and len(losses) == len(changed) else ""


def known(losses: Sequence[float], files: Sequence[bytes], labels: torch.Tensor, rtol: float) -> str:
    """What to say about the change that gives these losses; empty if none of the known ones does.

    Args:
        losses: of every step of two epochs.
        files: the compressed pictures.
        labels: their labels.
        rtol: how far losses may be off.
    """
    source = inspect.getsource(slow_loop)
    for old, new, note in CHANGES:
        names: dict[str, Any] = {"__name__": f"{slow_loop.__name__}, changed"}
        exec(compile(source.replace(old, new), slow_loop.__file__, "exec"), names)
        changed = names["train"](files, labels)
        if len(changed) == len(losses) and all(
            abs(one - other) <= rtol * abs(other) for one, other in zip(losses, changed, strict=True)
        ):
            return note
    return ""
