"""Measures what the course claims about a GPU, and compares each number with its bar in `data/bars.csv`.

The functions that are timed are the chapters' own solutions, read from the solution notebooks.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gpulab.numpy_names  # noqa: F401 # before a solution's kernel compiles: the cell that imports the tracer is not run
from grader.dev.prove import amp
from grader.dev.prove.rows import said
from grader.dev.prove.run import Say
from grader.model.course import Course, CourseError
from grader.model.notebooks import Role, load_key
from grader.model.syntax import syntax_tree

BYTES = 2_000_000_000
"""Of the largest array: far beyond any cache."""
LANE_GBS = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}
"""PCI Express generation → GB/s of one lane, one way (PCI-SIG, after encoding)."""
VOCABULARY = {"tokens": 8192, "features": 768, "outputs": 50257}


@dataclass(frozen=True)
class MeasuredNumber:
    """One number of `data/bars.csv`, measured, with its bar."""

    name: str
    what: str
    unit: str
    value: float
    spread: float
    """Half the distance between the quartiles, where there are runs to tell."""
    runs: int
    low: float | None
    high: float | None
    source: str

    @property
    def reached(self) -> bool:
        """Whether it lies between its bars."""
        low = self.low is None or self.value >= self.low
        return low and (self.high is None or self.value <= self.high)

    def shown(self) -> str:
        """The value, as it is said."""
        unit = f" {self.unit}" if self.unit and self.unit != "×" else self.unit
        spread = f" ± {self.spread:.2g}" if self.spread else ""
        return f"{self.value:.3g}{spread}{unit}"

    def bar(self) -> str:
        """The bar, as it is said."""
        if self.low is not None and self.high is not None:
            return f"expected {self.low:g} to {self.high:g}"
        if self.low is not None:
            return f"expected {self.low:g} at least"
        return f"expected {self.high:g} at most" if self.high is not None else "no bar"


@dataclass(frozen=True)
class MeasuredFigures:
    """The ceilings and the claimed numbers of one GPU."""

    ceilings: dict[str, Any]
    figures: tuple[MeasuredNumber, ...]
    failed: dict[str, str] = field(default_factory=dict)
    """Its name → why it could not be measured."""
    broken: tuple[str, ...] = ()
    """Those that failed for another reason than what this machine lacks: faults of the measurement."""


@dataclass(frozen=True)
class _Value:
    """What a measurement gives."""

    value: float
    spread: float = 0.0
    runs: int = 1


def measured(course: Course, say: Say) -> MeasuredFigures:
    """Ceilings, then every number whose chapter is there."""
    from gpulab.measuring import machine

    say("measuring ceilings")
    ceilings = machine.ceilings(fresh=True)
    if ceilings.kind != "cuda":
        what = "the driver shows a GPU, but PyTorch sees none: what was measured are the processor's ceilings"
        raise CourseError("torch", what, '"grader doctor" says why PyTorch cannot use it.')
    if without := unknown(ceilings.device):
        say(without)
    bench = _Bench(course, ceilings)
    figures: list[MeasuredNumber] = []
    failed: dict[str, str] = {}
    broken: tuple[str, ...] = ()
    for bar in bars():
        measure = getattr(bench, bar["figure"], None)
        if measure is None:
            raise CourseError("data/bars.csv", f"nothing measures {bar['figure']!r}", "Write it in grader/prove.")
        say(f"measuring {bar['what']}")
        try:
            found = measure()
        except Exception as error:  # one number that cannot be measured affects no other
            failed[bar["figure"]] = said(error)
            broken += () if isinstance(error, CourseError) else (bar["figure"],)
            continue
        low, high = limits(bar, ceilings.device)
        figures.append(
            MeasuredNumber(
                bar["figure"], bar["what"], bar["unit"] or "", found.value, found.spread, found.runs, low, high,
                bar["source"],
            )
        )  # fmt: skip
    return MeasuredFigures(dataclasses.asdict(ceilings), tuple(figures), failed, broken)


def bars() -> list[dict[str, Any]]:
    """The rows of `data/bars.csv`."""
    from gpulab import table

    return table("bars")


def judged_again(kept: dict[str, Any]) -> MeasuredFigures:
    """What was measured earlier, with the bars of today: they may have been corrected by what it found.

    Args:
        kept: `MeasuredFigures` as a plain dict.
    """
    ends = {bar["figure"]: limits(bar, kept["ceilings"]["device"]) for bar in bars()}
    figures = (MeasuredNumber(**one) for one in kept["figures"])
    judged = tuple(
        dataclasses.replace(one, low=ends[one.name][0], high=ends[one.name][1]) for one in figures if one.name in ends
    )
    return MeasuredFigures(kept["ceilings"], judged, kept["failed"], tuple(kept.get("broken", ())))


def findings(found: MeasuredFigures) -> tuple[str, ...]:
    """What is not as it must be, one sentence each."""
    below = tuple(f"{one.what}: {one.shown()}, {one.bar()}" for one in found.figures if not one.reached)
    return below + tuple(f"{name}: {found.failed[name]}" for name in found.broken)


def limits(bar: dict[str, Any], device: str) -> tuple[float | None, float | None]:
    """Low and high of a bar for a device: those that are shares of its datasheet are multiplied by what stands there.

    A device without a row, or whose row says nothing of it, has no such bar: it is compared with ratios alone.
    """
    factor = 1.0
    if bar["times"]:
        try:
            row = datasheet(device)
        except CourseError:
            return None, None
        above, _, below = str(bar["times"]).partition(" / ")
        if not row[above] or (below and not row[below]):
            return None, None
        factor = float(row[above]) / (float(row[below]) if below else 1.0)
    low, high = (None if bar[end] is None else factor * bar[end] for end in ("low", "high"))
    return low, high


def unknown(device: str) -> str:
    """What is said of a device that the table does not have; empty for one that it has."""
    try:
        datasheet(device)
    except CourseError:
        return f"data/gpus.csv has no row for {device}: it is compared with ratios only, not with a datasheet"
    return ""


def datasheet(device: str) -> dict[str, Any]:
    """The row of `data/gpus.csv` for a device as its driver calls it.

    Raises:
        CourseError: there is none.
    """
    from gpulab.tables import row_of_device

    row = row_of_device(device)
    if row is None:
        raise CourseError("data/gpus.csv", f"has no row for {device}", "Add it, with its source.")
    return row


def link_gbs() -> float:
    """What the link between host and this machine's first GPU carries one way, by generation and width."""
    import pynvml

    pynvml.nvmlInit()
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        generation = pynvml.nvmlDeviceGetMaxPcieLinkGeneration(handle)
        lanes = pynvml.nvmlDeviceGetMaxPcieLinkWidth(handle)
    except pynvml.NVMLError as error:
        raise CourseError("the driver", f"does not say how the GPU is connected ({error})", "Nothing to do.") from None
    finally:
        pynvml.nvmlShutdown()
    return LANE_GBS[generation] * float(lanes)


class _Bench:
    """One method for every number, by its name in `data/bars.csv`."""

    def __init__(self, course: Course, ceilings: Any) -> None:
        self._course, self._ceilings = course, ceilings

    def copy_share(self) -> _Value:
        return _Value(self._ceilings.copy_gbs / datasheet(self._ceilings.device)["bandwidth_gbs"], runs=15)

    def bf16_matmul(self) -> _Value:
        return _Value(self._rate("bfloat16") / 1e3, runs=10)

    def half_over_single(self) -> _Value:
        return _Value(self._rate("bfloat16") / self._rate("float32"), runs=10)

    def h2d_share(self) -> _Value:
        return _Value(self._ceilings.h2d_gbs / link_gbs(), runs=10)

    def pinned_gain(self) -> _Value:
        return _Value(self._ceilings.h2d_gbs / self._ceilings.h2d_pageable_gbs, runs=10)

    def transpose_cpp_share(self) -> _Value:
        from gpulab.cuda_kernels import transposing

        return self._copy_share(transposing(self._solution("03", "TRANSPOSE_CU")))

    def transpose_share(self) -> _Value:
        return self._copy_share(self._solution("03", "transpose_tiled"))

    def total_share(self) -> _Value:
        import torch

        x = torch.rand(BYTES // 4, device="cuda")
        timing = _timed(self._solution("03", "total"), x)
        rate_gbs = 4 * x.numel() / (timing.median_ms * 1e6)
        return _Value(rate_gbs / self._ceilings.copy_gbs, runs=timing.runs)

    def saxpy_share(self) -> _Value:
        import numpy as np
        import torch

        from gpulab.cuda_kernels import cuda_kernel

        kernel = cuda_kernel(self._solution("02", "SAXPY_CU"), "saxpy")
        x, y = (torch.rand(BYTES // 8, device="cuda") for _ in range(2))
        blocks = 32 * torch.cuda.get_device_properties(0).multi_processor_count
        timing = _timed(lambda: kernel[blocks, 256](np.float32(1.5), x, y, x.numel()))
        rate_gbs = 3 * 4 * x.numel() / (timing.median_ms * 1e6)  # x and y read, y written
        return _Value(rate_gbs / datasheet(self._ceilings.device)["bandwidth_gbs"], runs=timing.runs)

    def padded_gain(self) -> _Value:
        from gpulab.measuring import speedup
        from grader.exercises.tensor_cores.comparisons import PADDED

        padded = self._solution("04", "padded_linear")
        speed = speedup.against(padded, PADDED, calls=8, **VOCABULARY)
        return _Value(speed.median, speed.spread, speed.rounds)

    def overlap_share(self) -> _Value:
        from gpulab.measuring import speedup
        from grader.exercises.transfers.comparisons import OVERLAP, stages

        stage = stages(1 << 23)
        size = {"count": 20, "elements": 1 << 23, "work_rounds": stage.rounds}
        overlapped = self._solution("06", "overlapped")
        speed = speedup.against(overlapped, OVERLAP, calls=1, **size)
        ideal = stage.ideal(20)
        return _Value(speed.median / ideal, speed.spread / ideal, speed.rounds)

    def amp_gain(self) -> _Value:
        from gpulab import Problem

        gains = amp.gain(Problem("resnet50", samples=512, batch_size=512, lr=0.02, device="cuda"))
        return _Value(statistics.median(gains), amp.spread(gains), len(gains))

    def amp_accuracy(self) -> _Value:
        from gpulab import Problem

        ways = self._solution("05", "train_float32"), self._solution("05", "train_amp")
        problems = [Problem("cnn", seed=seed, device="cuda") for seed in range(6)]
        points = amp.accuracy_points(*ways, problems, epochs=20)
        return _Value(abs(statistics.mean(points)), amp.spread(points), len(points))

    def lightning_steps(self) -> _Value:
        from gpulab import Problem

        lightning = self._solution("05", "train_lightning", "QUIET")
        ratios = amp.step_ratios(
            lambda problem, epochs: lightning(problem, "16-mixed", epochs),
            self._solution("05", "train_amp"),
            Problem("resnet50", samples=1024, batch_size=512, lr=0.02, device="cuda"),
        )
        return _Value(statistics.median(ratios), amp.spread(ratios), len(ratios))

    def _rate(self, kind: str) -> float:
        if kind not in self._ceilings.matmul_gflops:
            raise CourseError(self._ceilings.device, f"has no {kind} on tensor cores", "Nothing to do.")
        return float(self._ceilings.matmul_gflops[kind])

    def _copy_share(self, transpose: Callable[..., Any]) -> _Value:
        import torch

        from gpulab.measuring.timing import race

        slower = race(transpose, torch.clone, (torch.rand((16384, 24576), device="cuda"),), runs=10, on="cuda")
        return _Value(1 / slower.median, slower.spread / slower.median**2, slower.runs)

    def _solution(self, chapter: str, name: str, *needed: str) -> Any:
        """What a chapter's own code defines under this name; `needed` are names of other cells that it uses.

        Raises:
            CourseError: the chapter is not there, or defines no such name.
        """
        key = load_key(self._course.chapter(chapter))
        namespace: dict[str, Any] = {"__name__": "__main__"}
        for wanted in (*needed, name):
            defines = re.compile(rf"^(def )?{wanted}\b", re.MULTILINE)
            codes = (cell for cell in key.cells if cell.role in (Role.CODE, Role.SOLUTION))
            cell = next((cell for cell in codes if defines.search(cell.source)), None)
            if cell is None:
                remedy = "Has it been renamed? grader/dev/prove/claimed_numbers.py measures it."
                raise CourseError(key.name, f"defines no {wanted}", remedy)
            exec(compile(definitions(cell.source), f"<{cell.id}>", "exec"), namespace)
        return namespace[name]


def definitions(source: str) -> ast.Module:
    """A cell without what it does: imports, functions and assignments stay, output and loops go."""
    tree = syntax_tree(source)
    kept = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign)
    tree.body = [node for node in tree.body if isinstance(node, kept)]
    return tree


def _timed(function: Callable[..., Any], *arguments: Any) -> Any:
    from gpulab import measure

    return measure(function, *arguments, runs=15, at_most_s=3.0)
