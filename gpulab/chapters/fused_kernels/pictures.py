"""Figures of the chapter on fused kernels that take more than one call of `gpulab.plot`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpulab.figures import plot
from gpulab.figures.styling import number
from gpulab.tables import gpu_row, table

_SIZES = {"Llama 3.2 1B, batch 1 x 512": "1B", "Llama 3.1 8B, batch 1 x 8192": "8B"}


def draw_intensity(intensities: Mapping[str, float]) -> None:
    """Where element-wise work lies on the roofline of an H200.

    Args:
        intensities: name → FLOP per byte.
    """
    plot.roofline(
        {"H200": gpu_row("H200")},
        dict(intensities),
        title="Element-wise work lies far to the left of the ridge: only the bytes count",
        note="H200, float32 peak and memory bandwidth of the datasheet",
    )


def draw_kernels(ways: Mapping[str, Sequence[Mapping[str, Any]]], elements: int) -> None:
    """How often each kernel of several ways to do the same moves the elements over memory.

    Args:
        ways: name → launches, as `trace.counting()` gives them.
        elements: float32 elements of the input.
    """
    bars: dict[str, float] = {}
    totals = []
    for name, launches in ways.items():
        kernels = [launch for launch in launches if launch["kind"] != "allocation"]
        moved = [(one["bytes_read"] + one["bytes_written"]) / (4 * elements) for one in kernels]
        totals.append(f"{name}: {number(round(sum(moved)))}")
        bars |= {f"{name}: {one['kernel'].removeprefix('aten::')}": at for one, at in zip(kernels, moved, strict=True)}
    fused = [label for label in bars if label.startswith(list(ways)[-1])]
    plot.bars(
        bars,
        title=f"Memory crossings {', '.join(totals)}",
        y="times that the matrix crosses memory",
        note="Counted, reads and writes together",
        highlight=fused,
    )


def draw_launch_costs() -> None:
    """Time of a kernel against its size on an H200, launched one by one and from a CUDA graph."""
    names = {"launch": "launched one by one", "graph": "in a CUDA graph"}
    series: dict[str, dict[float, float]] = {name: {} for name in names.values()}
    for row in table("launch_costs"):
        moved_kb = float(row["bytes_moved"] or 0) / 1e3
        series[names[str(row["mode"])]][moved_kb] = float(row["us_per_kernel"] or 0)
    plot.lines(
        series,
        title="Below 2 MB a kernel costs its launch; in a graph, half of that",
        x="moved by each kernel, kB",
        y="time per kernel, µs",
        note="H200, measured by te42kyfo/gpu-benches (commit 1c36d509), best of six block sizes",
        log_x=True,
    )


def draw_compile_modes() -> None:
    """How many times faster than eager two language models are in each mode of `torch.compile` on a B200."""
    rows = table("compile_modes")
    eager = {(row["model"], row["work"]): float(row["ms"] or 0) for row in rows if row["mode"] == "eager"}
    series: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["mode"] != "eager":
            label = f"{_SIZES[str(row['model'])]}, {row['work']}"
            speed = round(eager[row["model"], row["work"]] / float(row["ms"] or 1), 2)
            series.setdefault(str(row["mode"]), {})[label] = speed
    plot.bars(
        series,
        title="Small model six times as fast, large one slower",
        y="speed, eager = 1",
        note="Llama 3.2 1B, 1 × 512 tokens, and 3.1 8B, 1 × 8,192 tokens; B200, PyTorch 2.13, bfloat16, measured by "
        "stas00/ml-engineering (commit 744d01e1)",
    )
