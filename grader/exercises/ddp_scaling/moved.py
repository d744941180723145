"""Puts the network of a script that was written for the CPU on the GPU, without a change to the script."""

from __future__ import annotations

import os

_PRELUDE = """
def _moved():
    import torch
    from gpulab.training.problem import Problem

    torch.backends.cudnn.allow_tf32 = False  # the weights are compared with those of the CPU
    made = Problem.model

    def model(self):
        network = made(self).to(DEVICE)
        network.register_forward_pre_hook(lambda module, given: tuple(one.to(DEVICE) for one in given))
        network.register_forward_hook(lambda module, given, scores: scores.cpu())
        return network

    Problem.model = model


_moved()
del _moved
exec(compile(SCRIPT, "the script", "exec"))
"""


def onto(device: str, script: str) -> str:
    """The script, with every `Problem.model()` on a device; pictures, labels, and the loss stay on the CPU.

    Gradients and weights are on the device then, and so is what ranks send to each other.

    Args:
        device: `"cuda"`, or `"cpu"`, which changes nothing but the road that tensors take.
        script: the text of a program.
    """
    return _PRELUDE.replace("DEVICE", repr(device)).replace("SCRIPT", repr(script))


def shared() -> dict[str, str]:
    """What a rank's environment needs, so that several ranks see one GPU."""
    return {"CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES") or "0"}
