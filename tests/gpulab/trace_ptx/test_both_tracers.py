"""The Python tracer against the PTX of the same kernel, for the answers to the kernel exercises, right and wrong.

Both run an answer on the same input. Equal are results, elements, requests, sectors, conflict degrees, barriers, the
arrays with races, and how a launch fails; what differs is listed with its reason. All answers take four minutes, so
that a run compares a sample, drawn anew each time; ALL_ANSWERS=1 compares all, ANSWERS_SEED=… draws a sample again.
"""

from __future__ import annotations

import os
import random
import secrets
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from gpulab.trace import TraceError

from . import bank

SAMPLE = 24
UNROLLED = "The compiler unrolls the loop; lanes do what is left over first, in requests of their own, and start apart."
MERGED = "The compiler keeps what it has read or written in a register, or moves equal accesses out of a branch."
UNREAD = "The compiler leaves out what is computed and never read: all products, or summands, but the last."
ORDER = "Races: what a thread finds depends on the order of threads, which a warp and single threads take differently."
NAMES = "Two shared arrays are assigned in one statement, and only one of the two tracers knows both names."
RUBBISH = "It reads shared or local memory that nothing was written to, and the two hold other numbers there."
HALF = "Numba adds numbers of float16 by a function that its PTX declares and does not define."
REFUSED = "Numba refuses to compile it; the tracer meets it while it runs, and refuses it, too."
TOO_LARGE = "The Python tracer, the slower of the two, refuses so many accesses."
DIFFERENCES = {
    "vec_add": {
        "a grid-stride loop, the index from its parts": UNROLLED,
        "whole arrays in the kernel": REFUSED,
        "written in two steps, and whole blocks only": MERGED,
    },
    "saxpy": {
        "stride of one block": UNROLLED,
        "stride of the number of blocks": UNROLLED,
        "starts at threadIdx, every block does everything": UNROLLED,
        "stops one early": UNROLLED,
        "each block takes a piece of its own": UNROLLED,
        "each block takes a piece of its own, and the last one the rest": UNROLLED,
        "threadIdx without an axis": REFUSED,
        "a grid of no dimension": REFUSED,
        "the number comes last in the launch": REFUSED,
    },
    "scale_rows": {
        "the factor twice": MERGED,
    },
    "block_reverse": {
        "a barrier for the warp only": ORDER,
        "an array of each thread's own": RUBBISH,
        "through the tile, but global memory is read again": MERGED,
        "the result is copied first, then written again": MERGED,
    },
    "moving_average": {
        "three parts of the tile, blocks of 256": MERGED,
        "no halo, zeros around the tile": MERGED,
        "= for += in the sum": UNREAD,
        "halo on the left only": MERGED,
        "no barrier": ORDER,
        "a helper without a decorator": REFUSED,
        "a local array for a tile": RUBBISH,
    },
    "total": {
        "value and distance of a shuffle swapped": REFUSED,
        "blockDim.x for gridsize in the stride": UNROLLED,
        "the last round of the loop is left out": UNROLLED,
        "no barrier in the tree": ORDER,
        "no barrier before the tree": MERGED,
        "a block is one warp that adds up by shuffles, without shared memory": UNROLLED,
        "one thread of each block adds up the tile alone": UNROLLED,
        "an array of each thread's own": RUBBISH,
        "every thread adds up everything": TOO_LARGE,
        "a tile of float16": HALF,
        "a tile of float16 in a single block, whose sum it cannot hold": HALF,
        "a large block, a tree with gaps, elements added up in a tile of float64": MERGED,
    },
    "transpose_tiled": {
        "a local array for a tile": RUBBISH,
        "threadIdx without axes": REFUSED,
    },
    "matmul_tiled": {
        "no second barrier": ORDER,
        "no first barrier": ORDER,
        "no barriers at all": ORDER,
        "the host pads both matrices to whole tiles, and copies the corner": NAMES,
        "clamped indices": MERGED,
        "one shared array for both tiles": MERGED,
        "the row of b's tile is the thread's own": MERGED,
        "one thread of its block does all the work": MERGED,
        "= for +=": UNREAD,
        "= for +=, only as many products as the last tile has": UNREAD,
    },
    "histogram": {
        "an element for the array of an atomic": REFUSED,
        "reference, zeros handed in as well": UNROLLED,
        "dynamic shared memory, as large as the bins, empty bins skipped": MERGED,
        "a global atomic per element": UNROLLED,
        "each bin is added by one block": UNROLLED,
        "one result for all calls": UNROLLED,
        "single values are left out": UNROLLED,
        "the private histogram is not set to zero": RUBBISH,
        "no barrier after setting to zero": UNROLLED,
        "no barrier before handing in": UNROLLED,
        "counts without atomics": UNROLLED,
        "hands in without atomics": UNROLLED,
        "every block replaces the result": UNROLLED,
        "only as many bins as threads": UNROLLED,
        "room for 256 bins only": UNROLLED,
        "result not set to zero": UNROLLED,
        "result in int64": UNROLLED,
        "result in float32": UNROLLED,
        "shares, not counts": UNROLLED,
        "percent": UNROLLED,
        "every thread hands in every bin": UNROLLED,
        "adds the values": UNROLLED,
        "every block counts all values": UNROLLED,
        "bins off by one": UNROLLED,
        "the last bin is not handed in": UNROLLED,
        "the last loop has no step": UNROLLED,
        "counts go to the bin with the thread's number": UNROLLED,
        "only thread 0 adds, in steps of the block": UNROLLED,
        "the largest of the blocks' counts": UNROLLED,
        "only every other value is counted": UNROLLED,
        "equal shares of the values, rounded down": UNROLLED,
        "hands in whether a value occurs": UNROLLED,
        "returns nothing": UNROLLED,
    },
}
"""Exercise → title of an answer whose accounts differ → why."""


def numba_answers() -> list[bank.Answer]:
    """All that are no attacks, and whose kernels Numba compiles."""
    every = [answer for exercise in bank.INPUTS for answer in bank.answers(exercise)]
    return [one for one in every if one.kind.value != "hostile" and "cuda_kernel" not in one.source]


ANSWERS = numba_answers()
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", secrets.token_hex(4))  # the same in all workers of a run
SEED = os.environ.get("ANSWERS_SEED") or RUN[:8]
CHOSEN = ANSWERS if os.environ.get("ALL_ANSWERS") else random.Random(SEED).sample(ANSWERS, SAMPLE)


def totals(traces: list[Any]) -> dict[str, Any]:
    """What both must agree on."""
    found: dict[str, Any] = defaultdict(int)
    names = ("global_reads", "global_writes", "global_atomics", "shared_reads", "shared_writes", "shared_atomics")
    for trace in traces:
        for name in names:
            found[name] += getattr(trace, name)
        for line in trace.lines:
            found[f"{line.space} {line.kind} requests of {line.array}"] += line.requests
            sectors = round(line.requests * line.sectors_per_request)
            found[f"{line.space} {line.kind} sectors of {line.array}"] += sectors
        found["bank conflicts"] = max(found["bank conflicts"], trace.bank_conflict_degree)
        found["barriers"] = max(found["barriers"], trace.barriers)
        found["shared bytes"] = max(found["shared bytes"], trace.shared_bytes)
        found["races"] = sorted({*(found["races"] or ()), *(race.array for race in trace.races)})
        found["unwritten"] = sorted({*(found["unwritten"] or ()), *(read.array for read in trace.unwritten)})
    return dict(found)


def account(answer: bank.Answer, monkeypatch: pytest.MonkeyPatch, engine: Any) -> tuple[Any, dict[str, Any]]:
    """What an answer returns, and what it did; how it failed, if it did."""
    try:
        result, traces = bank.execute(answer, monkeypatch, engine)
    except TraceError as error:
        return None, {"error": type(error).__name__}
    except Exception as error:  # of the host function: the same exception with either tracer
        return None, {"error": f"{type(error).__name__}: {error}"}
    return result, totals(traces)


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal but for the rounding of sums."""
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype.kind not in "biuf" or other.dtype.kind not in "biuf":
        return bool(one.dtype == other.dtype)
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-4, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("answer", CHOSEN, ids=str)
def test_both_give_the_same_account(answer: bank.Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    result, traced = account(answer, monkeypatch, None)
    other, compiled = account(answer, monkeypatch, bank.Ptx())
    racing = bool(traced.get("races")) and traced.get("races") == compiled.get("races")
    equal = traced == compiled and (racing or same(result, other))
    reason = DIFFERENCES.get(answer.exercise, {}).get(answer.title)
    if reason is None:
        assert traced == compiled
        assert equal, f"{result} and {other}"
    elif reason is ORDER:
        assert racing
        traced["unwritten"] = compiled["unwritten"]
        assert traced == compiled
    else:
        assert traced != compiled, "no longer a difference: take it from the list"
        assert ("error" in traced) == ("error" in compiled) or reason in (TOO_LARGE, HALF)
        refused = "error" in traced or "error" in compiled
        assert racing or refused or same(result, other) or reason is RUBBISH


def test_the_list_names_answers_that_there_are() -> None:
    there = {(answer.exercise, answer.title) for answer in ANSWERS}
    assert {(exercise, title) for exercise, titles in DIFFERENCES.items() for title in titles} <= there


def test_the_others() -> None:
    """Says in the summary what this run has not compared."""
    if len(CHOSEN) < len(ANSWERS):
        rest = f"{len(ANSWERS) - len(CHOSEN)} of {len(ANSWERS)} answers were not compared"
        pytest.skip(f"{rest} (ANSWERS_SEED={SEED}); ALL_ANSWERS=1 compares all")
