"""Two drawings with a shape of their own: the roofline, and the timeline of who works when.

`plot` offers them beside its bars and lines; notebooks import them from there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpulab.figures.styling import COLORS, GRAY, INK, canvas, ink_on, label_ends, number, show, style, tidy
from gpulab.measuring.machine import Ceilings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MachineRates = tuple[float, float] | Mapping[str, Any] | Ceilings
"""(peak TFLOPS, bandwidth GB/s), or a row of `data/gpus.csv`, or measured ceilings."""


@dataclass(frozen=True)
class Span:
    """A piece of work on a timeline."""

    lane: str
    """Who does it: `copy engine`, `SM 0`."""
    start: float
    stop: float
    label: str = ""
    kind: str = ""
    """Pieces of one kind have one color; the label's first word when left out."""


def roofline(
    machines: Mapping[str, MachineRates],
    points: Mapping[str, float | tuple[float, float]] | None = None,
    *,
    title: str,
    note: str = "",
    dtype: str = "float32",
) -> None:
    """Draws attainable TFLOPS over arithmetic intensity, both logarithmic, for one machine or several.

    Args:
        machines: name → machine; the highest first, because points without a rate are drawn on the first one's roof.
        points: name → intensity in FLOP/byte; or → (intensity, measured TFLOPS), drawn with its distance to
            the first roof.
        title: the finding, as a sentence.
        note: the line under the title.
        dtype: which peak to take from a row or from ceilings.
    """
    roofs = {name: _roof(machine, dtype) for name, machine in machines.items()}
    with style():
        figure = _roofline(roofs, points or {}, title, note)
    ridges = "; ".join(
        f"{name}: {number(peak)} TFLOPS, {number(bandwidth)} GB/s, ridge at {number(1e3 * peak / bandwidth)} FLOP/byte"
        for name, (peak, bandwidth) in roofs.items()
    )
    show(figure, f"{title}. Roofline of {ridges}.")


def timeline(spans: Sequence[Span], *, title: str, x: str = "time, ms", note: str = "") -> None:
    """Draws who works when: a row for each lane, in order of appearance, a block for each piece of work.

    Args:
        spans: the pieces, in the unit of `x`.
        title: the finding, as a sentence.
        x: the time axis, with its unit.
        note: the line under the title.
    """
    with style():
        figure = _timeline(spans, title, x, note)
    work = "; ".join(f"{span.lane}: {span.label} {number(span.start)} to {number(span.stop)}" for span in spans[:20])
    show(figure, f"{title}. Timeline, {x}: {work}.")


def _roof(machine: Any, dtype: str) -> tuple[float, float]:
    if isinstance(machine, Ceilings):
        return machine.matmul_gflops[dtype] / 1e3, machine.copy_gbs
    if isinstance(machine, Mapping):
        return float(machine[f"{dtype}_tflops"]), float(machine["bandwidth_gbs"])
    peak, bandwidth = machine
    return float(peak), float(bandwidth)


def _roofline(
    roofs: Mapping[str, tuple[float, float]],
    points: Mapping[str, float | tuple[float, float]],
    title: str,
    note: str,
) -> Figure:
    figure, axes = canvas(title, note, 4.6)
    scale, unit = (1.0, "TFLOPS") if max(peak for peak, _ in roofs.values()) >= 1 else (1e3, "GFLOPS")
    roofs = {name: (scale * peak, scale * bandwidth) for name, (peak, bandwidth) in roofs.items()}
    first = next(iter(roofs.values()))
    ridges = [1e3 * peak / bandwidth for peak, bandwidth in roofs.values()]
    # Of each point the intensity, the rate, and what the first roof allows there: a slope up to the ridge, then flat.
    placed: dict[str, tuple[float, float, float]] = {}
    for name, point in points.items():
        at = point[0] if isinstance(point, tuple) else point
        ceiling = first[0] * min(1.0, at / ridges[0])
        placed[name] = at, scale * point[1] if isinstance(point, tuple) else ceiling, ceiling
    low = min([ridge / 300 for ridge in ridges] + [at / 6 for at, _, _ in placed.values()])
    high = max([ridge * 10 for ridge in ridges] + [at * 3 for at, _, _ in placed.values()])
    rising = {name: low * bandwidth / 1e3 for name, (_, bandwidth) in roofs.items()}  # low is left of every ridge
    bottom = min([*rising.values(), *(reached for _, reached, _ in placed.values())]) / 4
    top = 3 * max([peak for peak, _ in roofs.values()] + [reached for _, reached, _ in placed.values()])
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(bottom, top))
    axes.set(xlabel="arithmetic intensity, FLOP/byte", ylabel=f"attainable, {unit}")
    tidy(axes.xaxis, logarithmic=True)
    tidy(axes.yaxis, logarithmic=True)
    axes.grid(visible=True, axis="both")
    for place, ((name, roof), ridge) in enumerate(zip(roofs.items(), ridges, strict=True)):
        color = COLORS[place % len(COLORS)]
        axes.plot([low, ridge, high], [rising[name], roof[0], roof[0]], color=color)
        axes.plot([ridge, ridge], [bottom, roof[0]], color=color, linestyle=":", linewidth=1.4)
        axes.plot([ridge], [roof[0]], marker="o", color="white", markeredgecolor=color, markeredgewidth=2)
    _ridge_labels(axes, ridges, bottom)
    for name, (at, reached, ceiling) in placed.items():
        _point(axes, name, at, reached, ceiling, flat=ceiling >= first[0])
    label_ends(axes, [(n, high, r[0], COLORS[i % len(COLORS)]) for i, (n, r) in enumerate(roofs.items())])
    return figure


def _ridge_labels(axes: Axes, ridges: Sequence[float], bottom: float) -> None:
    """At the foot of each ridge its place; where two stand close together, only the first or the one on its left."""
    low, high = axes.get_xlim()
    room = 0.13 * math.log10(high / low)
    written: list[tuple[float, int]] = []
    for ridge in ridges:
        side = -1 if any(other > ridge for other, _ in written) else 1
        gaps = [(side * math.log10(ridge / other), room if side == theirs else 0.0) for other, theirs in written]
        if all(gap > needed for gap, needed in gaps):
            written.append((ridge, side))
            axes.annotate(
                f"ridge {number(ridge)}",
                (ridge, bottom),
                (side * 5, 5),
                textcoords="offset points",
                ha="left" if side > 0 else "right",
                fontsize=9.5,
                color="#555555",
                bbox={"color": "white", "pad": 1.0},  # other ridges' lines would cross it
            )


def _point(axes: Axes, name: str, at: float, reached: float, ceiling: float, *, flat: bool) -> None:
    axes.plot([at], [reached], marker="D", color=INK, linestyle="", markersize=6.5, zorder=5)
    # On the roof or above it the space to the upper left is empty; below it, the space to the lower right.
    if reached > 0.9 * ceiling:
        axes.annotate(
            name, (at, reached), (0 if flat else -7, 8 if flat else 4), textcoords="offset points",
            ha="center" if flat else "right", fontsize=10, zorder=6,
        )  # fmt: skip
        return
    axes.plot([at, at], [reached, ceiling], color=GRAY, linestyle="--", linewidth=1.2)
    axes.annotate(
        f"{name}: {100 * reached / ceiling:.0f}%", (at, reached), (8, -4), textcoords="offset points", va="top",
        fontsize=10, zorder=6, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.8},
    )  # fmt: skip


def _timeline(spans: Sequence[Span], title: str, x: str, note: str) -> Figure:
    lanes = list(dict.fromkeys(span.lane for span in spans))
    kinds = list(dict.fromkeys(_kind(span) for span in spans))
    figure, axes = canvas(title, note, 1.3 + 0.55 * len(lanes))
    longest = max((span.stop for span in spans), default=1.0)
    for span in spans:
        color = COLORS[kinds.index(_kind(span)) % len(COLORS)]
        axes.barh(lanes.index(span.lane), span.stop - span.start, 0.72, span.start, color=color, edgecolor="white")
        _span_label(axes, span, spans, lanes.index(span.lane), longest, color)
    axes.set_yticks(range(len(lanes)), lanes)
    axes.set(xlabel=x, xlim=(0, longest * 1.01))
    tidy(axes.xaxis)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    axes.grid(visible=True, axis="x")
    axes.spines["left"].set_visible(False)
    axes.invert_yaxis()
    return figure


def _span_label(axes: Axes, span: Span, spans: Sequence[Span], row: int, longest: float, color: str) -> None:
    """Inside its block, else after it, else before it; nowhere if there is no room: the colors still tell."""
    needed = longest * (0.012 * len(span.label) + 0.01)
    others = [other for other in spans if other.lane == span.lane and other is not span]
    behind = min((other.start for other in others if other.start >= span.stop), default=longest) - span.stop
    before = span.start - max((other.stop for other in others if other.stop <= span.start), default=0.0)
    if span.stop - span.start > needed:
        place, side, ink = (span.start + span.stop) / 2, "center", ink_on(color)
    elif behind > needed:
        place, side, ink = span.stop + 0.006 * longest, "left", INK
    elif before > needed:
        place, side, ink = span.start - 0.006 * longest, "right", INK
    else:
        return
    axes.annotate(span.label, (place, row), ha=side, va="center", color=ink, fontsize=10, weight="bold")


def _kind(span: Span) -> str:
    return span.kind or span.label.split(" ")[0]
