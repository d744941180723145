"""Draws the profiling chapter's outside view: what utilization means, a page of metrics, and published steps.

Timelines of traces are drawn by `profiling.timelines`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpulab.figures.diagrams import rectangle
from gpulab.figures.styling import BLUE, FAINT, GRAY, INK, ORANGE, canvas, number, show, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMS, ROWS = 132, 6


def draw_utilization() -> None:
    """Two GPUs: one SM busy all the time, and all SMs busy half of the time. A diagram."""
    title = "100% can be one SM of 132; 50% can be all of them"
    note = "Diagram: the SMs of an H200. Utilization counts moments with at least one busy SM"
    with style():
        figure, axes = canvas(title, note, 3.8)
        columns = SMS // ROWS
        for right, (words, moments) in enumerate((("GPU-Util 100%", (1, 1)), ("GPU-Util 50%", (SMS, 0)))):
            for later, busy in enumerate(moments):
                left, top = right * (columns + 6), later * (ROWS + 1.6)
                _chip(axes, left, top, busy)
                axes.annotate(
                    f"moment {later + 1}", (left - 0.5, top + ROWS / 2), ha="right", va="center", fontsize=9.5
                )
            place = (right * (columns + 6) + columns / 2, -0.7)
            axes.annotate(words, place, ha="center", fontsize=12, weight="bold", color=ORANGE if right else INK)
            done = f"{sum(moments)} of {2 * SMS} SM-moments used"
            axes.annotate(done, (place[0], 2 * ROWS + 2.9), ha="center", fontsize=10.5)
        axes.set(xlim=(-5, 2 * columns + 7), ylim=(2 * ROWS + 3.4, -1.8))
        axes.set_aspect("equal")
        axes.set_axis_off()
    show(figure, f"{title}. Left: in both moments one square of 132 is filled. Right: all in one, none in the other.")


def _chip(axes: Axes, left: float, top: float, busy: int) -> None:
    for at in range(SMS):
        corner = (left + at // ROWS + 0.08, top + at % ROWS + 0.08)
        rectangle(axes, corner, 0.84, 0.84, BLUE if at < busy else "#ececec", edge="none")


UNITS = {
    "DCGM_FI_DEV_GPU_UTIL": ("utilization", "%", 100.0),
    "DCGM_FI_DEV_POWER_USAGE": ("power", "W", 700.0),
    "DCGM_FI_DEV_SM_CLOCK": ("SM clock", "MHz", 1980.0),
    "DCGM_FI_DEV_FB_USED": ("memory used", "MiB", 143771.0),
}
"""Metric → what it is, its unit, and what an H200 has of it."""


def draw_page(found: Mapping[int, Mapping[str, float]]) -> None:
    """A bar for each number of each GPU, as a part of what an H200 has; GPUs that hold memory and rest are orange."""
    gpus = sorted(found)
    ghosts = [gpu for gpu in gpus if _idle(found[gpu])]
    title = "Every GPU is working" if not ghosts else f"GPU {', '.join(map(str, ghosts))} holds memory and does nothing"
    words = []
    with style():
        figure, axes = canvas(
            title, "Read by your parse_metrics from the page above; bars: share of an H200's maximum", 3.4
        )
        for row, (metric, (name, unit, most)) in enumerate(UNITS.items()):
            for at, gpu in enumerate(gpus):
                value = found[gpu].get(metric)
                if value is None:
                    continue
                color = ORANGE if gpu in ghosts else BLUE
                place = row + (at - (len(gpus) - 1) / 2) * 0.38
                axes.barh(place, value / most, 0.34, color=color)
                axes.annotate(
                    f"GPU {gpu}: {number(value)} {unit}", (value / most + 0.01, place), va="center", fontsize=10
                )
                words.append(f"GPU {gpu} {name} {number(value)} {unit}")
        axes.set_yticks(range(len(UNITS)), [name for name, _, _ in UNITS.values()])
        axes.set(ylim=(len(UNITS) - 0.5, -0.5), xlim=(0, 1.3), xlabel="share of an H200's maximum")
        axes.set_xticks([0, 0.5, 1], ["0", "50%", "100%"])
        axes.grid(visible=False)
        axes.axvline(1, color=FAINT, linewidth=1, zorder=0)
    show(figure, f"{title}. {'; '.join(words)}.")


def _idle(metrics: Mapping[str, float]) -> bool:
    return metrics.get("DCGM_FI_DEV_GPU_UTIL", 1) < 1 and metrics.get("DCGM_FI_DEV_FB_USED", 0) > 1024


def draw_recorded_steps(rows: Sequence[Mapping[str, Any]]) -> None:
    """A bar per recorded trace: the parts of a step, as shares of it.

    Args:
        rows: of `data/trace_steps.csv`; times in ms per step.
    """
    waiting = sum(row["kernel_ms"] < 0.6 * row["step_ms"] for row in rows)
    title = f"{waiting} of {len(rows)} recorded steps: no kernel for over 40%"
    note = "Published traces, read by us; the table data/trace_steps.csv names the sources"
    words = []
    with style():
        figure, axes = canvas(title, note, 3.6)
        for place, row in enumerate(rows):
            loader = row["loader_ms"] or 0.0
            rest = row["step_ms"] - loader - row["kernel_ms"]
            left = 0.0
            for name, ms, color in (
                ("kernels", row["kernel_ms"], BLUE),
                ("loader", loader, ORANGE),
                ("other", rest, GRAY),
            ):
                part = ms / row["step_ms"]
                axes.barh(place, part, 0.6, left=left, color=color)
                if part > 0.12:
                    axes.annotate(
                        f"{name} {number(ms)} ms",
                        (left + part / 2, place),
                        ha="center",
                        va="center",
                        fontsize=9.5,
                        color="white",
                    )
                left += part
            times = (
                f"step {number(row['step_ms'])} ms, kernels {number(row['kernel_ms'])} ms, loader {number(loader)} ms"
            )
            words.append(f"{row['gpu']}, {row['recording']}: {times}")
        labels = [f"{row['gpu']}: {row['recording']}\n{number(row['step_ms'])} ms per step" for row in rows]
        axes.set_yticks(range(len(rows)), labels)
        axes.set(ylim=(len(rows) - 0.5, -0.5), xlim=(0, 1), xlabel="share of a step")
        axes.set_xticks([0, 0.5, 1], ["0", "50%", "100%"])
        axes.grid(visible=False)
    show(figure, f"{title}. {'; '.join(words)}.")
