"""Parts of diagrams: boxes and cells with words in them, arrows, and what goes below a figure.

A diagram has its origin at the top left (`ylim` from the bottom to the top), no axes, and units of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpulab.figures.styling import GRAY, ink_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Place = tuple[float, float]


def bare(axes: Axes, x: Place, y: Place, **settings: Any) -> None:
    """Leaves out the axes' lines, ticks and numbers; `x` and `y` are the limits, left or bottom first."""
    axes.set(xlim=x, ylim=y, **settings)
    axes.set_axis_off()


def rectangle(
    axes: Axes, corner: Place, wide: float, high: float, fill: str, edge: str = GRAY, line: float = 0.8, **options: Any
) -> None:
    """A rectangle from its corner with the smallest coordinates; `line` in points."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle(corner, wide, high, facecolor=fill, edgecolor=edge, linewidth=line, **options))


def square(axes: Axes, left: float, top: float, fill: str) -> None:
    """One of many squares that stand for things of a kind, 1 unit from the next, no lines between them."""
    rectangle(axes, (left, top), 0.92, 0.92, fill, edge="none")


def centerd(axes: Axes, words: str, x: float, y: float, size: float, **options: Any) -> None:
    """Words around a place; `size` in points."""
    axes.annotate(words, (x, y), ha="center", va="center", fontsize=size, **options)


def box(
    axes: Axes, corner: Place, wide: float, high: float, fill: str, words: str, *, size: float = 9.5, line: float = 0.8
) -> None:
    """A rectangle with words in its middle, in a color that can be read on its fill."""
    rectangle(axes, corner, wide, high, fill, line=line)
    centerd(axes, words, corner[0] + wide / 2, corner[1] + high / 2, size, color=ink_on(fill))


def cell(
    axes: Axes, left: float, top: float, fill: str, words: str, size: float = 10, hatch: str = "", bold: bool = False
) -> None:
    """An element of an array, 1 unit wide and high: its value, or who takes it.

    Args:
        axes: of the diagram.
        left: where it begins.
        top: where it begins.
        fill: its color.
        words: what stands in it.
        size: of the words, in points.
        hatch: drawn over the fill, as matplotlib writes it; empty for none.
        bold: whether the words are.
    """
    rectangle(axes, (left + 0.03, top), 0.94, 1, fill, line=0.7)
    if hatch:
        rectangle(axes, (left + 0.03, top), 0.94, 1, "none", edge="#e8a860", line=0, hatch=hatch)
    behind = {"facecolor": fill, "edgecolor": "none", "pad": 0.8} if hatch else None
    weight = "bold" if bold else "normal"
    centerd(axes, words, left + 0.5, top + 0.52, size, color=ink_on(fill), weight=weight, bbox=behind)


def arrow(
    axes: Axes, start: Place, stop: Place, color: str, width: float = 1.5, head: str = "->", **options: Any
) -> None:
    """An arrow between two places; `width` in points, `head` and `options` as matplotlib's `arrowprops`."""
    axes.annotate("", stop, start, arrowprops={"arrowstyle": head, "color": color, "lw": width, **options})
