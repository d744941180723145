"""The report's figures, as SVG text to stand inside a page: light and dark, any width, with a description for readers.

Text stays text and takes the page's color; nothing in a figure depends on the time or the machine it was drawn on.
"""

from __future__ import annotations

import html
import io
import re
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.model.results import SubmissionResult, Verdict
from grader.report.class_statistics import CellNumbers, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GRAY = "#1f77b4", "#ff7f0e", "#a3a3a3"
"""Of matplotlib's tab10: told apart by the color-blind too."""
INK = "#010203"
"""Stands for the page's text color until the figure is in the page."""
WIDTH_INCHES = 5.6
GROUPS = (
    ("all points", BLUE, "white", (Verdict.PASSED,)),
    ("part of them", "#a6cee3", "#10222e", (Verdict.PARTIAL,)),
    ("failed", ORANGE, "#2b1600", (Verdict.FAILED,)),
    ("hung or crashed", "#a34700", "white", (Verdict.TIMED_OUT, Verdict.CRASHED)),
    ("not attempted", "#c8c8c8", "#222222", (Verdict.NOT_ATTEMPTED,)),
    ("pending", "none", INK, (Verdict.NEEDS_GPU, Verdict.HARNESS_ERROR)),
)
"""Label, color, color of text on it, and the verdicts that it stands for."""


def height_of(rows: int) -> float:
    """Inches that bars for so many tests need, the legend included."""
    return 0.9 + 0.27 * rows


def score_histogram(results: Sequence[SubmissionResult], height_inches: float = 3.0) -> str:
    """How many submissions have how many points, with the median marked."""
    from matplotlib.ticker import MaxNLocator

    possible = max(result.possible for result in results) or 1.0  # a chapter without points has bars all the same
    totals = [result.earned for result in results]
    bins = min(10, max(1, round(possible)))
    edges = [possible * index / bins for index in range(bins + 1)]
    figure, axes = _figure(height_inches)
    counts = [0] * bins
    for total in totals:
        counts[min(int(total * bins / possible), bins - 1)] += 1  # full points belong to the last bin
    width = possible / bins
    bars = axes.bar(edges[:-1], counts, width=0.92 * width, align="edge", color=BLUE)
    axes.bar_label(bars, labels=[str(count) if count else "" for count in counts], color=INK, padding=2)
    median = statistics.median(totals)
    axes.axvline(median, color=ORANGE, linewidth=2)
    left = median > possible / 2
    axes.annotate(
        f"median {points(median)}",
        (median, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(-6 if left else 6, 4),
        textcoords="offset points",
        ha="right" if left else "left",
        color=INK,
        fontweight="bold",
    )
    axes.set(xlabel=f"points, of {points(possible)}", ylabel="submissions", xlim=(0, possible))
    axes.set_ylim(0, max(counts) * 1.18)
    axes.set_xticks(edges, [points(edge) for edge in edges])
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    spread = ", ".join(
        f"{count} from {points(low)} to {points(high)}"
        for count, low, high in zip(counts, edges, edges[1:], strict=False)
        if count
    )
    return _svg(figure, "scores", f"Histogram of points: {spread}; the median is {points(median)}.")


def outcome_bars(tests: Sequence[CellNumbers]) -> str:
    """For each test, how many submissions passed, failed, and so on, as bars of equal length."""
    figure, axes = _figure(height_of(len(tests)))
    widest = max(sum(test.verdicts.values()) for test in tests)
    for row, test in enumerate(tests):
        left = 0
        for _, color, ink, verdicts in GROUPS:
            count = sum(test.verdicts[verdict] for verdict in verdicts)
            if not count:
                continue
            inset = 0.03 if color == "none" else 0.0  # a dashed line, not one that touches its neighbor
            bars = axes.barh(row, count - 2 * inset, left=left + inset, height=0.76, color=color)
            if color == "none":
                bars.patches[0].set(edgecolor=INK, linewidth=0.8, linestyle=(0, (3, 2)))
            if count >= 0.03 * widest:  # a number needs room
                axes.text(left + count / 2, row, str(count), ha="center", va="center", color=ink, fontsize=8.5)
            left += count
    axes.set_yticks(range(len(tests)), [test.label for test in tests])
    axes.set_ylim(len(tests) - 0.4, -0.6)
    axes.set_xlim(0, widest)
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    axes.tick_params(left=False)
    _name_groups(axes, tests)
    told = "; ".join(
        f"{test.grade_id}: " + ", ".join(f"{count} {verdict.value}" for verdict, count in test.verdicts.items())
        for test in tests
    )
    return _svg(figure, "tests", f"Outcomes of each test. {told}.")


def _name_groups(axes: Axes, tests: Sequence[CellNumbers]) -> None:
    """The legend, above the bars, with what occurs only."""
    from matplotlib.patches import Patch

    seen = {verdict for test in tests for verdict, count in test.verdicts.items() if count}
    patches = [
        Patch(facecolor=color, label=label)
        if color != "none"
        else Patch(facecolor="none", edgecolor=INK, linestyle="--", linewidth=0.8, label=label)
        for label, color, _, verdicts in GROUPS
        if seen & set(verdicts)
    ]
    axes.legend(
        handles=patches,
        ncols=3,
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        frameon=False,
        handlelength=1.1,
        handleheight=1.1,
        columnspacing=1.2,
        borderpad=0,
        borderaxespad=0.4,
        labelcolor=INK,
        fontsize=9,
    )


def _figure(height_inches: float) -> tuple[Figure, Axes]:
    """An empty figure in the report's style, and its axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_INCHES, height_inches), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.tick_params(colors=INK, labelsize=9)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    return figure, axes


def _svg(figure: Figure, name: str, description: str) -> str:
    """The figure as an SVG element, the same every time that it is drawn."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r"'?DejaVu Sans[^;\"]*", "system-ui, sans-serif", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Two figures in one page must not share ids.
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\1{name}-", svg)
    width, height = (72 * inches for inches in figure.get_size_inches())
    label = html.escape(description, quote=True)
    opening = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
    opening += f'aria-label="{label}" viewBox="0 0 {width:g} {height:g}" style="width:100%;height:auto">'
    return opening + svg[svg.index(">") + 1 :]
