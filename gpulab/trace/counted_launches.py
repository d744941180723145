"""`counting`: what a test cell uses to learn what an exercise's kernels do to memory.

In one process, as in a notebook, it records the launches made inside the block. The judge's `gpulab.backend` asks
another process instead: a clean one that holds only the exercise's own cell.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gpulab.backend import current
from gpulab.check.services import require
from gpulab.trace.beyond import note_on
from gpulab.trace.launch import recording

Launches = list[dict[str, Any]]
"""One `Trace.summary()` for each launch, in order: plain values. Triton's launches, and the eager kernels around them,
are `triton.counts.Programs.summary()` and what `triton.eager` finds."""


@contextmanager
def counting(dot_key: int = 0) -> Iterator[Launches]:
    """The launches made by the calls in the block, as plain dicts; the list is complete when the block has ended.

    They run in the tracer, also on a machine with a GPU: counts do not depend on the machine.

    Args:
        dot_key: unless it is 0, each `tl.dot` multiplies every product by a number that depends on it and on this
            key, as `gpulab.cuda_cpp.tensor_product` does: results show whether they come from there.
    """
    require("counting")
    counter = current().counting
    with _explained():
        if counter is not None:
            with counter(dot_key) as launches:
                yield launches
            return
        launches = []
        with recording() as traces, _programs(dot_key) as programs:
            yield launches
    launches.extend(trace.summary() for trace in traces)
    launches.extend(programs)


@contextmanager
def _explained() -> Iterator[None]:
    """Adds to an error of the tracer what the student is to do about it."""
    try:
        yield
    except Exception as error:
        if note := note_on(str(error)):
            error.add_note(note)
        raise


FEW_REQUESTS = 32
"""To one kind of memory: where there are no more, they say nothing about who works."""
FEW_PER_ELEMENT = 1 / 8
"""Requests to shared memory for each element of global memory: no more where one lane hands over a sum of its warp."""
FEWEST_LANES = {"global": 8, "shared": 4}
"""Of the 32 of a warp that take part in a request on average. In a tree with gaps between its threads, five do."""


WARP = 32
MANY_TURNS = 8
"""Elements for each thread of a warp: a launch that writes no more of them may have a single warp."""


def many_threads(launches: Sequence[dict[str, Any]], what: str) -> None:
    """Passes if the threads of the warps share the work: one thread that does all of it makes few accesses as well.

    Args:
        launches: what `counting` gave.
        what: what was called, for the message.

    Raises:
        AssertionError: few threads of a warp take part in its requests to global or to shared memory.
    """
    few = float(FEW_REQUESTS)
    for space, fewest in FEWEST_LANES.items():
        lines = [line for one in launches for line in one["lines"] if line["space"] == space]
        moves = [line for line in lines if line["kind"] != "atomic"]
        requests, elements = (sum(line[name] for line in moves) for name in ("requests", "elements"))
        if requests > few and elements < fewest * requests:
            threads = max(math.prod(one["block"]) for one in launches)
            remedy = "Let all threads share the work."
            if threads < fewest:
                some = f"{threads} thread" + ("" if threads == 1 else "s")
                remedy = f"A block has only {some} here. A launch is kernel[blocks, threads]."
            raise AssertionError(
                f"{what}: the values are right, but on average a request to {space} memory comes from only "
                f"{elements / requests:.2g} of the 32 threads of a warp. {remedy}"
            )
        few = max(few, FEW_PER_ELEMENT * elements)


def even_threads(calls: Sequence[Sequence[dict[str, Any]]], what: str, most: int = 3) -> None:
    """Passes if a call's writes to global memory are divided among all threads: a few warps could do the work of all.

    Args:
        calls: the launches of each call, as `counting` gave them. One call whose launches are even is enough: a grid
            that stays the same covers an array of some shapes with few of its threads.
        what: what was called, for the message.
        most: times its share that a thread may write.

    Raises:
        AssertionError: in each call, a launch has a thread that writes more, or all launches are of a single warp.
    """
    ratio, told = min(map(_uneven, calls))
    if ratio > most:
        raise AssertionError(f"{what}: the values are right, but {told} Let all threads share the work.")


def _uneven(launches: Sequence[dict[str, Any]]) -> tuple[float, str]:
    """How many times its share the busiest thread wrote in a launch of a call, and this in words."""
    most, written = (
        max((one["threads"] for one in launches), default=0),
        sum(one["global_writes"] for one in launches),
    )
    if most <= WARP < written / MANY_TURNS:
        return math.inf, f"{written} elements were written by {most} threads at a time, which is a single warp at most."
    found = [(0.0, "")]
    for launch in launches:
        busiest, threads = launch["busiest_writes"], launch["threads"]
        share = max(1, -(-launch["global_writes"] // threads))
        told = f"one thread wrote {busiest} elements; if all {threads} did, {share} would be enough for each."
        found.append((busiest / share, told))
    return max(found)


def exchanged(launches: Sequence[dict[str, Any]]) -> str:
    """What to say of a wrong result where the two numbers of a launch may have changed places; "" if they have not.

    Args:
        launches: what `counting` gave.
    """
    for launch in launches:
        blocks, threads = launch["blocks"], math.prod(launch["block"])
        if threads < WARP <= blocks and blocks % WARP == 0:
            some = f"{threads} thread" + ("" if threads == 1 else "s")
            return f"The launch has {blocks} blocks of {some}: in the brackets, the number of blocks comes first."
    return ""


@contextmanager
def _programs(dot_key: int) -> Iterator[Launches]:
    """What Triton and eager PyTorch launch, where this process has asked for Triton (`trace.use_triton`)."""
    hook = sys.modules.get("gpulab.trace.triton.hook")
    if hook is None:
        yield []
        return
    with hook.recording_if_used() as programs, hook.accesses.dots_with(dot_key):
        yield programs
