"""What tests ask of the launches that `trace.counting()` found: one kernel that does it all, and writes every element.

The messages are for students. What the kernel has to read and write is the test's own business.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from gpulab.check.outcomes import WrongAnswer

UNWRITTEN = {"float32": 0x7FC0DEAD, "float16": 0x7EAD, "bfloat16": 0x7FDE}
"""The NaN that `torch.empty` holds while launches are counted, by its bits: arithmetic gives other ones."""


def one_kernel(launches: Sequence[dict[str, Any]], what: str) -> dict[str, Any]:
    """The launch of the one Triton kernel that did all the work.

    Args:
        launches: as `trace.counting()` gives them.
        what: what was called, put so that it can stand before a colon.

    Raises:
        WrongAnswer: there was none, there were several, PyTorch launched kernels of its own before or after it, or the
            host computed values.
    """
    own = [launch for launch in launches if launch.get("kind") == "triton"]
    eager = [launch["kernel"] for launch in launches if launch.get("kind") == "torch"]
    if not own:
        raise WrongAnswer(f"{what}: no Triton kernel was launched. The result must be computed by a kernel of yours.")
    if eager:
        named = ", ".join(f"{count} × {name}" if count > 1 else name for name, count in Counter(eager).items())
        cure = "Do that inside your kernel (reserve results with torch.empty, which launches nothing)."
        raise WrongAnswer(
            f"{what}: besides your kernel, PyTorch launched {len(eager)} of its own: {named}. Each of them is "
            f"a pass over memory. {cure}"
        )
    if len(own) > 1:
        raise WrongAnswer(
            f"{what}: {len(own)} kernels were launched. Separate kernels write what lies between them to memory and "
            "read it back: fuse them into one kernel."
        )
    if foreign := [launch["reason"] for launch in launches if launch.get("kind") == "host"]:
        raise WrongAnswer(f"{what}: {foreign[0]}")
    return own[0]


def all_written(answer: Any, what: str) -> None:
    """Passes if a result that was made with `torch.empty` has been written everywhere.

    Args:
        answer: what the exercise returned; anything but a tensor passes.
        what: what was called.

    Raises:
        WrongAnswer: some elements still hold what `torch.empty` left there.
    """
    import torch

    if not isinstance(answer, torch.Tensor) or not answer.is_floating_point():
        return
    bits = UNWRITTEN.get(str(answer.dtype).removeprefix("torch."))
    if bits is None:
        return
    whole = answer.detach().cpu().contiguous().view(torch.int32 if answer.element_size() == 4 else torch.int16)
    places = (whole.reshape(-1) == bits).nonzero().reshape(-1).tolist()
    if places:
        raise WrongAnswer(
            f"{what}: {len(places):,} of {answer.numel():,} elements were never written; the first is element "
            f"{places[0]:,}. No program stores them: are there enough programs, is the block large enough, are the "
            "grid's axes in the right order, and do the addresses differ from program to program?"
        )
