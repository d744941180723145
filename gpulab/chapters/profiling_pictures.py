"""Draws chapter 07: what utilization means, a page of metrics, traces.

Measurements come from `profiling_traces` and from the reader's own functions; the first two drawings are diagrams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gpulab.canvas import BLUE, FAINT, GREY, INK, ORANGE, canvas, number, show, style
from gpulab.chapters.profiling_traces import Event, kernel_spans, window
from gpulab.plot import bars
from gpulab.timing import Timing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMS, ROWS = 132, 6
PALE_BLUE, PALE_ORANGE = "#cfe0ee", "#ffe3c7"


def draw_utilization() -> None:
    """Two GPUs: one SM busy all the time, and all SMs busy half of the time. A diagram."""
    title = "100 % can be one SM of 132; 50 % can be all of them"
    note = "Diagram: the SMs of an H200. Utilization counts the moments in which any of them has a kernel"
    with style():
        figure, axes = canvas(title, note, 3.8)
        columns = SMS // ROWS
        for right, (words, moments) in enumerate((("GPU-Util 100 %", (1, 1)), ("GPU-Util 50 %", (SMS, 0)))):
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
    from matplotlib.patches import Rectangle

    for at in range(SMS):
        corner = (left + at // ROWS + 0.08, top + at % ROWS + 0.08)
        axes.add_patch(Rectangle(corner, 0.84, 0.84, facecolor=BLUE if at < busy else "#ececec", edgecolor="none"))


UNITS = {
    "DCGM_FI_DEV_GPU_UTIL": ("utilization", "%", 100.0),
    "DCGM_FI_DEV_POWER_USAGE": ("power", "W", 700.0),
    "DCGM_FI_DEV_SM_CLOCK": ("SM clock", "MHz", 1980.0),
    "DCGM_FI_DEV_FB_USED": ("memory used", "MiB", 143771.0),
}
"""Metric → what it is, its unit, and what an H200 has of it."""


def draw_page(found: Mapping[int, Mapping[str, float]]) -> None:
    """A bar for each figure of each GPU, as a part of what an H200 has; GPUs that hold memory and rest are orange."""
    gpus = sorted(found)
    ghosts = [gpu for gpu in gpus if _idle(found[gpu])]
    title = "Every GPU works" if not ghosts else f"GPU {', '.join(map(str, ghosts))} holds memory and does nothing"
    words = []
    with style():
        figure, axes = canvas(
            title, "Read by your parse_metrics from the page above; bars: share of what an H200 has", 3.4
        )
        for row, (metric, (name, unit, most)) in enumerate(UNITS.items()):
            for at, gpu in enumerate(gpus):
                value = found[gpu].get(metric)
                if value is None:
                    continue
                colour = ORANGE if gpu in ghosts else BLUE
                place = row + (at - (len(gpus) - 1) / 2) * 0.38
                axes.barh(place, value / most, 0.34, color=colour)
                axes.annotate(
                    f"GPU {gpu}: {number(value)} {unit}", (value / most + 0.01, place), va="center", fontsize=10
                )
                words.append(f"GPU {gpu} {name} {number(value)} {unit}")
        axes.set_yticks(range(len(UNITS)), [name for name, _, _ in UNITS.values()])
        axes.set(ylim=(len(UNITS) - 0.5, -0.5), xlim=(0, 1.3), xlabel="share of what an H200 has")
        axes.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
        axes.grid(visible=False)
        axes.axvline(1, color=FAINT, linewidth=1, zorder=0)
    show(figure, f"{title}. {'; '.join(words)}.")


def _idle(metrics: Mapping[str, float]) -> bool:
    return metrics.get("DCGM_FI_DEV_GPU_UTIL", 1) < 1 and metrics.get("DCGM_FI_DEV_FB_USED", 0) > 1024


# ------------------------------------------------------------------------------------------------------------- traces

_LANES = (
    ("CPU: operators", ("cpu_op", "user_annotation"), "#9ec3e0"),
    ("CPU: calls to CUDA", ("cuda_runtime", "cuda_driver"), FAINT),
    ("GPU: copies", ("gpu_memcpy", "gpu_memset"), GREY),
    ("GPU: kernels", ("kernel",), BLUE),
)


def draw_trace(events: Sequence[Event], idle: float, source: str, title: str = "") -> None:
    """Who works when, by the trace; moments without a kernel are orange in the lowest lane.

    Args:
        events: the trace.
        idle: what the reader's `gpu_idle_fraction` says of it.
        source: where the trace is from: a device, or that it is made up.
        title: the finding; made from `idle` when left out.
    """
    first, last = window(events)
    unit, scale = ("ms", 1e-3) if last - first > 2000 else ("µs", 1.0)
    lanes = [lane for lane in _LANES if any(event.get("cat") in lane[1] for event in events)]
    title = title or f"No kernel runs in {idle:.0%} of the time"
    words = []
    with style():
        figure, axes = canvas(title, f"{source}. Orange: no kernel runs", 1.3 + 0.5 * len(lanes))
        for row, (name, kinds, colour) in enumerate(lanes):
            timed = [event for event in events if event.get("cat") in kinds and event["ph"] == "X"]
            blocks = [((event["ts"] - first) * scale, event["dur"] * scale) for event in timed]
            if kinds == ("kernel",):
                axes.broken_barh([(0, (last - first) * scale)], (row - 0.36, 0.72), facecolor=ORANGE, linewidth=0)
                blocks = [((start - first) * scale, (stop - start) * scale) for start, stop in kernel_spans(events)]
            # Edges only where there are few: those of short blocks would cover them.
            axes.broken_barh(
                blocks, (row - 0.36, 0.72), facecolor=colour, edgecolor="white", linewidth=0.4 * (len(blocks) < 40)
            )
            words.append(f"{name}: {len(timed)} events, {number(sum(event['dur'] for event in timed) * scale)} {unit}")
        axes.set_yticks(range(len(lanes)), [name for name, _, _ in lanes])
        axes.set(ylim=(len(lanes) - 0.4, -0.6), xlim=(0, (last - first) * scale), xlabel=f"time, {unit}")
        axes.grid(visible=False)
        axes.tick_params(axis="y", length=0)
    show(figure, f"{title}. {source}. {'; '.join(words)}; idle: {idle:.0%}.")


def draw_top(top: Sequence[tuple[str, float]], events: Sequence[Event], source: str) -> None:
    """Bars: the kernels that take the most time, and what is left for all others."""
    total = sum(event["dur"] for event in events if event.get("cat") == "kernel" and event["ph"] == "X")
    named = {_short(name): us for name, us in top}
    rest = total - sum(us for _, us in top)
    if rest > 1e-6:
        named["all others"] = rest
    share = sum(us for _, us in top) / total
    title = f"{len(top)} kernels take {share:.0%} of the GPU's time"
    bars(named, title=title, y="total, µs", note=source, highlight=_short(top[0][0]))


def _short(name: str) -> str:
    """A kernel's name without what its template was made for."""
    name = name.removeprefix("void ").partition("<")[0].partition("(")[0]
    return name if len(name) <= 34 else f"{name[:31]}…"


# --------------------------------------------------------------------------------------------------------------- hunt


def draw_hunt(steps: Mapping[str, float | Timing], source: str) -> None:
    """Bars: what a step takes, at first and after each fault that was mended."""
    first, last = (_ms(value) for value in (next(iter(steps.values())), list(steps.values())[-1]))
    title = f"{len(steps) - 1} faults mended: {number(first / last)} times as fast"
    bars(dict(steps), title=title, y="a step, ms", note=source, highlight=list(steps)[-1])


def _ms(value: float | Timing) -> float:
    return value.median_ms if isinstance(value, Timing) else value
