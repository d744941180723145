"""Transfers: answers compared with readings that a GPU could have given, and with broken ones."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from confronted import findings, sentences
from courses import ROOT

from grader.authoring.myst import read_source
from grader.dev import gpu_rows
from grader.exercises.confront import declared
from grader.exercises.transfers import confrontations, copy_pipelines, loading

CHAPTER = "06"
SIZES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "int64": 8, "int32": 4, "uint8": 1, "bool": 1}


def test_every_exercise_says_how_it_meets_the_gpu() -> None:
    assert len(gpu_rows.met(read_source(ROOT / "solutions" / "06_transfers.md"))) == 7
    assert sentences(confrontations.CONFRONTATIONS) == []


# ------------------------------------------------------------------------------------------------------- bytes_moved


def copies() -> list[dict[str, Any]]:
    """What each case moves: on every GPU the same, as 16 × 3 × 224 × 224 floats were 9,633,792 bytes on a V100."""
    found = []
    for shape, host, there, place in confrontations.CASTS:
        elements = 1
        for extent in shape:
            elements *= extent
        nbytes = elements * SIZES[there if place == "cpu" else host]
        found.append({"shape": shape, "host_dtype": host, "device_dtype": there, "cast_on": place, "bytes": nbytes})
    return found


def test_bytes_moved() -> None:
    nothing, shifted = copies(), copies()
    nothing[2]["bytes"] = 0
    for one, other in zip(shifted, copies()[1:], strict=False):
        one["bytes"] = other["bytes"]  # the copies were taken for one another
    broken = {"a copy of nothing": nothing, "copies in another order": shifted}
    passing = {
        "reads the size off the digits of a type's name": "no type here has other digits than its bits",
        "no extents, no bytes": "every tensor here has extents",
        "eight bools to a byte": "no tensor here is of bools",
        "elements counted in 32 bits": "no tensor here has 2**31 elements",
        "bytes counted in 32 bits": "no tensor here has 2**31 bytes",
        "four extents at most": "no tensor here has more than four extents",
        "the last four extents": "no tensor here has more than four extents",
        "makes the tensor": "every tensor here fits into memory",
        "torch.finfo, and torch.iinfo for whole numbers": "no tensor here is of complex numbers",
    }
    assert findings(declared()["bytes_moved"], CHAPTER, {"any GPU": copies()}, broken, passing) == []


# ------------------------------------------------------------------------------------------------------- SYNC_POINTS


def observed(rounds: int = 3, first_waits: bool = False) -> dict[str, Any]:
    """What the snippets show.

    Args:
        rounds: how often each ran.
        first_waits: the first pinned allocation waited for the kernel, as cudaHostAlloc may.
    """
    never, always = [first_waits] + [False] * (rounds - 1), [True] * rounds
    return {
        "plain": {"right": always, "safe": always},
        "pageable": {"right": always, "safe": always},
        "pinned": {"right": always, "safe": never},
        "reused": {"right": never, "safe": never},
        "looked": {"right": never, "safe": never},
        "synchronized": {"right": always, "safe": never},
        "logged": {"right": always, "safe": always},
        "gpu": {"raised": "Expected one of cpu, cuda, … device type at start of device string: gpu"},
    }


def test_sync_points() -> None:
    late = {key: one if "raised" in one else {"right": [True], "safe": [True]} for key, one in observed().items()}
    part = "it earns points for the entries that are right, which the menu counts"
    passing = {
        "believes in non_blocking": part,
        "sees no races": part,
        "sees races everywhere": part,
        '"gpu" is a device': part,
        "item does not wait, a plain copy neither": part,
        "item is a race": part,
        "a race in a plain copy, and an exception where there is none": part,
    }
    plausible = {"a GPU": observed(), "a GPU whose first allocation waits": observed(first_waits=True)}
    broken = {"a kernel that was over too early": late, "nothing but one snippet": {"gpu": observed()["gpu"]}}
    assert findings(declared()["SYNC_POINTS"], CHAPTER, plausible, broken, passing) == []


# ------------------------------------------------------------------------------------------------------- pipeline_ms


def pipeline(case: tuple[int, float, int, str], copy_ms: float, both: float, seed: int) -> dict[str, Any]:
    """A pipeline on a GPU, played operation by operation.

    Args:
        case: of `copy_pipelines.PIPELINES`.
        copy_ms: of a copy alone.
        both: how many times as long a copy takes while one goes the other way. On PCIe, 1.05 to 1.4 are usual; where
            both directions share one memory, up to 2.
        seed: of the noise, 1% an operation, and of 10 to 40 µs between an event and what waits for it.
    """
    chunks, share, engines, order = case
    draw = random.Random(seed)
    issue = [(at, stage) for at in range(chunks) for stage in range(3)]
    if order == "stage":
        issue.sort(key=lambda one: one[1])
    free, ready, times = [0.0] * 3, [0.0] * chunks, [[], [], []]  # type: ignore[var-annotated]
    for at, stage in issue:
        engine = (0, 1, 0 if engines == 1 else 2)[stage]
        alone = engines == 1 or (stage == 0 and at == 0) or (stage == 2 and at == chunks - 1)
        lasts = copy_ms * (share if stage == 1 else 1.0 if alone else both) * draw.uniform(0.99, 1.01)
        start = max(free[engine], ready[at]) + draw.uniform(0.01, 0.04)
        free[engine] = ready[at] = start + lasts
        times[stage].append(lasts)
    means = dict(zip(("h2d_ms", "compute_ms", "d2h_ms"), (sum(one) / chunks for one in times), strict=True))
    return {"chunks": chunks, "copy_engines": engines, "order": order, "total_ms": max(free)} | means


def on(copy_ms: float, both: float, engines: int = 2) -> list[dict[str, Any]]:
    """The pipelines that a GPU with so many copy engines runs."""
    cases = [case for case in copy_pipelines.PIPELINES if case[2] <= engines]
    return [pipeline(case, copy_ms, both, seed) for seed, case in enumerate(cases)]


def test_pipeline_ms() -> None:
    plausible = {
        "an H100 on PCIe 5": on(3.0, 1.1),
        "an A100 on PCIe 4, 25.7 GB/s each way": on(3.0, 1.2),  # gengwg's notes, data/transfer_rates.csv
        "a V100 on PCIe 3, 12.4 GB/s each way": on(3.1, 1.05),  # superbenchmark, tests/data/cuda_memory_h2d_bw.log
        "a laptop GPU on eight lanes": on(2.8, 1.4),
        "a GPU in a box, on four lanes": on(12.0, 1.3),
        "a card with one copy engine": on(3.0, 1.0, engines=1),
    }
    disturbed, impossible, throttled = on(3.0, 1.1), on(3.0, 1.1), on(3.0, 1.1)
    for one in disturbed:
        one["total_ms"] *= 2.5
    for one in impossible:
        one["total_ms"] /= 2.5
    throttled[2]["total_ms"] *= 1.3
    broken = {"something else ran": disturbed, "faster than its engines": impossible, "one was disturbed": throttled}
    passing = {"a clock that ticks in 256ths of a millisecond": "a 256th of a ms is within what measurements spread"}
    passing["stage by stage, the copies alone"] = "in these pipelines, copies hide the kernels"
    passing["with one engine, the copy out takes as long as the copy in"] = "in these pipelines, it does"
    passing["whole milliseconds"] = "less than one ms is within what measurements spread"
    assert findings(declared()["pipeline_ms"], CHAPTER, plausible, broken, passing) == []


# --------------------------------------------------------------------------------------------------- loader_settings


def loader(step_ms: float, sample_ms: float = 4.1, slower: float = 1.02, pinned_ms: float = 0.04) -> dict[str, Any]:
    """What a loader of samples that take their time shows: a batch's work over the workers, or the step."""
    work = sample_ms * loading.BATCH
    taken = {str(n): slower * max(step_ms, work / n) for n in range(1, loading.MOST_WORKERS + 1)}
    lines = {"pageable": 31.0, "pinned": pinned_ms}
    return {"sample_ms": sample_ms, "batch_size": 8, "step_ms": step_ms, "step_to_step_ms": taken, "line_ms": lines}


def test_loader_settings() -> None:
    passing = {
        "a batch's time rounded to whole ms": "these products are whole",
        "more workers than cores": "this loader needs fewer workers than any machine has cores",
        "one too many where it comes out even": "measured times never come out even",
        "adds 0.999 instead of rounding up": "measured times never come out so close to even",
        "a single worker is started anew": "the reading is of one epoch",
        "workers started anew every epoch": "the reading is of one epoch",
        "nothing prepared ahead": "it is of the default prefetch_factor",
        "a key is missing": "it is of two keys",
        "leaves a core free": "this loader needs fewer workers than any machine has cores",
        "half of the cores": "this loader needs fewer workers than half of the cores",
        "one worker where the cores are too few": "this loader needs fewer workers than any machine has cores",
        "the step in whole ms": "so little changes the number of workers here only by luck",
        "the step rounded to whole ms": "so little changes the number of workers here only by luck",
        "whole milliseconds per image": "so little changes the number of workers here only by luck",
        "a tenth more than needed": "so little changes the number of workers here only by luck",
        "at least two workers": "this loader needs more than one",
        "never more than 32": "this loader needs fewer workers",
        "whole images in a step, rounded first": "so little changes the number of workers here only by luck",
        "whole images per worker and step": "so little changes the number of workers here only by luck",
    }
    plausible = {
        "steps of 13 ms": loader(13.2),
        "a host with coarse timers": loader(13.6, sample_ms=4.3, slower=1.06),
        "a slow host": loader(14.0, sample_ms=4.4, slower=1.09, pinned_ms=0.4),
    }
    broken = {
        "no number of workers keeps up": loader(13.2, slower=1.4),
        "one worker is enough": loader(40.0),
        "it nearly comes out even": loader(16.0),
        "a pinned copy waits": loader(13.2, pinned_ms=30.0),
    }
    assert findings(declared()["loader_settings"], CHAPTER, plausible, broken, passing) == []


@pytest.mark.alone
@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # torch, on a machine with two cores
def test_a_real_loader_gives_such_readings() -> None:
    """On the CPU, with a pause for a step: one worker needs a batch's work for each step, three need less."""
    one, three = (loading.step_to_step_ms(n, False, lambda batch: time.sleep(0.01)) for n in (1, 3))
    assert one > 0.95e3 * loading.SAMPLE_S * loading.BATCH
    assert three < one
