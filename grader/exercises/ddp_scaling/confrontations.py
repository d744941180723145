"""How the exercises on DDP and scaling are checked on the GPU: what ranks send, and how long they take.

`grader.exercises.confront` says how these are used; `ddp_scaling.device_ranks` runs the ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpulab import check
from gpulab.chapters.ddp_scaling.weights import same_weights
from gpulab.check.outcomes import WrongAnswer
from gpulab.training.problem import Problem
from grader.exercises.confront import Confrontation, Unusable
from grader.exercises.ddp_scaling import data_parallel, ghosts

ReadingValues = dict[str, Any]


def _take(part: str, backend: str = "") -> Callable[[], Any]:
    """Takes one part of what the ranks found: by gloo or NCCL, or whichever is the fastest here."""

    def take() -> Any:
        from grader.exercises.ddp_scaling import device_ranks

        found = device_ranks.measured(backend) if backend else device_ranks.fastest()
        return found[part]

    return take


# ------------------------------------------------------------------------------------------ ring_schedule and run_ring


def _sums(readings: ReadingValues) -> tuple[list[list[float]], list[float]]:
    vectors, sums = readings["vectors"], readings["sums"]
    if sums != [sum(column) for column in zip(*vectors, strict=True)]:
        raise Unusable("the ranks' all-reduce has not added up what they had")
    return vectors, sums


def _check_schedule(answer: Any, readings: ReadingValues) -> None:
    vectors, sums = _sums(readings)
    p = len(vectors)
    held = [list(np.array_split(np.array(vector), p)) for vector in vectors]
    plans = [check.as_python(answer(p, rank)) for rank in range(p)]
    for rank, plan in enumerate(plans):
        check.equal(len(plan), 2 * (p - 1), f"ring_schedule({p}, {rank}): steps")
        chunks = sorted({int(chunk) for pair in plan for chunk in pair})
        check.equal([chunk for chunk in chunks if not 0 <= chunk < p], [], f"ring_schedule({p}, {rank}): other chunks")
    for step in range(2 * (p - 1)):
        moving = [held[rank][plans[rank][step][0]] for rank in range(p)]
        for rank in range(p):
            into, arrived = plans[rank][step][1], moving[rank - 1]
            held[rank][into] = held[rank][into] + arrived if step < p - 1 else arrived
    for rank in range(p):
        what = f"ring_schedule, {p} ranks, applied to vectors that all_reduce summed on this GPU: what rank {rank} has"
        check.equal(np.concatenate(held[rank]).tolist(), sums, what)


def _check_ring(answer: Any, readings: ReadingValues) -> None:
    vectors, sums = _sums(readings)
    found = answer([np.array(vector, dtype=np.float32) for vector in vectors])
    check.equal(len(found), len(vectors), "run_ring, the vectors that all_reduce summed on this GPU: results")
    for rank, one in enumerate(found):
        what = f"run_ring, {len(vectors)} vectors that all_reduce summed on this GPU, rank {rank}"
        check.close(np.asarray(one).tolist(), sums, what, rtol=1e-6)


# ---------------------------------------------------------------------------------------------------------- wire_bytes

HEADERS = 0.05
"""What headers and acknowledgments add at most: 0.2% on loopback, whose packets have 64 kB, and 4% at 1,500 bytes."""


def _check_wire(answer: Any, readings: ReadingValues) -> None:
    p, nbytes = readings["world_size"], readings["nbytes"]
    for kind in ("ring", "parameter_server", "server"):
        seen = readings[kind]
        if not nbytes <= seen <= 2 * p * nbytes:
            raise Unusable(
                f"{seen} bytes crossed the network for vectors of {nbytes}: something else was sent, or nothing"
            )
        what = f"{kind!r}, {p} workers with gradients of {nbytes} bytes on this GPU: bytes that crossed the network"
        check.close(answer(kind, p, nbytes), seen, what, rtol=HEADERS)


# ----------------------------------------------------------------------------------- fit_alpha_beta, predict_efficiency

OFF = 3.0
"""How far the formula may be from a measured time: for NCCL, which changes its algorithm, 1.8 was published."""


def fitted(nbytes: Sequence[float], seconds: Sequence[float], world_size: int) -> tuple[float, float]:
    """α and β with the smallest relative errors.

    Raises:
        Unusable: one of them is not positive, or the formula does not describe these times.
    """
    steps, sizes, times = 2 * (world_size - 1), np.array(nbytes, float), np.array(seconds)
    slope, intercept = np.polyfit(sizes, times, 1, w=1 / times)
    alpha, beta = float(intercept / steps), float(slope * world_size / steps)
    if min(alpha, beta) <= 0:
        raise Unusable(f"all-reduces with alpha = {alpha:.3g}, beta = {beta:.3g}: larger ones took no longer")
    ratio = (steps * (alpha + beta * sizes / world_size)) / times
    if max(ratio.max(), 1 / ratio.min()) > OFF:
        raise Unusable(f"the formula is off by {max(ratio.max(), 1 / ratio.min()):.2g} times at some size")
    return alpha, beta


def _check_fit(answer: Any, readings: ReadingValues) -> None:
    p, sizes, times = readings["world_size"], readings["nbytes"], readings["seconds"]
    right = fitted(sizes, times, p)
    what = f"all-reduces of {p} ranks on this GPU, {sizes[0]} to {sizes[-1]} bytes, {times[0]:.3g} to {times[-1]:.3g} s"
    found = answer(list(sizes), list(times), p)
    check.close(found.tolist() if hasattr(found, "tolist") else found, right, what, rtol=1e-4)


NEAR = 0.25
"""How far a predicted efficiency may be from the measured one; known mistakes are off by 40% and more."""
STEADY = 0.2
"""How far an all-reduce may be from what it took a moment before."""


def _take_efficiency() -> ReadingValues:
    from grader.exercises.ddp_scaling import device_ranks

    found = device_ranks.fastest()
    return {"times": found["times"], "steps": found["steps"]}


def _check_efficiency(answer: Any, readings: ReadingValues) -> None:
    times, steps = readings["times"], readings["steps"]
    p, nbytes, step = steps["world_size"], steps["nbytes"], steps["step_s"]
    largest = slice(-4, None)  # of which `nbytes` is one: alpha and beta describe this size well
    alpha, beta = fitted(times["nbytes"][largest], times["seconds"][largest], p)
    communication = 2 * (p - 1) * (alpha + beta * nbytes / p)
    if abs(steps["communication_s"] - communication) > STEADY * communication:
        raise Unusable(
            f"an all-reduce took {communication:.3g} s by the fit, and {steps['communication_s']:.3g} s later"
        )
    for overlap, key in ((0.0, "after"), (1.0, "beside")):
        if not 0.02 < steps[key] < 1.05:
            raise Unusable(f"an efficiency of {steps[key]:.3g}")
        what = f"a step of {step:.3g} s on this GPU, {p} ranks, the all-reduce of {nbytes} bytes {key} it: efficiency"
        check.close(answer(step, nbytes, p, alpha, beta, overlap), steps[key], what, rtol=NEAR)


# ------------------------------------------------------------------------------------------------------ averaged_step


def _check_step(answer: Any, readings: ReadingValues) -> None:
    p = readings["world_size"]
    problem = Problem("cnn", samples=8 * p, batch_size=8 * p, lr=readings["lr"], seed=readings["seed"], device="cpu")
    weights = {name: np.array(value, dtype=np.float64) for name, value in readings["weights"].items()}
    if not all(np.isfinite(value).all() for value in weights.values()):
        raise Unusable("weights that are not finite")
    found = answer(problem, p)
    try:
        same_weights(found, weights, problem, f"averaged_step, and the weights that DDP has on this GPU, {p} ranks")
    except AssertionError as error:
        raise WrongAnswer(str(error)) from None


# ------------------------------------------------------------------------------------------------------------- scaling


LEAST = {"DataParallel": 0.005, "DistributedDataParallel": 0.05}
"""The lowest efficiency of many GPUs at which nothing hangs. DataParallel on five was published at 0.07."""


def _take_scaling() -> Sequence[ReadingValues]:
    from grader.exercises.ddp_scaling import device_ranks

    ranks = device_ranks.measured("nccl")["rows"]
    by_ddp = [{"method": "DistributedDataParallel" if row["gpus"] > 1 else "one GPU", **row} for row in ranks]
    return [*by_ddp, data_parallel.measured()["row"]]


def _check_scaling(answer: Any, readings: Sequence[ReadingValues]) -> None:
    rows = sorted(readings, key=lambda row: -row["gpus"])
    alone = next(row["step_s"] for row in rows if row["gpus"] == 1)
    expected = []
    for row in rows:
        efficiency = alone / row["step_s"]  # each GPU has as many images as one alone
        if not LEAST.get(row["method"], 0.05) < efficiency < 1.2:
            raise Unusable(f"{row['gpus']} GPUs by {row['method']} at an efficiency of {efficiency:.3g}")
        expected.append({**row, "speedup": row["gpus"] * efficiency, "efficiency": efficiency})
    told = ", ".join(f"{row['method']}: {row['gpus']} at {row['throughput']:.4g} images/s" for row in rows)
    check.close(answer([dict(row) for row in rows]), expected, f"scaling, ResNet-18 on GPUs of this machine, {told}")


CONFRONTATIONS = (
    Confrontation(
        "WHY_DP_SLOWS",
        "With two or more GPUs, DataParallel runs on all of them, and its steps show which statements are true.",
        data_parallel.measured,
        data_parallel.check_answer,
    ),
    Confrontation(
        "scaling",
        "With two or more GPUs, efficiencies are compared with those that step times give: on one GPU, on all with "
        "DDP, and on all with DataParallel.",
        _take_scaling,
        _check_scaling,
    ),
    Confrontation(
        "averaged_step",
        "The weights are compared with those of three ranks after a step of DDP with their network on the GPU.",
        _take("ddp", "gloo"),
        _check_step,
    ),
    Confrontation(
        "ring_schedule",
        "The schedule is applied to vectors that ranks also summed on the GPU with all_reduce; the sums must agree.",
        _take("sums", "gloo"),
        _check_schedule,
    ),
    Confrontation(
        "run_ring",
        "The sums are compared with those that all_reduce computes for vectors on the GPU.",
        _take("sums", "gloo"),
        _check_ring,
    ),
    Confrontation(
        "wire_bytes",
        "Bytes are compared with those that crossed the loopback network while ranks summed gradients on the GPU, in a "
        "ring and with a server.",
        _take("wire", "gloo"),
        _check_wire,
    ),
    Confrontation(
        "fit_alpha_beta",
        "The fit is compared with the best one for timed all-reduces of tensors on the GPU (by NCCL if there are two).",
        _take("times"),
        _check_fit,
    ),
    Confrontation(
        "predict_efficiency",
        "Predictions are compared, within 25%, with a step on the GPU with an all-reduce after it, and alongside it.",
        _take_efficiency,
        _check_efficiency,
    ),
    Confrontation(
        "pids_to_kill",
        "The function gets this machine's processes with their GPU memory according to NVML; one is a real orphan.",
        ghosts.take,
        ghosts.check_answer,
    ),
)
ON_DEVICE = {
    "DDP_SCRIPT": (
        "two ranks train with the network on the GPU; the weights must be the same as on the CPU.",
        'moved.onto("cuda", DDP_SCRIPT)',
    ),
    "LIGHTNING_SCRIPT": (
        "a ResNet-50 is trained on one GPU or two, and its loss must fall.",
        'Problem("resnet50", samples=1024, batch_size=32, lr=0.001, device="cuda")',
    ),
}
NONE = {
    "shard": "the indices come from a generator on the CPU, as in DistributedSampler; no GPU is involved.",
}
