"""The look of the course's figures, and how one reaches the notebook: exactly once, sharp, with a description.

What is drawn is up to `plot` and of the chapters; both start with `canvas` and end with `show`.
"""

from __future__ import annotations

import base64
import io
import itertools
import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from gpulab import ipython

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GRAY = "#1f77b4", "#ff7f0e", "#7f7f7f"
"""matplotlib's `tab10`: told apart with any color vision, and in print by their lightness."""

COLORS = (BLUE, ORANGE, GRAY, "#17becf", "#8c564b", "#bcbd22")
"""In the order in which series take them; six are more than a figure should have."""

INK, FAINT = "#222222", "#d9d9d9"
"""Text, and lines that only guide the eye."""

WIDTH_IN = 9.0
"""Inches: about a notebook's column."""

TITLE_CHARACTERS_PER_INCH = 8.5
"""Of a figure whose axes begin near its left edge."""

DOTS_PER_INCH = 160
SHOWN_PER_INCH = 96
"""Pixels of the screen per inch of the figure; the image has more, for sharp screens."""

_STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same picture everywhere
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": GRAY,
    "axes.labelcolor": INK,
    "axes.labelsize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 10.5,
    "ytick.labelsize": 10.5,
    "lines.linewidth": 2.2,
    "lines.markersize": 6,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "gpulab",
}


@contextmanager
def style() -> Iterator[None]:
    """Draws in the course's style inside the block; leaves matplotlib's settings as they were."""
    with mpl.rc_context(_STYLE):
        yield


def canvas(title: str, note: str = "", height: float = 3.6, width: float = WIDTH_IN) -> tuple[Figure, Axes]:
    """An empty figure with one pair of axes, titled in the course's way. Call it, and draw, inside `style()`.

    Args:
        title: the finding, as a sentence; a line that is too long is broken.
        note: a smaller line under it: the device, the number of runs.
        height: of the figure, inches.
        width: of the figure, inches.
    """
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH, layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08))
    axes = figure.add_subplot()
    lines = (textwrap.wrap(line, int(width * TITLE_CHARACTERS_PER_INCH)) for line in title.splitlines())
    head = "\n".join(itertools.chain.from_iterable(lines))
    below = "\n".join(textwrap.wrap(note, int(width * 11)))
    rise = 8 + (14 * (below.count("\n") + 1) if below else 0)
    if head:
        axes.annotate(
            head, (0, 1), (0, rise), xycoords="axes fraction", textcoords="offset points", fontsize=13, weight="bold"
        )
    if below:
        axes.annotate(
            below, (0, 1), (0, 8), xycoords="axes fraction", textcoords="offset points", fontsize=10, color="#555555"
        )
    return figure, axes


def show(figure: Figure, description: str) -> None:
    """Puts a figure into the notebook, once; does nothing outside one.

    Args:
        figure: drawn; it need not be closed, no other part of matplotlib knows it.
        description: what it shows, in words, for those who do not see it. Becomes the image's alternative text.
    """
    if ipython.shell() is None:
        return
    from IPython.display import display

    image = base64.b64encode(png(figure)).decode("ascii")
    width = round(figure.get_figwidth() * SHOWN_PER_INCH)
    display(
        {"image/png": image, "text/plain": f"[Figure: {description}]"},
        raw=True,
        metadata={"image/png": {"alt": description, "width": width}},
    )


def png(figure: Figure) -> bytes:
    """The figure as an image; the same bytes every time, for the same figure and matplotlib."""
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return buffer.getvalue()


def number(value: float, digits: int = 3, strip: bool = True) -> str:
    """A value as it stands in a figure: significant digits, thousands in groups, powers of ten beyond 1e6 and 1e-3.

    Args:
        value: what to show.
        digits: how many of its digits mean something.
        strip: leave out zeros after the decimal point: `2` for 2.0. Measurements keep them.
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1e6 or abs(value) < 1e-3:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if strip else mantissa
        power = f"10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
        return power if mantissa == "1" else f"{mantissa}×{power}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if strip and "." in text else text


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def label_ends(axes: Axes, labels: Sequence[tuple[str, float, float, str]], size: float = 10.5) -> None:
    """Writes each series' name beside its last point, moved apart where they would overlap.

    Call it when the limits of the axes are final.

    Args:
        axes: to write on.
        labels: (text, x, y, color); x and y in the data's units.
        size: of the letters, points.
    """
    axes.autoscale_view()  # else the limits, and with them the places, may be those from before the last line
    height = axes.get_window_extent().height * 72 / axes.get_figure(root=True).dpi  # type: ignore[union-attr]
    spaced = size * 1.35 / max(height, 1.0)
    wanted = [float(axes.transAxes.inverted().transform(axes.transData.transform((x, y)))[1]) for _, x, y, _ in labels]
    places = _apart(wanted, spaced)
    for (text, x, y, color), place, at in zip(labels, places, wanted, strict=True):
        moved = abs(place - at) > spaced / 4
        axes.annotate(
            text,
            (x, y),
            (1.02, place),
            textcoords="axes fraction",
            va="center",
            fontsize=size,
            color=color,
            weight="bold",
            arrowprops={"arrowstyle": "-", "color": color, "lw": 0.8, "alpha": 0.6} if moved else None,
            annotation_clip=False,
        )


def _apart(places: Sequence[float], distance: float) -> list[float]:
    """The places, shifted as little as needed so that neighbors keep the distance; order kept, inside [0, 1]."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    found = list(places)
    for _ in range(100):
        for lower, upper in itertools.pairwise(order):
            lack = distance - (found[upper] - found[lower])
            if lack > 1e-9:
                found[lower] -= lack / 2
                found[upper] += lack / 2
        found = [min(max(place, 0.0), 1.0) for place in found]
    return found


def tidy(axis: Any, logarithmic: bool = False) -> None:
    """Numbers on an axis as they stand in the rest of the figure; call it when its limits are final."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    shown = FuncFormatter(lambda value, _: number(value, digits=6))
    if logarithmic:
        axis.set_major_locator(LogLocator(base=10, numticks=12))
        axis.set_major_formatter(shown)
        axis.set_minor_formatter(NullFormatter())
    elif max(map(abs, axis.get_view_interval())) >= 1000:
        axis.set_major_formatter(shown)


def tidy_log(axis: Any) -> None:
    """Plain numbers on a logarithmic axis, none between decades."""
    tidy(axis, logarithmic=True)


def ink_on(color: str) -> str:
    """White or the text's color, whichever can be read on a block of this color."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(color)
    return "white" if 0.30 * red + 0.59 * green + 0.11 * blue < 0.5 else INK
