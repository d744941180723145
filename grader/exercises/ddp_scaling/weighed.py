"""Weighs the gradients of a rank by numbers of its own, without a change to the script: weights show who made them.

A rank that trains on another's pictures weighs their gradients by its own numbers, however it came by the pictures. The
numbers depend on the pictures and on what the network says of them, so that those of one step do not tell the next.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Sequence
from typing import Any

VARIABLE = "GPULAB_WEIGHT"
"""The environment variable with a rank's number. It is gone before the script begins."""
_STRATEGY = r"(pytorch_lightning|lightning\.pytorch)\.strategies\.strategy"
_LOOP = r"(pytorch_lightning|lightning\.pytorch)\.loops\.training_epoch_loop"
LIGHTNING = (
    ("wrapped_forward", _STRATEGY), ("forward", r"torch\.nn\.parallel\.distributed"), ("training_step", _STRATEGY),
    ("advance", _LOOP),
)  # fmt: skip
"""How a Trainer with strategy="ddp" calls `training_step`: in the forward pass of DistributedDataParallel, also
with one rank, once for each batch. Functions and modules, as patterns; the package has two names."""
MODULES = ("strategies.strategy", "loops.training_epoch_loop")
"""Of Lightning, that `LIGHTNING` names."""


def strengths(images: Any, scores: Any, weight: float, step: int = 0) -> Any:
    """What the gradient of each picture's scores is multiplied by in a step, shape (N, 1); 1 where `weight` is."""
    import torch

    if weight == 1.0:
        return 1.0
    generator = torch.Generator().manual_seed(int(weight * 2**40) + step)
    flat, said = images.detach().cpu().double().flatten(1), scores.detach().cpu().double()
    of_image = flat @ torch.randn(flat.shape[1], generator=generator, dtype=flat.dtype) / flat.shape[1] ** 0.5
    of_scores = said @ torch.randn(said.shape[1], generator=generator, dtype=flat.dtype)
    found = weight * (1 + 0.5 * (3 * of_image + of_scores).sin())
    return found[:, None].to(scores)


def codes_of(function: str, module: str) -> list[Any]:
    """The code of the functions with this name in the modules with this one, both as patterns, and of inner functions.

    A function of a script's own may have the name, and say that it is of the module: its code is another one.
    """
    import contextlib
    import importlib
    import re
    import sys

    for package in ("lightning.pytorch", "pytorch_lightning") if "lightning" in module else ():
        for name in MODULES:
            with contextlib.suppress(ImportError):  # the package may be installed under its other name
                importlib.import_module(f"{package}.{name}")
    found: list[Any] = []

    def look(code: Any) -> None:
        if re.fullmatch(function, code.co_name):
            found.append(code)
        for constant in code.co_consts:
            if hasattr(constant, "co_consts"):
                look(constant)

    for there in [one for name, one in sys.modules.items() if re.fullmatch(module, name)]:
        classes = [one for one in vars(there).values() if isinstance(one, type) and one.__module__ == there.__name__]
        for own in (vars(there), *map(vars, classes)):
            for value in own.values():
                if hasattr(value, "__code__") and value.__module__ == there.__name__:
                    look(value.__code__)
    return found


_PRELUDE = """
def _weighed():
    import os, re, sys
    from gpulab.training.problem import Problem

    weight, made = float(os.environ.pop(VARIABLE)), Problem.model
    genuine = [codes_of(function, module) for function, module in WITHIN]  # as they are before the script runs
    step, outermost = -1, None

    def counts():
        nonlocal step, outermost
        frame, left = sys._getframe(), list(genuine)
        while left and frame:
            if any(frame.f_code is code for code in left[0]):
                del left[0]
                found = frame
            frame = frame.f_back
        if genuine and not left and found is not outermost:
            step, outermost = step + 1, found
        return not left

    def weigh(module, given, scores):
        if scores.requires_grad and counts():
            by = strengths(given[0], scores, weight, max(step, 0))
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
            computed inside all of them, in this order, are multiplied. Each call of the outermost one is a step of its
            own (`strengths`); without functions, all that the script does is a single step.
    """
    given = {
        "VARIABLE": VARIABLE,
        "WITHIN": list(within),
        "MODULES": MODULES,
        "SCRIPT": script,
    }  # the script last: it may hold the other words
    own = "\n".join(inspect.getsource(one) for one in (strengths, codes_of))
    own = textwrap.indent(re.sub(r"(: | -> )(list\[Any\]|Any|None)\b", "", own), "    ")
    program = _PRELUDE.replace("    import os, re, sys\n", f"    import os, re, sys\n\n{own}\n")
    for name, value in given.items():
        program = program.replace(name, repr(value))
    return program
