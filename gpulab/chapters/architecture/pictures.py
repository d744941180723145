"""Draws what the architecture chapter measures and models: races of workers, scenes, rates, occupancy.

What is drawn comes from `architecture.workers` and `architecture`, or from the student's own functions; diagrams of the
hardware are `architecture.diagrams`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from gpulab.chapters.architecture.models import scenes
from gpulab.chapters.architecture.workers import STRATEGIES, Speedup, WorkerIntervals
from gpulab.figures import plot
from gpulab.figures.styling import BLUE, FAINT, GRAY, INK, ORANGE, canvas, number, show, style, tidy
from gpulab.measuring.devices import device_name
from gpulab.measuring.timing import Ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_turns(lanes: Sequence[WorkerIntervals]) -> None:
    """When two threads and two processes were computing."""
    spans = [
        plot.Span(lane.worker, start, stop, kind=lane.worker.split()[0])
        for lane in lanes
        for start, stop in lane.busy_ms
    ]
    plot.timeline(
        spans,
        title="Two threads of Python code take turns; two processes do not have to",
        x="time since the first of the pair began, ms",
        note=f"Measured on {device_name('cpu')}; colored: counting in pure Python; least disturbed of 5 runs",
    )


def draw_speedups(races: Sequence[Speedup]) -> None:
    """How many times faster four tasks of each kind went in three ways."""
    where = device_name("cpu")
    values: dict[str, dict[str, Ratio]] = {strategy: {} for strategy in STRATEGIES}
    for race in races:
        values[race.strategy][race.kind] = Ratio(race.ratio, race.spread, race.runs, where)
    plot.bars(
        values,
        title="Which workers help depends on who holds the lock and who yields",
        y="times faster than one after another (4 tasks)",
        note=f"Measured on {where}, fastest of {races[0].runs} runs each; processes already started",
    )


def draw_scenes(vertex_units: int = 8, pixel_units: int = 24) -> None:
    """Busy and idle units over time: on the left separate units, on the right unified ones."""
    rows = scenes(vertex_units, pixel_units)
    units = vertex_units + pixel_units
    longest = max(row.separate_ms for row in rows)
    with style():
        figure, whole = canvas(
            "Separate units wait for each other; equal units never do",
            f"Model, not a measurement: {vertex_units} vertex and {pixel_units} pixel units, or {units} that do both; "
            "each block is units × time; gray: idle",
            4.2,
        )
        whole.set_axis_off()
        for place, row in enumerate(rows):
            bottom = 0.12 + (len(rows) - 1 - place) * 0.29
            left, right = whole.inset_axes((0.13, bottom, 0.56, 0.23)), whole.inset_axes((0.71, bottom, 0.28, 0.23))
            left.barh([0, pixel_units], row.separate_ms, [pixel_units, vertex_units], align="edge", color=FAINT)
            left.barh(0, row.pixel_work / pixel_units, pixel_units - 0.6, align="edge", color=BLUE)
            left.barh(pixel_units, row.vertex_work / vertex_units, vertex_units, align="edge", color=ORANGE)
            share = units * row.pixel_work / (row.pixel_work + row.vertex_work)
            right.barh([0, share], row.unified_ms, [share, units - share], align="edge", color=[BLUE, ORANGE])
            for side, stop, end in ((left, row.separate_ms, 1.15 * longest), (right, row.unified_ms, 0.575 * longest)):
                side.set(xlim=(0, end), ylim=(0, units), yticks=[], xticks=range(0, int(end), 5))
                side.grid(visible=False)
                side.spines["left"].set_visible(False)
                side.tick_params(labelbottom=place == len(rows) - 1, labelsize=9)
                _beside(side, f"{stop:.0f} ms", (stop, units / 2), 4, weight="bold")
            _beside(left, f"{row.name}\n{row.busy:.0%} busy", (0, units / 2), -8)
            if place == 0:
                left.set_title("separate: orange corners, blue pixels", fontsize=10.5, loc="left")
                right.set_title("unified", fontsize=10.5, loc="left")
        for side in (left, right):
            side.set_xlabel("time, ms", fontsize=10)
    words = "; ".join(f"{row.name}: separate {row.separate_ms:.0f} ms, unified {row.unified_ms:.0f} ms" for row in rows)
    show(figure, f"Busy and idle units of a model. {words}.")


def draw_rates(rates: Mapping[str, Mapping[str, float]], here: tuple[float, float], device: str) -> None:
    """Peak FP32 rate over bandwidth of every GPU.

    Args:
        rates: GPU → what the student's `peak_rates` returns for it.
        here: GB/s and TFLOPS that were measured on this machine.
        device: which of its devices that was.
    """
    points = {name: (of_gpu["bandwidth_gbs"], of_gpu["fp32_tflops"]) for name, of_gpu in rates.items()}
    with style():
        figure, axes = canvas(
            "More arithmetic and more bandwidth are different things to buy",
            f"Dots: peaks, from datasheets. Orange: a copy and an FP32 product, measured on {device}",
            5.4,
        )
        for name, at in points.items():
            axes.plot(*at, color=BLUE, marker="o", markersize=7, linestyle="")
            off, side = _LABELS.get(name, ((8, 0), "left"))
            axes.annotate(name, at, off, textcoords="offset points", ha=side, va="center", fontsize=10)
        axes.set(xscale="log", yscale="log", xlabel="memory bandwidth, GB/s", ylabel="FP32 peak, TFLOPS")
        axes.set(xlim=(180, 11_000), ylim=(4, 160))
        words = f"this machine, measured:\n{number(here[0])} GB/s, {number(here[1])} TFLOPS"
        if here[0] > 180 and here[1] > 4:
            axes.plot(*here, marker="X", color=ORANGE, markersize=11, linestyle="")
            _beside(axes, words, here, 10, color=ORANGE, weight="bold")
        else:  # far below all GPUs: shown at the corner, or the GPUs would fill a corner of their own
            axes.annotate(
                words,
                (0.0, 0.0),
                (26, 16),
                xycoords="axes fraction",
                textcoords="offset points",
                color=ORANGE,
                weight="bold",
                arrowprops={"arrowstyle": "->", "color": ORANGE, "linewidth": 2},
            )
        axes.grid(visible=True, axis="both")
        tidy(axes.xaxis, logarithmic=True)
        tidy(axes.yaxis, logarithmic=True)
    words = ", ".join(f"{name} {number(up)} TFLOPS at {number(across)} GB/s" for name, (across, up) in points.items())
    show(figure, f"FP32 peak over bandwidth: {words}; this machine {number(here[1])} TFLOPS at {number(here[0])} GB/s.")


_LABELS: dict[str, tuple[tuple[int, int], str]] = {
    "A10": ((-8, 5), "right"),
    "A10G": ((0, 11), "center"),
    "A100 40GB": ((0, -13), "center"),
    "A100 80GB": ((8, -3), "left"),
    "A100 80GB PCIe": ((-4, 12), "center"),
    "H100": ((-6, 9), "right"),
    "H100 NVL": ((0, -13), "center"),
    "H100 PCIe": ((0, -13), "center"),
    "H200": ((0, 12), "center"),
    "L4": ((-8, 0), "right"),
    "L40S": ((-8, 4), "right"),
    "RTX 4060": ((8, -3), "left"),
    "RTX 4060 Laptop": ((0, 14), "center"),
    "RTX 4070": ((-8, -4), "right"),
    "RTX 4090": ((8, -4), "left"),
    "RTX 5070": ((0, -13), "center"),
}
"""Where a name stands beside its dot, in points, where the right side is taken by a neighbor."""


def draw_occupancy(occupancy: Callable[[dict[str, int], dict[str, int]], float], sm: Mapping[str, int]) -> None:
    """Occupancy over registers per thread, for three block sizes, by the student's own function."""
    registers = range(16, 161)
    with style():
        figure, axes = canvas(
            "One register more can cost half of the warps",
            "Computed by your occupancy() for an SM of an H200, no shared memory",
            4.0,
        )
        for threads, color in ((128, GRAY), (512, BLUE), (1024, ORANGE)):
            block = {"threads": threads, "shared_bytes": 0}
            shares = [occupancy({**block, "registers_per_thread": count}, dict(sm)) for count in registers]
            axes.step(registers, shares, where="post", color=color, linewidth=2.4 if threads > 128 else 1.8)
            axes.plot([], [], color=color, label=f"blocks of {threads} threads")
        axes.axvline(32, color=INK, linestyle="--", linewidth=1)
        axes.annotate("32", (32, 0.02), (-4, 0), textcoords="offset points", ha="right", fontsize=10)
        axes.set(xlabel="registers per thread", ylabel="occupancy", ylim=(0, 1.06), xlim=(16, 160))
        axes.legend(frameon=False, loc="upper right", bbox_to_anchor=(1, 1.02))
    show(figure, "Occupancy falls in steps as registers per thread grow; the larger the block, the higher the steps.")


def _beside(axes: Axes, words: str, at: tuple[float, float], off: float, **font: str) -> None:
    """Writes to the right of a point, or to its left if `off` (points) is negative."""
    side = "left" if off > 0 else "right"
    axes.annotate(words, at, (off, 0), textcoords="offset points", ha=side, va="center", **font)  # type: ignore[arg-type]
