"""`pipeline_ms` and the GPU: copies and kernels on one stream per engine, so that each has its order of issue."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from gpulab import check
from grader.exercises.confront import Absent, Unusable

ReadingValues = dict[str, Any]

STAGE_MS = 3.0
"""Of a copy: so long that the microseconds between operations do not count."""
PROBE_BYTES = 1 << 25
MOST_BYTES = 1 << 28
ROOM = 0.12
"""How far the time of a whole pipeline may be from what its stages give: copies of both directions slow each other
down, so that the first and the last one are shorter than the mean."""
PIPELINES = ((4, 1.0, 1, "chunk"), (2, 1.0, 1, "stage"), (4, 0.7, 2, "chunk"), (4, 1.5, 2, "stage"))
"""Chunks, kernel over copy, copy engines, order of issue."""


def take() -> list[ReadingValues]:
    """Pipelines on streams that stand for the engines: each runs its operations in their order of issue."""
    import torch

    from grader.exercises.on_gpu import attribute, median_ms

    there = torch.zeros(PROBE_BYTES, dtype=torch.uint8, device="cuda")
    host = torch.zeros(PROBE_BYTES, dtype=torch.uint8, pin_memory=True)
    nbytes = int(PROBE_BYTES * STAGE_MS / median_ms(lambda: there.copy_(host, non_blocking=True)))
    nbytes = min(nbytes, MOST_BYTES)
    cycles_per_ms = 5_000_000 / median_ms(lambda: torch.cuda._sleep(5_000_000))  # type: ignore[no-untyped-call]
    into, out = (torch.zeros(nbytes, dtype=torch.uint8, device="cuda") for _ in range(2))
    given, back = (torch.zeros(nbytes, dtype=torch.uint8, pin_memory=True) for _ in range(2))

    def operations(share: float) -> dict[str, Callable[[], Any]]:
        return {
            "h2d": lambda: into.copy_(given, non_blocking=True),
            "compute": lambda: torch.cuda._sleep(int(share * STAGE_MS * cycles_per_ms)),  # type: ignore[no-untyped-call]
            "d2h": lambda: back.copy_(out, non_blocking=True),
        }

    most = attribute("ASYNC_ENGINE_COUNT")
    found = []
    for chunks, share, engines, order in PIPELINES:
        if engines <= most:
            rounds = [_pipeline(operations(share), chunks, engines, order) for _ in range(5)]
            found.append(sorted(rounds, key=lambda one: one["total_ms"])[2])
    if not found:
        raise Absent("this GPU has no copy engine that works beside its kernels")
    return found


def _pipeline(operations: dict[str, Callable[[], Any]], chunks: int, engines: int, order: str) -> ReadingValues:
    """One run: mean time of each stage while the others run, and of all from the first start to the last end, ms."""
    import torch

    def event() -> Any:
        return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]

    streams = {name: torch.cuda.Stream() for name in operations}  # type: ignore[no-untyped-call]
    if engines == 1:
        streams["d2h"] = streams["h2d"]
    issue = [(name, chunk) for chunk in range(chunks) for name in operations]
    if order == "stage":
        issue = [(name, chunk) for name in operations for chunk in range(chunks)]
    gate, spans, before = event(), {name: [] for name in operations}, {}  # type: ignore[var-annotated]
    torch.cuda.synchronize()
    torch.cuda._sleep(20_000_000)  # type: ignore[no-untyped-call]  # until everything has been issued
    gate.record()
    for stream in streams.values():
        stream.wait_event(gate)
    for name, chunk in issue:
        with torch.cuda.stream(streams[name]):
            if chunk in before:
                streams[name].wait_event(before[chunk])
            start, end = event(), event()
            start.record()
            operations[name]()
            end.record()
        before[chunk] = end
        spans[name].append((start, end))
    torch.cuda.synchronize()
    each = {name: statistics.fmean(start.elapsed_time(end) for start, end in some) for name, some in spans.items()}
    total = max(gate.elapsed_time(end) for end in before.values())
    stages = {f"{name}_ms": ms for name, ms in each.items()}
    return {"chunks": chunks, "copy_engines": engines, "order": order, "total_ms": total} | stages


def check_answer(answer: Any, readings: Sequence[ReadingValues]) -> None:
    """Passes if the answer predicts each pipeline's time from its stages.

    Raises:
        WrongAnswer: it does not.
        Unusable: a pipeline took less than its slowest engine, or more than all stages one after another.
    """
    for one in readings:
        chunks, total = one["chunks"], one["total_ms"]
        stages = [one["h2d_ms"], one["compute_ms"], one["d2h_ms"]]
        serial = chunks * sum(stages)
        if min(stages) <= 0 or not (1 - ROOM) * chunks * max(stages) < total < (1 + ROOM) * serial:
            raise Unusable(f"{chunks} chunks of {stages} ms in {total:.3g} ms: something else was running")
        order = () if one["order"] == "chunk" else (one["order"],)  # it is the default
        told = ", ".join(f"{ms:.3g}" for ms in stages)
        how = f"{chunks} chunks of {told} ms, copy engines: {one['copy_engines']}, by {one['order']}"
        found = answer(chunks, *stages, one["copy_engines"], *order)
        check.close(found, total, f"{how}: ms that they took on this GPU (within {ROOM:.0%})", rtol=ROOM)
