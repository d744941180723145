"""A server with dynamic batching that runs a network on the GPU, for `serve_batches` to be compared with."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from gpulab import check
from grader.exercises.confront import Unusable

MOST = 3
"""`max_batch`."""
LEAST_MS = 4.0
"""A batch of one takes at least this long: hundreds of times what the server's own loop takes."""
OFF = 0.1
"""What the start of a batch may be off by, as a share of a batch of one: other decisions move it by 0.2 at least."""
DRIFT = 0.15
"""Batches without a pause that took longer or shorter together than measured before, by more than this share of a batch
of one, make the run useless."""

ServingRequest = dict[str, Any]
Batch = dict[str, Any]


def requests(batch_ms: Mapping[int, float]) -> tuple[list[ServingRequest], float]:
    """Requests that meet every rule of the exercise, and `max_wait_ms`; no decision is close to a tie.

    Args:
        batch_ms: time of a batch of 1 to `MOST`.
    """
    one, wait = batch_ms[1], 0.5 * batch_ms[1]
    arrivals = [0.0]
    busy = wait + one  # the first batch ends: four have come meanwhile, one too many
    arrivals += [wait + 0.3 * one, wait + 0.4 * one, wait + 0.5 * one, wait + 0.6 * one]
    arrivals.append(busy + 0.5 * batch_ms[3])  # joins the one that was left over
    idle = busy + batch_ms[3] + batch_ms[2] + one
    arrivals += [idle, idle + 0.25 * one]  # the wait counts from the first of them
    full = idle + wait + batch_ms[2] + one
    arrivals += [full, full + 0.15 * one, full + 0.25 * one]  # full before anyone has waited
    late = full + batch_ms[3] + 2 * one
    arrivals.append(late)  # nobody else comes
    arrivals.append(late + wait + 0.3 * one)  # while the engine is busy: its wait is over before the engine is free
    arrivals.append(late + wait + 3 * one)  # the last one, which waits like all others
    names = [f"user {number}" for number in range(len(arrivals))]
    given = [{"id": name, "arrival_ms": at} for name, at in zip(names, arrivals, strict=True)]
    return given[1::2] + given[::2], wait


def served(
    given: Sequence[ServingRequest], wait_ms: float, run: Callable[[int], None], clock_ms: Callable[[], float]
) -> list[Batch]:
    """What a server does with these requests: it looks at the clock, and runs a batch when the rules say so.

    Args:
        given: requests, whose arrivals the clock decides.
        wait_ms: `max_wait_ms`.
        run: runs a batch of so many, and returns when it is done.
        clock_ms: milliseconds since the server began.
    """
    coming, batches = sorted(given, key=lambda one: one["arrival_ms"]), []
    while coming:
        now = clock_ms()
        waiting = [one for one in coming if one["arrival_ms"] <= now][:MOST]
        if len(waiting) < MOST and not (waiting and now - waiting[0]["arrival_ms"] >= wait_ms):
            continue
        run(len(waiting))
        batches.append({"ids": [one["id"] for one in waiting], "start_ms": now, "end_ms": clock_ms()})
        coming = coming[len(waiting) :]
    return batches


def taken() -> dict[str, Any]:
    """Times of a network on the GPU by batch size, and how a server with it served requests."""
    import torch
    from torchvision.models import resnet18  # type: ignore[import-untyped]  # it has no types

    network = resnet18().eval().cuda()
    pictures = torch.randn(MOST, 3, 224, 224, device="cuda")
    passes = 1

    def run(size: int) -> None:
        with torch.inference_mode():
            for _ in range(passes):
                network(pictures[:size])
        torch.cuda.synchronize()

    def median_ms(size: int) -> float:
        times = []
        for _ in range(12):
            begun = perf_counter()
            run(size)
            times.append(1e3 * (perf_counter() - begun))
        return statistics.median(times[2:])

    for size in range(1, MOST + 1):  # chooses kernels, raises the clock
        median_ms(size)
    passes = max(1, round(LEAST_MS / median_ms(1) + 0.5))
    batch_ms = {size: median_ms(size) for size in range(1, MOST + 1)}
    given, wait_ms = requests(batch_ms)
    begun = perf_counter()
    batches = served(given, wait_ms, run, lambda: 1e3 * (perf_counter() - begun))
    times = [batch_ms[size] for size in range(1, MOST + 1)]
    return {"batch_ms": times, "requests": given, "max_wait_ms": wait_ms, "served": batches}


def check_serve_batches(serve_batches: Any, readings: Any) -> None:
    """The batches must be those of the server that ran on the GPU, and begin and end when they did."""
    batch_ms = {size: float(ms) for size, ms in enumerate(readings["batch_ms"], start=1)}
    real = readings["served"]
    drifts = _drifts(real, batch_ms)
    if max(drifts) > DRIFT * batch_ms[1]:
        raise Unusable(f"batches took {max(drifts):.3g} ms longer or shorter than before, and one {batch_ms[1]:.3g} ms")
    given, wait_ms = [dict(one) for one in readings["requests"]], readings["max_wait_ms"]
    answer = serve_batches(given, MOST, wait_ms, dict(batch_ms))
    shown = ", ".join(f"{one['id']} at {one['arrival_ms']:.3g}" for one in readings["requests"])
    times = ", ".join(f"{size}: {ms:.3g}" for size, ms in batch_ms.items())
    what = f"serve_batches: {shown} ms, max_batch {MOST}, max_wait_ms {wait_ms:.3g}, batch_ms of this GPU {{{times}}}"
    keys = [sorted(one) if isinstance(one, dict) else one for one in answer] if isinstance(answer, list) else answer
    check.equal(keys, [["end_ms", "ids", "start_ms"]] * len(real), f"{what}: keys of each batch that ran on the GPU")
    mine = [list(one["ids"]) for one in answer]
    check.equal(mine, [one["ids"] for one in real], f"{what}: requests of each batch that ran on the GPU")
    for place, (batch, drift) in enumerate(zip(real, drifts, strict=True)):
        for name in ("start_ms", "end_ms"):
            off = OFF * batch_ms[1] + drift
            check.close(answer[place][name], batch[name], f"{what}: {name} of batch {place + 1}", rtol=0, atol=off)


def _drifts(real: Sequence[Batch], batch_ms: Mapping[int, float]) -> list[float]:
    """For each batch, how many ms it and those right before it took more or less than such batches took before."""
    found, drift, free = [], 0.0, 0.0
    for batch in real:
        if batch["start_ms"] - free > OFF * batch_ms[1]:
            drift = 0.0
        drift += batch["end_ms"] - batch["start_ms"] - batch_ms[len(batch["ids"])]
        free = batch["end_ms"]
        found.append(abs(drift))
    return found
