"""The course's figures: bars with spread and lines, drawn here; rooflines and timelines from `diagrams`.

Each function shows one image in the notebook and returns nothing. Titles state the finding, axes carry units, series
are named where they end. The look is up to `canvas`; measuring is not ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpulab.figures.shapes import Span, roofline, timeline
from gpulab.figures.styling import BLUE, COLORS, GRAY, INK, ORANGE, canvas, label_ends, number, show, style, tidy
from gpulab.measuring.timing import Ratio, Timing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "COLORS",
    "GRAY",
    "INK",
    "ORANGE",
    "Span",
    "bars",
    "canvas",
    "lines",
    "number",
    "roofline",
    "show",
    "style",
    "timeline",
]

Value = float | Timing | Ratio
"""A bar or a point: a number, or a measurement that brings its spread and its device."""


def bars(
    values: Mapping[Any, Value] | Mapping[str, Mapping[Any, Value]],
    *,
    title: str,
    y: str,
    x: str = "",
    note: str = "",
    highlight: Any = None,
    log: bool = False,
) -> None:
    """Draws a bar for each value, with its figure on it and its spread.

    Args:
        values: label → value; or series → label → value for grouped bars.
        title: the finding, as a sentence.
        y: what is measured, with its unit.
        x: what the labels are.
        note: the line under the title; made from the measurements when left out.
        highlight: the label, or labels, to draw in orange.
        log: logarithmic values.
    """
    with style():
        figure = _bars(values, title, y, x, note, highlight, log)
    show(figure, f"{title}. Bars of {y}: {_in_words(values)}.")


def lines(
    series: Mapping[str, Mapping[float, Value]],
    *,
    title: str,
    x: str,
    y: str,
    note: str = "",
    log_x: bool = False,
    log_y: bool = False,
    marks: Mapping[str, float] | None = None,
    limits: Mapping[str, float] | None = None,
) -> None:
    """Draws a line through each series' points, named at its end; a measurement's spread is a band around it.

    Args:
        series: name → x → value.
        title: the finding, as a sentence.
        x: the quantity along the bottom, with its unit.
        y: the quantity measured, with its unit.
        note: the line under the title; made from the measurements when left out.
        log_x: logarithmic x.
        log_y: logarithmic y.
        marks: name → x of a vertical dashed line.
        limits: name → y of a horizontal dashed line.
    """
    with style():
        figure = _lines(series, title, x, y, note, log_x, log_y, marks or {}, limits or {})
    show(figure, f"{title}. {y} against {x}: {_in_words(series)}.")


def _bars(values: Any, title: str, y: str, x: str, note: str, highlight: Any, log: bool) -> Figure:
    grouped = all(isinstance(value, Mapping) for value in values.values())
    groups: Mapping[str, Mapping[Any, Value]] = values if grouped else {"": values}
    labels = list(dict.fromkeys(label for group in groups.values() for label in group))
    lying = max((len(str(label)) for label in labels), default=0) * len(labels) > 70
    thick = 0.72 / len(groups)
    height = 1.5 + 0.42 * len(labels) * max(1.0, 0.7 * len(groups)) if lying else 3.8
    figure, axes = canvas(title, note or _measured(groups), height)
    chosen = set(highlight) if isinstance(highlight, (list, tuple, set)) else {highlight}
    for place, (name, group) in enumerate(groups.items()):
        at = [labels.index(label) + (place - (len(groups) - 1) / 2) * thick for label in group]
        sizes, spreads = [_number(value) for value in group.values()], [_spread(value) for value in group.values()]
        plain = COLORS[place % len(COLORS)]
        colors = [ORANGE if not grouped and label in chosen else plain for label in group]
        draw: Any = axes.barh if lying else axes.bar
        error = {("xerr" if lying else "yerr"): spreads} if any(spreads) else {}
        drawn = draw(at, sizes, thick * 0.94, color=colors, label=name, ecolor=INK, capsize=3, **error)
        measured = any(not isinstance(value, (int, float)) for value in group.values())
        axes.bar_label(drawn, [number(size, strip=not measured) for size in sizes], padding=3, fontsize=10)
    ticks, values_axis = (axes.yaxis, axes.xaxis) if lying else (axes.xaxis, axes.yaxis)
    ticks.set_ticks(range(len(labels)), [str(label) for label in labels])
    (axes.set_ylabel if lying else axes.set_xlabel)(x)
    (axes.set_xlabel if lying else axes.set_ylabel)(y)
    axes.grid(visible=False)
    values_axis.grid(visible=True)
    ticks.set_tick_params(length=0)
    if log:
        (axes.set_xscale if lying else axes.set_yscale)("log")
    if lying:
        axes.margins(x=0.1)
        axes.set_ylim(len(labels) - 0.4, -0.6)
    else:
        axes.margins(y=0.12)
    tidy(values_axis, logarithmic=log)
    if grouped:
        figure.legend(frameon=False, loc="outside lower center", ncols=len(groups), fontsize=10.5)
    return figure


def _lines(
    series: Mapping[str, Mapping[float, Value]],
    title: str,
    x: str,
    y: str,
    note: str,
    log_x: bool,
    log_y: bool,
    marks: Mapping[str, float],
    limits: Mapping[str, float],
) -> Figure:
    figure, axes = canvas(title, note or _measured(series), 4.0)
    axes.set(xlabel=x, ylabel=y)
    axes.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
    ends = []
    for place, (name, points) in enumerate(series.items()):
        color = COLORS[place % len(COLORS)]
        xs = sorted(points)
        ys, spreads = [_number(points[at]) for at in xs], [_spread(points[at]) for at in xs]
        axes.plot(xs, ys, color=color, marker="o" if len(xs) <= 40 else "")
        if any(spreads):
            low, high = ([at + sign * off for at, off in zip(ys, spreads, strict=True)] for sign in (-1, 1))
            axes.fill_between(xs, low, high, color=color, alpha=0.2, linewidth=0)
        ends.append((name, xs[-1], ys[-1], color))
    for name, at in marks.items():
        axes.axvline(at, color=INK, linestyle="--", linewidth=1.2)
        _beside(axes, name, (at, 1.0), (4, -12), ("data", "axes fraction"))
    for name, at in limits.items():
        axes.axhline(at, color=INK, linestyle="--", linewidth=1.2)
        _beside(axes, name, (0.0, at), (4, 3), ("axes fraction", "data"))
    if not log_y:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    tidy(axes.xaxis, logarithmic=log_x)
    tidy(axes.yaxis, logarithmic=log_y)
    label_ends(axes, ends)
    return figure


def _beside(axes: Axes, text: str, place: tuple[float, float], points: tuple[float, float], units: Any) -> None:
    """A small text that many points away from a place, which is given in these units."""
    axes.annotate(text, place, points, xycoords=units, textcoords="offset points", fontsize=10)


def _number(value: Value) -> float:
    if isinstance(value, Timing):
        return value.median_ms
    return value.median if isinstance(value, Ratio) else float(value)


def _spread(value: Value) -> float:
    if isinstance(value, Timing):
        return value.spread_ms
    return value.spread if isinstance(value, Ratio) else 0.0


def _measured(series: Mapping[str, Mapping[Any, Value]]) -> str:
    """The note that the measurements themselves make: where, how many runs."""
    found = [value for group in series.values() for value in group.values() if isinstance(value, (Timing, Ratio))]
    if not found:
        return ""
    devices = " and ".join(dict.fromkeys(value.device for value in found))
    return f"Measured on {devices}, median of {min(value.runs for value in found)} runs"


def _in_words(series: Mapping[Any, Any]) -> str:
    """The figures themselves, for the description; the first and the last few of a long series."""
    parts = []
    for name, value in series.items():
        if isinstance(value, Mapping):
            parts.append(f"{name} ({_in_words(value)})")
        else:
            parts.append(f"{name} {number(_number(value))}")
    return ", ".join(parts if len(parts) <= 12 else [*parts[:5], "…", *parts[-5:]])
