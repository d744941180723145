"""Pipelines and gradients in transit, run on streams of the GPU, for two schedules to be compared with.

A kernel that only waits stands for the work of a layer or a stage, one stream for each stage, and copies to pinned host
memory for what is sent over the link.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from gpulab import check
from grader.exercises.on_gpu import median_ms
from grader.exercises.sharding import pipelines

UNIT_MS = 2.0
"""A forward pass of a stage: hundreds of launches long."""
GATE_MS = 20.0
"""Everything is launched while the GPU still waits this long, so that launches take no part in what is timed."""
PIPELINES = [(4, 6, "gpipe"), (4, 6, "1f1b"), (3, 2, "1f1b")]
BUBBLE = 0.02
"""Measured and computed bubbles differ by at most this; one slot more or less makes 0.033 in the first case."""

SENT_MS = 0.25
"""What one unit of bytes takes on the link, and one unit of work on the GPU."""
MAKESPAN = 0.05
"""Share by which measured and computed makespans differ at most; copies of one size take the same time within 2%."""
CASES: list[tuple[list[tuple[float, float, float]], float]] = [
    ([(4, 7, 2), (4, 6, 4), (2, 2, 24)], 4),
    ([(6, 10, 0), (12, 8, 17), (22, 6, 19), (24, 10, 24)], 4),
    ([(20, 2, 1), (2, 1, 17)], 16),
]
"""For each layer the units of forward and backward pass and of bytes; units of a partition."""

TimedTask = tuple[str, float, float]
Layer = dict[str, Any]


def waits() -> Callable[[float], None]:
    """A function that keeps the current stream busy for so many ms, by a kernel of one thread."""
    cycles = 10**7
    per_ms = cycles / median_ms(lambda: torch.cuda._sleep(cycles))  # type: ignore[no-untyped-call]
    return lambda ms: torch.cuda._sleep(int(ms * per_ms))  # type: ignore[no-untyped-call]


def event() -> Any:
    """An event with a time."""
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]


# ---------------------------------------------------------------------------------------------------------- pipelines


def piped() -> list[list[list[TimedTask]]]:
    """For each of `PIPELINES`, by stage: task, start, and end in ms, on one stream per stage."""
    wait = waits()
    return [_piped(right_order(*case), wait) for case in PIPELINES]


def right_order(stages: int, count: int, kind: str) -> list[list[str]]:
    """The tasks of each stage."""
    return pipelines.ordered(stages, count, [count if kind == "gpipe" else stages - s - 1 for s in range(stages)])


def in_turn(order: Sequence[Sequence[str]]) -> Iterator[tuple[int, str, tuple[int, str] | None]]:
    """Stage, task, and the task of another stage that it needs, such that what is needed comes before."""
    waiting, done = [list(tasks) for tasks in order], set()
    while any(waiting):
        for stage, tasks in enumerate(waiting):
            while tasks:
                other = stage - 1 if tasks[0][0] == "F" else stage + 1
                needs = (other, tasks[0]) if 0 <= other < len(order) else None
                if needs is not None and needs not in done:
                    break
                done.add((stage, tasks[0]))
                yield stage, tasks.pop(0), needs


def _piped(order: list[list[str]], wait: Callable[[float], None]) -> list[list[TimedTask]]:
    streams = [torch.cuda.Stream() for _ in order]  # type: ignore[no-untyped-call]
    begun = event()
    marks: dict[tuple[int, str], tuple[Any, Any]] = {}
    wait(GATE_MS)
    begun.record()
    for stream in streams:
        stream.wait_event(begun)
    for stage, task, needs in in_turn(order):
        with torch.cuda.stream(streams[stage]):
            if needs is not None:
                streams[stage].wait_event(marks[needs][1])
            marks[stage, task] = event(), event()
            marks[stage, task][0].record()
            wait(UNIT_MS * (1 if task[0] == "F" else 2))
            marks[stage, task][1].record()
    torch.cuda.synchronize()
    found: list[list[TimedTask]] = [[] for _ in order]
    for (stage, task), (start, end) in marks.items():
        found[stage].append((task, begun.elapsed_time(start), begun.elapsed_time(end)))
    return found


def check_pipeline_schedule(pipeline_schedule: Any, readings: Any) -> None:
    """Order, bubble, and stored micro-batches must be those of the timeline on the GPU."""
    for (stages, count, kind), timeline in zip(PIPELINES, readings, strict=True):
        by_start = [sorted(tasks, key=lambda one: one[1]) for tasks in timeline]
        what = f"pipeline_schedule({stages}, {count}, {kind!r}) on streams of this GPU"
        answer = pipeline_schedule(stages, count, kind)
        keys = sorted(answer) if isinstance(answer, dict) else answer
        check.equal(keys, ["bubble", "order", "stored"], f"{what}: keys")
        check.equal(answer["order"], [[one[0] for one in tasks] for tasks in by_start], f"{what}: order")
        check.close(answer["bubble"], idle_share(by_start), f"{what}: bubble", rtol=0, atol=BUBBLE)
        check.equal(answer["stored"], [most_stored(tasks) for tasks in by_start], f"{what}: stored")


def idle_share(timeline: Sequence[Sequence[TimedTask]]) -> float:
    """Mean share of the time from the first start to the last end in which a stage is idle."""
    every = [one for tasks in timeline for one in tasks]
    whole = max(end for *_, end in every) - min(start for _, start, _ in every)
    return 1 - sum(end - start for _, start, end in every) / len(timeline) / whole


def most_stored(tasks: Sequence[TimedTask]) -> int:
    """The most micro-batches of a stage whose forward pass is done and whose backward pass is not."""
    changes = sorted((end, 1 if task[0] == "F" else -1) for task, _, end in tasks)
    stored = [sum(change for _, change in changes[: place + 1]) for place in range(len(changes))]
    return max(stored)


# --------------------------------------------------------------------------------------------- communication scheduling


def sent() -> dict[str, Any]:
    """The link's rate, and the makespan of each of `CASES` under both policies, on two streams of the GPU."""
    wait = waits()
    here, there = (
        torch.empty(2**25, dtype=torch.uint8, device="cuda"),
        torch.empty(2**25, dtype=torch.uint8).pin_memory(),
    )
    unit = int(here.nbytes * SENT_MS / median_ms(lambda: there.copy_(here, non_blocking=True)))
    most = int(16 * unit)
    here, there = torch.empty(most, dtype=torch.uint8, device="cuda"), torch.empty(most, dtype=torch.uint8).pin_memory()

    def copy(nbytes: int) -> None:
        there[:nbytes].copy_(here[:nbytes], non_blocking=True)

    gbs = 4 * unit / median_ms(lambda: copy(4 * unit)) / 1e6
    cases = []
    for units, partition in CASES:
        layers = made(units, unit)
        for policy in ("fifo", "priority"):
            order = sending_order(layers, gbs, int(partition * unit), policy)
            ms = statistics.median(_sent(layers, order, wait, copy) for _ in range(5))
            cases.append({"layers": layers, "partition_bytes": int(partition * unit), "policy": policy, "ms": ms})
    return {"gbs": gbs, "cases": cases}


def made(units: Sequence[tuple[float, float, float]], unit: int) -> list[Layer]:
    """Layers of so many units of forward pass, backward pass, and bytes."""
    return [
        {"forward_ms": forward * SENT_MS, "backward_ms": backward * SENT_MS, "nbytes": int(size * unit)}
        for forward, backward, size in units
    ]


def sending_order(layers: Sequence[Layer], gbs: float, partition: int, policy: str) -> list[tuple[int, int]]:
    """Layer and bytes of each partition, in the order in which the link takes them."""
    ready, clock = {}, 0.0
    for number in reversed(range(len(layers))):
        clock += layers[number]["backward_ms"]
        ready[number] = clock
    left = {number: layer["nbytes"] for number, layer in enumerate(layers) if layer["nbytes"]}
    order, free = [], 0.0
    while left:
        free = max(free, min(ready[number] for number in left))
        waiting = [number for number in left if ready[number] <= free]
        chosen = max(waiting) if policy == "fifo" else min(waiting)
        part = min(partition, left[chosen])
        order.append((chosen, part))
        free += part / (gbs * 1e6)
        left[chosen] -= part
        left = {number: rest for number, rest in left.items() if rest}
    return order


def _sent(
    layers: Sequence[Layer],
    order: Sequence[tuple[int, int]],
    wait: Callable[[float], None],
    copy: Callable[[int], None],
) -> float:
    """Measured ms from the start of the backward pass to the end of the next forward pass."""
    link = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    begun, ended, ready, arrived = event(), event(), {}, {}
    wait(GATE_MS)
    begun.record()
    for number in reversed(range(len(layers))):
        wait(layers[number]["backward_ms"])
        ready[number] = event()
        ready[number].record()
    with torch.cuda.stream(link):
        for number, nbytes in order:
            link.wait_event(ready[number])
            copy(nbytes)
            arrived[number] = event()
            arrived[number].record()
    for number, layer in enumerate(layers):
        if number in arrived:
            torch.cuda.current_stream().wait_event(arrived[number])
        wait(layer["forward_ms"])
    ended.record()
    torch.cuda.synchronize()
    found: float = begun.elapsed_time(ended)
    return found


def check_priority_makespan(priority_makespan: Any, readings: Mapping[str, Any]) -> None:
    """The makespans must be those measured on the GPU, within a small share."""
    for one in readings["cases"]:
        layers = [dict(layer) for layer in one["layers"]]
        shown = [tuple(round(layer[key], 2) for key in ("forward_ms", "backward_ms", "nbytes")) for layer in layers]
        what = (
            f"priority_makespan of layers (forward ms, backward ms, bytes) {shown}, {readings['gbs']:.3g} GB/s,"
            f" partitions of {one['partition_bytes']:,} bytes, {one['policy']}: ms measured on streams of this GPU"
        )
        answer = priority_makespan(layers, readings["gbs"], one["partition_bytes"], one["policy"])
        check.close(answer, one["ms"], what, rtol=MAKESPAN)
