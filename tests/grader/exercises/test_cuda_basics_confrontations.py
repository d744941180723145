"""Chapter 02 against readings: what launches of several sizes wrote to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confronted import findings, sentences
from courses import ROOT

from gpulab import cuda_cpp
from grader.authoring.myst import read_source
from grader.dev.gpu_rows import met
from grader.exercises.cuda_basics import coverage
from grader.exercises.cuda_basics.confrontations import CONFRONTATIONS

NAMED = {one.exercise: one for one in CONFRONTATIONS}


def test_every_exercise_says_how_it_meets_the_gpu() -> None:
    assert len(met(read_source(ROOT / "solutions" / "02_cuda_basics.md"))) == 7
    assert sentences(CONFRONTATIONS) == []


@pytest.fixture(scope="module")
def taken() -> dict[str, Any]:
    """The readings themselves: without a GPU their kernel runs in the tracer, and there is no other right result."""
    return {name: json.loads(json.dumps(one.take())) for name, one in NAMED.items()}


def changed(readings: Any, change: Any) -> Any:
    """The readings with every count of elements changed."""
    return [[*case, [[grid, change(grid, count)] for grid, count in tried]] for *case, tried in readings]


def broken(readings: Any) -> dict[str, Any]:
    return {
        "the kernel did not run": changed(readings, lambda grid, count: 0),
        "every launch reached all": changed(readings, lambda grid, count: 10**6),
        "the last launch failed": [[*case, [*tried[:-1], [tried[-1][0], 1]]] for *case, tried in readings],
        "one block early": changed(readings, lambda grid, count: count if max(grid) < 5 else max(1, count - 1)),
    }


def test_blocks_for(taken: dict[str, Any]) -> None:
    readings = taken["blocks_for"]
    few = [case for case in readings if case[0] < 5000]
    passing = {
        "at least one block, even for nothing": "no GPU launches 0 blocks, so 0 elements have no reading",
        "no more than 65,535 blocks": "the grids of all readings are smaller",
        "shifts by the bits of the block's size": "the blocks of all readings are powers of two",
        "divides in float32": "float32 holds the sizes of all readings exactly",
    }
    plausible = {"any GPU": readings, "with less memory": few}
    assert findings(NAMED["blocks_for"], "02", plausible, broken(readings), passing) == []


def test_grid_for(taken: dict[str, Any]) -> None:
    readings = taken["grid_for"]
    plausible = {"any GPU": readings, "in another order": readings[::-1]}
    passing = {"rounds, with a little more than a half": "no reading needs a block for so small a part of one"}
    assert findings(NAMED["grid_for"], "02", plausible, broken(readings), passing) == []


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_the_kernel_compiles_for(arch: str) -> None:
    assert cuda_cpp.compile(coverage.TOUCH_CU, arch)
