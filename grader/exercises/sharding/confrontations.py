"""How the exercises on sharding are checked on the GPU: allocator, Adam, products, schedules on streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from gpulab import check
from grader.exercises.confront import Confrontation
from grader.exercises.sharding import stepping, tensors, timelines, zero

ADAM = zero.drawn(15, world_size=2)
MLP = tensors.drawn(16, world_size=2)


def adam_step(device: str = "cuda") -> dict[str, Any]:
    """Weights, m and v after a step of `torch.optim.Adam` on the device, with the mean of all ranks' gradients."""
    found: dict[str, Any] = {"weights": {}, "m": [], "v": []}
    m, v = (torch.from_numpy(np.concatenate(ADAM.state[name])) for name in ("m", "v"))
    at = 0
    for name, array in ADAM.state["weights"].items():
        weight = torch.nn.Parameter(torch.tensor(array, device=device))
        weight.grad = torch.stack([torch.from_numpy(one[name]).to(device) for one in ADAM.gradients]).mean(0)
        optimizer = torch.optim.Adam([weight], lr=ADAM.lr)
        states = {
            key: one[at : at + array.size].view(array.shape).to(device, copy=True)
            for key, one in (("exp_avg", m), ("exp_avg_sq", v))
        }
        optimizer.state[weight] = {"step": torch.tensor(float(ADAM.state["step"])), **states}
        optimizer.step()
        found["weights"][name] = weight.tolist()
        found["m"] += optimizer.state[weight]["exp_avg"].flatten().tolist()
        found["v"] += optimizer.state[weight]["exp_avg_sq"].flatten().tolist()
        at += array.size
    return found


def check_zero1_step(zero1_step: Any, readings: Any) -> None:
    """Weights and states of the sharded step must be those of the GPU's Adam, a share of the states on each rank."""
    case, what = ADAM, "zero1_step of two ranks, next to torch.optim.Adam on this GPU"
    answer = zero1_step(case.gradients, case.state, case.lr)
    keys = sorted(answer) if isinstance(answer, dict) else answer
    check.equal(keys, ["m", "step", "v", "weights"], f"{what}: keys")
    check.equal(answer["step"], case.state["step"] + 1, f"{what}: step")
    for name in ("m", "v"):
        lengths = [np.asarray(share).size for share in answer[name]]
        check.equal(lengths, [len(share) for share in case.state[name]], f"{what}: lengths of {name} by rank")
        whole = np.concatenate([np.ravel(share) for share in answer[name]])[: len(readings[name])]
        check.close(whole, np.array(readings[name], np.float32), f"{what}: {name}", rtol=1e-4, atol=1e-6)
    check.equal(sorted(answer["weights"]), sorted(readings["weights"]), f"{what}: names of weights")
    for name, weight in readings["weights"].items():
        right = np.array(weight, np.float32)
        check.close(answer["weights"][name], right, f"{what}: weights {name!r}", rtol=1e-4, atol=1e-5)


def product(device: str = "cuda") -> list[list[float]]:
    """gelu(x @ w1) @ w2 in one piece on the device, in float64."""
    x, w1, w2 = (one.double().to(device) for one in (MLP.x, MLP.w1, MLP.w2))
    found: list[list[float]] = (torch.nn.functional.gelu(x @ w1) @ w2).tolist()
    return found


def check_tensor_parallel_mlp(tensor_parallel_mlp: Any, readings: Any) -> None:
    """The product of two ranks must be the GPU's."""
    what = "tensor_parallel_mlp of two ranks, next to the same product in one piece on this GPU"
    right = np.array(readings, np.float32)
    check.close(tensor_parallel_mlp(*MLP.arguments()), right, what, rtol=1e-4, atol=1e-4)


CONFRONTATIONS = [
    Confrontation(
        "step_memory",
        "All four parts are compared with what the GPU's allocator counts in real training steps: in float32, under"
        " autocast, and in 16 bits with master weights, with checkpoints and without.",
        stepping.taken, stepping.check_step_memory,
    ),
    Confrontation(
        "zero1_step",
        "Weights and states are compared with those of `torch.optim.Adam` on the GPU, given the mean of the gradients.",
        adam_step, check_zero1_step,
    ),
    Confrontation(
        "priority_makespan",
        "The makespans of three sets of layers are compared with those measured on this GPU, where copies to the "
        "host, in a stream of their own, stand for the network.",
        timelines.sent, timelines.check_priority_makespan,
    ),
    Confrontation(
        "tensor_parallel_mlp",
        "The product of two ranks is compared with the one that the GPU computes in one piece.",
        product, check_tensor_parallel_mlp,
    ),
    Confrontation(
        "pipeline_schedule",
        "Order, bubble, and stored micro-batches are compared with those of pipelines whose stages are streams of "
        "this GPU.",
        timelines.piped, timelines.check_pipeline_schedule,
    ),
]  # fmt: skip

ON_DEVICE: dict[str, tuple[str, str]] = {}
"""`checkpointed_forward` has a row of its own."""

GLOO = (
    "the page asks for ranks that communicate over gloo and keep their tensors on the CPU, so that two of them run on"
    " every machine."
)
NONE = {
    "FSDP_SCRIPT": GLOO,
    "RESTART_SCRIPT": GLOO,
    "plan_layout": "it chooses among layouts of clusters by the page's cost model; the GPUs of one machine leave it"
    " hardly any choice.",
}
