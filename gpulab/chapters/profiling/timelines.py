"""Draws the profiling chapter's inside view: a trace as a timeline, the kernels that take longest, a hunt's steps.

What is drawn comes from `profiling.traces`, `profiling.hunt` and the reader's own functions, whose figures stand in the
titles. Nothing here adds up overlapping kernels: idle time is what is left of an orange ground that kernels cover.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpulab.chapters.profiling.traces import Event, window
from gpulab.figures.plot import bars
from gpulab.figures.style import BLUE, FAINT, INK, ORANGE, canvas, number, show, style
from gpulab.measuring.timing import Timing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LETTERS = 112
"""Of a label's size, in the width of a figure."""


@dataclass(frozen=True)
class _Lane:
    """One row of a timeline."""

    name: str
    events: list[Event]
    color: str
    kernels: bool = False


_CPU_AND_COPIES = (
    ("CPU: operators", ("cpu_op", "user_annotation"), "#9ec3e0"),
    ("CPU: calls to CUDA", ("cuda_runtime", "cuda_driver"), FAINT),
    ("GPU: copies", ("gpu_memcpy", "gpu_memset"), "#b5b5b5"),
)


def draw_trace(
    events: Sequence[Event], idle: float, source: str, title: str = "", part: tuple[float, float] | None = None
) -> None:
    """Who works when, by the trace; orange in the lowest lanes: no kernel runs, in no stream.

    Args:
        events: the trace.
        idle: what the reader's `gpu_idle_fraction` says of it.
        source: where the trace is from: a device, or that it is made up.
        title: the finding; made from `idle` when left out.
        part: the only part to show, from and to, µs after the trace's beginning.
    """
    first, last = window(events)
    start, stop = part or (0.0, last - first)
    unit, scale = ("ms", 1e-3) if stop - start > 2000 else ("µs", 1.0)
    lanes = _lanes([event for event in events if event["ph"] == "X"])
    title = title or f"No kernel runs in {idle:.0%} of the time"
    note = f"{source}. Orange: no kernel runs"
    with style():
        figure, axes = canvas(title, note, 1.3 + 0.5 * len(lanes))
        axes.set_yticks(range(len(lanes)), [lane.name for lane in lanes])
        axes.set(ylim=(len(lanes) - 0.4, -0.6), xlim=(start * scale, stop * scale), xlabel=f"time, {unit}")
        rows = [row for row, lane in enumerate(lanes) if lane.kernels]
        if rows:
            ground = (min(rows) - 0.36, max(rows) - min(rows) + 0.72)
            axes.broken_barh([(start * scale, (stop - start) * scale)], ground, facecolor=ORANGE, linewidth=0)
        if len(rows) > 1:  # while one stream has a kernel, none of them is orange
            every = [block for row in rows for block in _blocks(lanes[row].events, first, scale)]
            axes.broken_barh(every, ground, facecolor="white", linewidth=0)
        for row, lane in enumerate(lanes):
            blocks = _blocks(lane.events, first, scale)
            # Edges only where there are few: those of short blocks would cover them.
            edge = 0.6 * (len(blocks) < 40)
            drawn = axes.broken_barh(
                blocks, (row - 0.36, 0.72), facecolor=lane.color, edgecolor="white", linewidth=edge
            )
            drawn.set_antialiased(bool(edge))  # many short blocks would blur into a color that means nothing
            _label(axes, row, lane, blocks)
        axes.grid(visible=False)
        axes.tick_params(axis="y", length=0)
    shown = f"; shown: {number(start * scale)} to {number(stop * scale)} {unit}" if part else ""
    told = [
        f"{lane.name}: {len(lane.events)} events, {number(sum(one['dur'] for one in lane.events) * scale)} {unit}"
        for lane in lanes
    ]
    show(figure, f"{title}. {source}. {'; '.join(told)}; idle: {idle:.0%}{shown}.")


def comb(events: Sequence[Event], us: float) -> tuple[float, float]:
    """The part of a trace of this length with the most gaps between kernels, µs after the trace's beginning.

    Args:
        events: the trace, with its kernels in one stream.
        us: how long the part is to be.
    """
    first, _ = window(events)
    kernels = sorted((event["ts"] - first, event["dur"]) for event in events if event.get("cat") == "kernel")
    gaps = [after for (start, length), (after, _) in itertools.pairwise(kernels) if after > start + length + 0.5]
    starts = gaps or [start for start, _ in kernels]
    best = max(starts, key=lambda start: sum(start <= other < start + us for other in starts))
    return best, best + us


def draw_top(top: Sequence[tuple[str, float]], events: Sequence[Event], source: str) -> None:
    """Bars: the kernels that take the most time, and what is left for all others."""
    total = sum(event["dur"] for event in events if event.get("cat") == "kernel" and event["ph"] == "X")
    named = {f"{at + 1}. {_short(name)}": us for at, (name, us) in enumerate(top)}
    rest = total - sum(us for _, us in top)
    if rest > 1e-6:
        named["all others"] = rest
    share = sum(us for _, us in top) / total
    title = f"{len(top)} kernels take {share:.0%} of all kernels' time"
    bars(named, title=title, y="total, µs", note=source, highlight=next(iter(named)))


def draw_hunt(steps: Mapping[str, float | Timing], source: str) -> None:
    """Bars: what a step takes, at first and after each fault that was fixed; each with what that remedy was worth."""
    times = [value.median_ms if isinstance(value, Timing) else value for value in steps.values()]
    gains = [f"   {before / after:.1f} ×" for before, after in itertools.pairwise(times)]
    labeled = {f"{name}{gain}": value for (name, value), gain in zip(steps.items(), ["", *gains], strict=True)}
    title = f"{len(steps) - 1} faults fixed: {number(times[0] / times[-1])} times as fast"
    note = f"{source}. Beside each fault: what fixing it gains over the bar before"
    bars(labeled, title=title, y="a step, ms", note=note, highlight=list(labeled)[-1])


def _lanes(timed: Sequence[Event]) -> list[_Lane]:
    """The CPU's lanes, the copies', and one for each stream that has kernels; those that are empty are left out."""
    lanes = [
        _Lane(name, [event for event in timed if event.get("cat") in kinds], color)
        for name, kinds, color in _CPU_AND_COPIES
    ]
    kernels = [event for event in timed if event.get("cat") == "kernel"]
    streams = sorted({event["tid"] for event in kernels})
    for stream in streams:
        name = f"GPU: kernels, stream {stream}" if len(streams) > 1 else "GPU: kernels"
        lanes.append(_Lane(name, [event for event in kernels if event["tid"] == stream], BLUE, kernels=True))
    return [lane for lane in lanes if lane.events]


def _blocks(events: Sequence[Event], first: float, scale: float) -> list[tuple[float, float]]:
    """Start and length of each event, from the trace's beginning on."""
    return [((event["ts"] - first) * scale, event["dur"] * scale) for event in events]


def _label(axes: Axes, row: int, lane: _Lane, blocks: Sequence[tuple[float, float]]) -> None:
    """Names of the events that are long enough for theirs; of nested ones, the outermost."""
    left, right = axes.get_xlim()
    until = left
    order = sorted(zip(blocks, lane.events, strict=True), key=lambda pair: (pair[0][0], -pair[0][1]))
    for (start, length), event in order:
        shown = max(start, left), min(start + length, right)
        name = _short(event["name"])
        fits = (shown[1] - shown[0]) / (right - left) * LETTERS > len(name) + 2
        if fits and start >= until:
            place = (sum(shown) / 2, row)
            color = "white" if lane.kernels else INK
            axes.annotate(name, place, ha="center", va="center", fontsize=9, color=color, annotation_clip=True)
            until = start + length


def _short(name: str) -> str:
    """A kernel's name without what its template was made for."""
    name = name.removeprefix("void ").partition("<")[0].partition("(")[0].strip()
    return name if len(name) <= 34 else f"{name[:31]}…"
