"""Weighs the gradients of a rank by numbers of its own, without a change to the script: weights show who made them.

A rank that trains on another's pictures weighs their gradients by its own numbers, however it came by the pictures. The
numbers depend on the pictures and on what the network says of them, so that those of one step do not tell the next.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence
from typing import Any

VARIABLE = "GPULAB_WEIGHT"
"""The environment variable with a rank's number. It is gone before the script begins."""
_STRATEGY = r"(pytorch_lightning|lightning\.pytorch)\.strategies\.strategy"
LIGHTNING = ((".*", _STRATEGY), ("forward", r"torch\.nn\.parallel\.distributed"), ("training_step", _STRATEGY))
"""How a Trainer with strategy="ddp" calls `training_step`: in the forward pass of DistributedDataParallel, also
with one rank. Functions and modules, as patterns; the package has two names."""


def strengths(images: Any, scores: Any, weight: float) -> Any:
    """What the gradient of each picture's scores is multiplied by, shape (N, 1); 1 where `weight` is."""
    import torch

    if weight == 1.0:
        return 1.0
    generator = torch.Generator().manual_seed(int(weight * 2**40))
    flat, said = images.detach().cpu().double().flatten(1), scores.detach().cpu().double()
    of_image = flat @ torch.randn(flat.shape[1], generator=generator, dtype=flat.dtype) / flat.shape[1] ** 0.5
    of_scores = said @ torch.randn(said.shape[1], generator=generator, dtype=flat.dtype)
    found = weight * (1 + 0.5 * (3 * of_image + of_scores).sin())
    return found[:, None].to(scores)


_PRELUDE = """
def _weighed():
    import os, re, sys
    from gpulab.training.problem import Problem

    weight, made = float(os.environ.pop(VARIABLE)), Problem.model

    def counts():
        frame, left = sys._getframe(), list(WITHIN)
        while left and frame:
            function, module = left[0]
            name = frame.f_globals.get("__name__", "")
            if re.fullmatch(function, frame.f_code.co_name) and re.fullmatch(module, name):
                del left[0]
            frame = frame.f_back
        return not left

    def weigh(module, given, scores):
        if scores.requires_grad and counts():
            by = strengths(given[0], scores, weight)
            scores.register_hook(lambda gradient: gradient * by)

    def model(self):
        network = made(self)
        network.register_forward_hook(weigh)
        return network

    Problem.model = model


_weighed()
del _weighed
exec(compile(SCRIPT, "the script", "exec"))
"""


def by_rank(script: str, within: Sequence[tuple[str, str]] = ()) -> str:
    """The script, with the gradients of every `Problem.model()` multiplied by what `VARIABLE` says.

    Args:
        script: the text of a program.
        within: functions and their modules, as patterns, the innermost first; only gradients of scores that are
            computed inside all of them, in this order, are multiplied.
    """
    given = {
        "VARIABLE": VARIABLE,
        "WITHIN": list(within),
        "SCRIPT": script,
    }  # the script last: it may hold the other words
    own = textwrap.indent(inspect.getsource(strengths).replace(": Any", "").replace(" -> Any", ""), "    ")
    program = _PRELUDE.replace("    import os, re, sys\n", f"    import os, re, sys\n\n{own}\n")
    for name, value in given.items():
        program = program.replace(name, repr(value))
    return program
