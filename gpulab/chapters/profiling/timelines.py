"""Draws a trace as a timeline, for the profiling chapter.

The idle share in the title is what the reader's own function says. Nothing here adds up overlapping kernels: idle time
is what is left of an orange ground that kernels cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpulab.chapters.profiling.traces import TraceEvent, window
from gpulab.figures.styling import BLUE, FAINT, INK, ORANGE, canvas, number, show, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LETTERS = 112
"""Of a label's size, in the width of a figure."""


@dataclass(frozen=True)
class _Lane:
    """One row of a timeline."""

    name: str
    events: list[TraceEvent]
    color: str
    kernels: bool = False


_CPU_AND_COPIES = (
    ("CPU: operators", ("cpu_op", "user_annotation"), "#9ec3e0"),
    ("CPU: calls to CUDA", ("cuda_runtime", "cuda_driver"), FAINT),
    ("GPU: copies", ("gpu_memcpy", "gpu_memset"), "#b5b5b5"),
)


def draw_trace(events: Sequence[TraceEvent], idle: float, source: str) -> None:
    """Who works when, by the trace; orange in the lowest lanes: no kernel runs, in no stream.

    Args:
        events: the trace.
        idle: what the reader's `gpu_idle_fraction` says of it.
        source: where the trace is from: a device, or that it is made up.
    """
    first, last = window(events)
    start, stop = 0.0, last - first
    unit, scale = ("ms", 1e-3) if stop - start > 2000 else ("µs", 1.0)
    lanes = _lanes([event for event in events if event["ph"] == "X"])
    title = f"No kernel runs in {idle:.0%} of the time"
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
    told = [
        f"{lane.name}: {len(lane.events)} events, {number(sum(one['dur'] for one in lane.events) * scale)} {unit}"
        for lane in lanes
    ]
    show(figure, f"{title}. {source}. {'; '.join(told)}; idle: {idle:.0%}.")


def _lanes(timed: Sequence[TraceEvent]) -> list[_Lane]:
    """The CPU's lanes, the copies', and one for each stream that has kernels; those that are empty are left out."""
    lanes = [
        _Lane(name, [event for event in timed if event.get("cat") in kinds], color)
        for name, kinds, color in _CPU_AND_COPIES
    ]
    kernels = [event for event in timed if event.get("cat") == "kernel"]
    streams = sorted({str(event["tid"]).removeprefix("stream ") for event in kernels})
    for stream in streams:
        name = f"GPU: kernels, stream {stream}" if len(streams) > 1 else "GPU: kernels"
        lanes.append(
            _Lane(
                name, [one for one in kernels if str(one["tid"]).removeprefix("stream ") == stream], BLUE, kernels=True
            )
        )
    return [lane for lane in lanes if lane.events]


def _blocks(events: Sequence[TraceEvent], first: float, scale: float) -> list[tuple[float, float]]:
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
