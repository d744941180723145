"""Where the memory of real training steps goes on the GPU, for `step_memory` to be compared with."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

from gpulab import check

WIDTH = 128
INSIDES = [256, 512, 512, 256, 1536, 256]
"""Of the six blocks. The largest is not the last."""
BATCH = 16384
"""Activations are then a hundred times the weights, whose 16-bit copies autocast keeps among them."""
CASES = [
    ("float32", "adam", False),
    ("autocast", "momentum", False),
    ("bfloat16", "adam", True),
    ("float32", "sgd", True),
]
PARTS = ("weights", "gradients", "optimizer", "activations")
EXACT = 0.03
"""For weights, gradients and optimizer states: the allocator rounds up to 512 bytes, and nothing else is there."""
ROUGH = 0.12
"""For activations: while a block is computed again, there are also its output, the gradient of that, and the gradients
of the weights behind it."""


def taken() -> list[dict[str, Any]]:
    """Bytes by part of a step of each case, on the GPU."""
    return [measured(*case, torch.cuda.memory_allocated) for case in CASES]


def measured(
    precision: str,
    optimizer: str,
    checkpointed: bool,
    allocated: Callable[[], int],
    device: str = "cuda",
    batch: int = BATCH,
) -> dict[str, Any]:
    """Bytes by part of the first training step of a network, as the allocator counts them, and what was trained.

    Args:
        precision: of `step_memory`.
        optimizer: of `step_memory`.
        checkpointed: whether each block is.
        allocated: bytes in use on the device.
        device: where.
        batch: samples.
    """
    for _ in range(2):  # the first step also allocates the libraries' own memory, which stays
        parts, parameters = _step(precision, optimizer, checkpointed, allocated, device, batch)
    case = {"precision": precision, "optimizer": optimizer, "checkpointed": checkpointed}
    return {**case, "parameters": parameters, "batch": batch, "parts": parts}


def _step(
    precision: str, optimizer: str, checkpointed: bool, allocated: Callable[[], int], device: str, batch: int
) -> tuple[dict[str, int], int]:
    gc.collect()
    base = allocated()
    kind = _narrow(device) if precision == "bfloat16" else torch.float32
    blocks = [
        nn.Sequential(nn.Linear(WIDTH, inside), nn.ReLU(), nn.Linear(inside, WIDTH)).to(device, kind)
        for inside in INSIDES
    ]
    weights = [one for block in blocks for one in block.parameters()]
    parts, again = {"weights": allocated() - base}, [0]
    x = torch.randn(batch, WIDTH, device=device).to(kind)
    start = allocated()
    own = 0 if precision == "autocast" else x.nbytes  # autocast keeps a 16-bit copy, made in the forward pass
    handles = [block[2].register_forward_hook(lambda *_: again.append(allocated() - start)) for block in blocks]
    out = x
    with _autocast(device) if precision == "autocast" else nullcontext(), set_checkpoint_early_stop(False):
        for block in blocks:
            out = _checkpointed(block, out) if checkpointed else block(out)
    kept = allocated() - start - out.nbytes + own
    again.clear()
    loss = out.float().square().mean()
    del out
    with set_checkpoint_early_stop(False):
        loss.backward()  # type: ignore[no-untyped-call]
    for handle in handles:
        handle.remove()
    del loss
    parts["activations"] = max(again) + own if checkpointed else kept
    parts["gradients"] = allocated() - start
    before = allocated()
    held = _stepped(weights, optimizer, master=precision == "bfloat16")
    parts["optimizer"] = allocated() - before
    del held
    return parts, sum(one.numel() for one in weights)


def _narrow(device: str) -> torch.dtype:
    """bfloat16, or the other type of 16 bits where the GPU has no products of bfloat16."""
    here = device == "cpu" or torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.bfloat16 if here else torch.float16


def _autocast(device: str) -> AbstractContextManager[Any]:
    return torch.autocast(device, dtype=_narrow(device))


def _checkpointed(block: nn.Module, x: Tensor) -> Tensor:
    out: Tensor = checkpoint(block, x, use_reentrant=False)
    return out


def _stepped(weights: list[nn.Parameter], optimizer: str, master: bool) -> list[Any]:
    """What an optimizer holds after its first step; the master weights too, if there are any."""
    trained = [one.detach().float().clone() for one in weights] if master else weights
    for mine, one in zip(trained, weights, strict=True):
        mine.grad = one.grad.float() if master and one.grad is not None else one.grad
    if optimizer == "adam":
        made: torch.optim.Optimizer = torch.optim.Adam(trained, lr=1e-3)
    else:
        made = torch.optim.SGD(trained, lr=1e-3, momentum=0.9 if optimizer == "momentum" else 0.0)
    made.step()
    if master:
        for mine, one in zip(trained, weights, strict=True):
            one.data.copy_(mine)
            mine.grad = None
    return [trained, made]


def check_step_memory(step_memory: Any, readings: Any) -> None:
    """Each part of each case must be what the allocator counted."""
    blocks = [(WIDTH, inside) for inside in INSIDES]
    for one in readings:
        precision, optimizer, checkpointed = one["precision"], one["optimizer"], one["checkpointed"]
        what = f"{one['parameters']:,} parameters, batch {one['batch']:,}, {precision}, {optimizer}, {checkpointed=}"
        answer = step_memory(one["parameters"], one["batch"], list(blocks), precision, optimizer, checkpointed)
        keys = sorted(answer) if isinstance(answer, dict) else answer
        check.equal(keys, sorted(PARTS), f"step_memory: keys for {what}")
        for part in PARTS:
            told = f"step_memory: {part} that this GPU allocated for {what}"
            close = ROUGH if part == "activations" else EXACT
            check.close(answer[part], one["parts"][part], told, rtol=close, atol=4096)
