"""What the engine for PTX has to reach in speed, memory, and counts, measured in one run: `make bars`.

Times are of the processor, so that other programs on the machine hardly matter. Each is the median of several runs
after one that warms up.
"""

from __future__ import annotations

import ast
import ctypes
import gc
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpulab import cuda_cpp
from gpulab.trace.ptx import kernels
from gpulab.trace.ptx.codegen.translate import KernelCode
from gpulab.trace.ptx.cpp import launch_source
from gpulab.trace.ptx.launch import Options
from gpulab.trace.ptx.program import kernel_names
from gpulab.trace.ptx.runtime.machine import CompiledModule, runtime
from gpulab.trace.ptx.text.nvrtc import ptx_of
from gpulab.trace.ptx.text.parser import parse
from gpulab.trace.python.execute import traced_run
from gpulab.trace.python.interruption import Budget
from grader.authoring.answers import Answer, AnswerKind
from grader.dev.bench.promises import Target

from . import bank, recorded

SIDE = 256
"""Of the matrices that are multiplied."""
LARGE = 1024
"""Of the matrix that is transposed."""
ELEMENTS = 1 << 21
"""That are updated again and again in the measurement of memory: what is kept for them goes back to the system at once,
since the C library keeps no piece of more than 32 MiB."""
UPDATES = r"""
extern "C" __global__ void update(float* x, int times) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int n = 0; n < times; n++) ((volatile float*)x)[i] += 1.0f;
}
"""


@dataclass(frozen=True)
class Bar(Target):
    """One number that has a bound."""

    runs: int = 1
    of: str = ""
    """What was measured, if there is a choice."""

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        verdict = "" if self.met else "   MISSED"
        told = f" ({self.of})" if self.of else ""
        number = f"{self.measured:>9,.4g} {self.unit:<13} {sign} {self.wanted:<6,.4g}"
        return f"{self.what:<62} {number} {self.runs} run{'s' * (self.runs != 1)}{told}{verdict}"


def seconds(action: Callable[[], Any], runs: int) -> float:
    """Of processor time, the median of so many runs after one that warms up."""
    action()
    return measured(action, runs)


def measured(action: Callable[[], Any], runs: int) -> float:
    """The same without a run before."""
    found = []
    for _ in range(runs):
        began = time.thread_time()
        action()
        found.append(time.thread_time() - began)
    return statistics.median(found)


# ------------------------------------------------------------------------------------------------ kernels of the course


def cpp_sources(answer: Answer) -> list[str]:
    """The strings of an answer that hold kernels in CUDA C++."""
    values = [node.value for node in ast.walk(ast.parse(answer.source)) if isinstance(node, ast.Constant)]
    return [value for value in values if isinstance(value, str) and "__global__" in value]


def right_answers() -> Iterator[Answer]:
    """To all exercises of which one is written in CUDA C++."""
    for path in sorted(bank.ROOT.glob("answers/*/*.py")):
        if "__global__" in path.read_text():
            yield from (one for one in bank.answers(path.stem) if one.kind is AnswerKind.RIGHT)


def course_kernels() -> dict[str, str]:
    """Name → PTX: of every right answer in CUDA C++, and of the first one to each exercise with Numba."""
    found = {}
    for answer in right_answers():
        for source in cpp_sources(answer):
            found[f"{answer.exercise}, {answer.title}"] = ptx_of(source)
    for exercise in bank.INPUTS:
        engine = bank.Ptx()
        with pytest.MonkeyPatch().context() as patch:
            translated = kernels.translated

            def kept(text: str, *how: Any, exercise: str = exercise) -> Any:
                found[f"{exercise} in Numba"] = text
                return translated(text, *how)  # noqa: B023 - called in this round only

            patch.setattr(kernels, "translated", kept)
            bank.execute(first(exercise), patch, engine)
    return found


def first(exercise: str, title: str = "") -> Answer:
    """The first right answer to an exercise, or the one of this title."""
    return next(one for one in bank.answers(exercise) if one.kind is AnswerKind.RIGHT and title in ("", one.title))


# ------------------------------------------------------------------------------------------------------------- the bars


def speeds(runs: int) -> Iterator[Bar]:
    """Thread-instructions per second, of the course's matrix product in CUDA C++."""
    (source,) = cpp_sources(first("matmul_tiled", "CUDA C++"))
    text = ptx_of(source)
    (name,) = kernel_names(text)
    grid = (SIDE // 16, SIDE // 16)
    arguments = [bank.drawn(SIDE, SIDE), bank.drawn(SIDE, SIDE), bank.drawn(SIDE, SIDE), SIDE, SIDE, SIDE]
    for counted, bound in ((True, 20), (False, 100)):

        def launch(counted: bool = counted) -> Any:
            return launch_source(source, name, grid, (16, 16), arguments, counted, options=Options(100.0), ptx=text)

        rate = launch().instructions / seconds(launch, runs) / 1e6
        what = f"Instructions of threads, {'counted' if counted else 'not counted'}"
        yield Bar(what, rate, bound, True, "million/s", runs, f"product of {SIDE}²")


class Timed:
    """Runs launches with an engine, and keeps the time that they took."""

    def __init__(self, engine: Callable[..., Any]) -> None:
        self.engine, self.seconds = engine, 0.0

    def __call__(self, *given: Any) -> Any:
        began = time.thread_time()
        try:
            return self.engine(*given)
        finally:
            self.seconds += time.thread_time() - began


def against_tracer(runs: int) -> Bar:
    """Times that the tracer of Python takes as long for the same kernel; it runs a part of the blocks only."""
    answer, left, right = first("matmul_tiled"), bank.drawn(SIDE, SIDE), bank.drawn(SIDE, SIDE)

    def once(engine: Callable[..., Any], rows: int) -> float:
        timed = Timed(engine)
        bank.execute(answer, pytest.MonkeyPatch(), timed, (left[:rows], right))
        return timed.seconds

    def patient(*given: Any) -> Any:
        return traced_run(*given, budget=Budget(seconds=600.0, all_seconds=600.0, accesses=1 << 40))

    once(bank.Ptx(), SIDE)
    part = SIDE // 16
    pairs = [(once(patient, part) * 16, once(bank.Ptx(), SIDE)) for _ in range(runs)]
    ratio = statistics.median(slow / fast for slow, fast in pairs)
    slow, fast = (statistics.median(column) for column in zip(*pairs, strict=True))
    told = f"matmul_tiled, {SIDE}²: {slow:.0f} s, from a sixteenth of the blocks, and {fast:.2f} s"
    return Bar("Time of the Python tracer / time of the engine", ratio, 10, True, "×", runs, told)


def transpose(runs: int) -> Bar:
    """From source to counts, each time of another text, so that nothing is at hand."""
    (source,) = cpp_sources(first("transpose_tiled", "CUDA C++"))
    (name,) = kernel_names(ptx_of(source))
    grid, texts = (LARGE // 32, LARGE // 32), iter(range(runs))

    def trace() -> None:
        square = bank.drawn(LARGE, LARGE)
        fresh = f"{source}\n// {next(texts)}"
        cuda_cpp.trace(fresh, name, grid, (32, 8), square, np.empty_like(square), LARGE, LARGE)

    return Bar("Transpose, compiled and traced", measured(trace, runs), 3, False, "s", runs, f"{LARGE}²")


def translation(runs: int) -> Bar:
    """Parse and translate, the slowest kernel of the course."""
    runtime()

    def translate(text: str) -> None:
        module = parse(text)
        for name in kernel_names(text):
            CompiledModule(KernelCode(module, name, True).text(), level=0)

    every = course_kernels()
    times = {name: seconds(lambda text=text: translate(text), runs) * 1e3 for name, text in every.items()}
    slowest = max(times, key=lambda name: times[name])
    what = f"Parse and translate, slowest of {len(times)} kernels of the course"
    return Bar(what, times[slowest], 50, False, "ms", runs, slowest)


def memory(runs: int) -> Bar:
    """How much more memory a launch with four times the accesses needs."""
    x = np.zeros(ELEMENTS, np.float32)

    def growth(times: int) -> int:
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # freed memory that the process still holds would hide what is allocated
        before = resident("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        launch_source(UPDATES, "update", ELEMENTS // 256, 256, [x, times], True)
        return resident("VmHWM") - before

    growth(1)
    pairs = [(growth(8), growth(2)) for _ in range(runs)]
    ratio = statistics.median(more / fewer for more, fewer in pairs)
    told = f"{pairs[0][1] / 1024:.0f} MiB with {4 * ELEMENTS:,} accesses"
    return Bar("Memory of a launch with four times the accesses", ratio, 1.1, False, "×", runs, told)


def resident(name: str) -> int:
    """Of this process, in KiB: VmRSS for now, VmHWM for its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def counts() -> Bar | None:
    """Launches that another emulator of PTX counts otherwise; None where its counts are not at hand."""
    place = recorded.recording()
    if place is None:
        return None
    differ = recorded.differences(place)
    told = "; ".join(f"{exercise}, {title}" for exercise, title in differ)
    what = f"Of {len(recorded.recorded_counts(place))} launches, those that another emulator counts otherwise"
    return Bar(what, len(differ), 0, False, "", 1, told)


def bars(runs: int = 5) -> Iterator[Bar]:
    """All of them, one after the other."""
    yield from speeds(runs)
    yield against_tracer(min(runs, 3))
    yield transpose(runs)
    yield translation(min(runs, 3))
    yield memory(min(runs, 3))
    compared = counts()
    if compared is not None:
        yield compared


def device() -> str:
    """What the numbers were measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
    versions = ", ".join(f"{package} {version(package)}" for package in ("llvmlite", "numba-cuda", "numpy"))
    return f"{name}, {os.cpu_count()} cores; Python {platform.python_version()}, {versions}"


def main() -> None:
    """Prints each bar as soon as it is measured; exits with 1 if one is missed."""
    print(device(), flush=True)
    missed = 0
    for bar in bars():
        print(bar, flush=True)
        missed += not bar.met
    if recorded.recording() is None:
        print("No counts of another emulator are at hand to compare with.")
    print(f"{missed} bars missed" if missed else "All bars met")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
