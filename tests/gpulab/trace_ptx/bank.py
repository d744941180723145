"""Answers of the kernel exercises, run by the Python tracer and as the PTX that Numba makes of them."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import cuda, float32

import gpulab
from gpulab import trace
from gpulab.trace import launch as launches
from gpulab.trace.ptx.kernels import run_kernel
from gpulab.trace.ptx.launch import Options, PtxLaunch
from gpulab.trace.ptx.report import trace_of
from gpulab.trace.ptx.runtime import layout
from grader.authoring.answers import Answer, parse

ROOT = Path(__file__).parents[3]
DRAW = np.random.default_rng(0)


def drawn(*shape: int) -> Any:
    """Random float32."""
    return DRAW.random(shape, dtype=np.float32)


# The seed of the histogram is one of those with which its counts are those of the recording, as far as these depend on
# the values: 1,181 bins that a block of 256 values fills, 313 and 316 wavefronts.
INPUTS: dict[str, tuple[Any, ...]] = {
    "vec_add": (drawn(1000), drawn(1000)),
    "saxpy": (2.5, drawn(5000), drawn(5000)),
    "scale_rows": (drawn(50, 100), drawn(50)),
    "add_bias": (drawn(50, 100), drawn(100)),
    "block_reverse": (drawn(700),),
    "moving_average": (drawn(700), 5),
    "total": (drawn(3000),),
    "transpose_tiled": (drawn(64, 96),),
    "matmul_tiled": (drawn(40, 48), drawn(48, 56)),
    "histogram": (np.random.default_rng(81).integers(0, 60, 5000).astype(np.int32), 60),
}


def answers(exercise: str) -> list[Answer]:
    """Of an exercise, all kinds."""
    (path,) = ROOT.glob(f"answers/*/{exercise}.py")
    return parse(path.read_text(), exercise, str(path))


def execute(
    answer: Answer,
    monkeypatch: pytest.MonkeyPatch,
    engine: Callable[..., Any] | None,
    inputs: tuple[Any, ...] | None = None,
) -> tuple[Any, list[Any]]:
    """What an answer returns, and the traces of its launches.

    Args:
        answer: with a host function of the exercise's name.
        monkeypatch: of the test.
        engine: what runs launches; None for the Python tracer.
        inputs: if not those of `INPUTS`.
    """
    name = f"/answers/{answer.exercise}/{abs(hash(answer.source))}.py"
    linecache.cache[name] = (len(answer.source), None, [line + "\n" for line in answer.source.splitlines()], name)
    names = ("device_array", "empty", "to_numpy")
    namespace: dict[str, Any] = {name: getattr(gpulab, name) for name in names}
    namespace |= {"np": np, "cuda": cuda, "float32": float32, "trace": trace}
    with monkeypatch.context() as patch:
        if engine is not None:
            patch.setattr(launches, "traced_run", engine)
        exec(compile(answer.source, name, "exec"), namespace)
        given = [gpulab.device_array(x) if isinstance(x, np.ndarray) else x for x in inputs or INPUTS[answer.exercise]]
        with trace.recording() as traces:
            result = namespace[answer.exercise](*given)
    return np.asarray(gpulab.to_numpy(result)), traces


class Ptx:
    """Runs launches as PTX, and keeps them."""

    def __init__(self) -> None:
        self.launches: list[PtxLaunch] = []

    def __call__(self, kernel: Any, grid: Any, block: Any, arguments: Any, shared_bytes: int = 0) -> Any:
        launch = run_kernel(kernel, grid, block, arguments, shared_bytes, Options(seconds=3.0))
        self.launches.append(launch)
        return trace_of(launch, kernel.py_func.__name__)

    def sums(self) -> dict[str, tuple[int, int, int]]:
        """Space and kind → elements, requests, sectors or wavefronts."""
        found: Counter[tuple[str, int]] = Counter()
        for launch in self.launches:
            for number, site in enumerate(launch.code.sites):
                space = "shared" if site.space == layout.IN_SHARED_SPACE else "global"
                kind = ("load", "store", "atomic")[site.kind]
                total = launch.tallies[number].sum(axis=0)
                for place, slot in enumerate((layout.T_ELEMENTS, layout.T_REQUESTS, layout.T_COST)):
                    found[f"{space} {kind}", place] += int(total[slot])
        kinds = {kind for (kind, place), count in found.items() if count}
        return {kind: (found[kind, 0], found[kind, 1], found[kind, 2]) for kind in kinds}
