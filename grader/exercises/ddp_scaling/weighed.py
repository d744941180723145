"""Weighs the gradients of a rank by a number of its own, without a change to the script: weights show who made them.

A rank that trains on another's pictures weighs their gradients by its own number, however it came by the pictures.
"""

from __future__ import annotations

VARIABLE = "GPULAB_WEIGHT"
"""The environment variable with a rank's number. It is gone before the script begins."""
LIGHTNING = r"(pytorch_lightning|lightning\.pytorch)\.strategies\.strategy"
"""The module, as a pattern, in which a Trainer calls `training_step`, under both names of the package."""
_PRELUDE = """
def _weighed():
    import os, re, sys
    from gpulab.training.problem import Problem

    weight, made = float(os.environ.pop(VARIABLE)), Problem.model

    def counts():
        frame = sys._getframe()
        while WITHIN and frame:
            if frame.f_code.co_name == "training_step" and re.fullmatch(WITHIN, frame.f_globals.get("__name__", "")):
                return True
            frame = frame.f_back
        return not WITHIN

    def weigh(module, given, scores):
        if scores.requires_grad and counts():
            scores.register_hook(lambda gradient: gradient * weight)

    def model(self):
        network = made(self)
        network.register_forward_hook(weigh)
        return network

    Problem.model = model


_weighed()
del _weighed
exec(compile(SCRIPT, "the script", "exec"))
"""


def by_rank(script: str, within: str = "") -> str:
    """The script, with the gradients of every `Problem.model()` multiplied by what `VARIABLE` says.

    Args:
        script: the text of a program.
        within: a module, as a pattern; only gradients of losses from a `training_step` that it calls are multiplied.
    """
    given = {"VARIABLE": VARIABLE, "WITHIN": within, "SCRIPT": script}  # the script last: it may hold the other words
    program = _PRELUDE
    for name, value in given.items():
        program = program.replace(name, repr(value))
    return program
