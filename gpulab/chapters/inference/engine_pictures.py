"""Inference: what precision costs and what it brings, drawn; measuring is for `inference.engine_speed`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpulab.chapters.inference.engine_speed import EAGER, Speeds
from gpulab.figures.diagrams import legend_below
from gpulab.figures.style import BLUE, COLORS, INK, canvas, number, show, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_cost(sizes: Mapping[str, int], accuracies: Mapping[str, float], title: str) -> None:
    """Draws accuracy against the size of the file, a point for each precision.

    Args:
        sizes: precision → bytes.
        accuracies: precision → share right, 0 to 1.
        title: the finding.
    """
    with style():
        figure = _cost(sizes, accuracies, title)
    words = ", ".join(f"{name} {sizes[name] / 1e3:.3g} kB and {accuracies[name]:.1%}" for name in sizes)
    show(figure, f"{title}. Accuracy on the test pictures against the size of the file: {words}.")


def draw_speeds(found: Speeds, title: str) -> None:
    """Draws how many times as fast as eager PyTorch each file is, for one picture and for many.

    Args:
        found: measured.
        title: the finding.
    """
    names = [name for name in found.latency_ms if name != EAGER]
    with style():
        figure = _speeds(found, names, title)
    words = ", ".join("{} {:.3g} times and {:.3g} times".format(name, *found.faster(name)) for name in names)
    show(figure, f"{title}. As fast as eager PyTorch, for 1 picture and for batches of 256: {words}.")


def _cost(sizes: Mapping[str, int], accuracies: Mapping[str, float], title: str) -> Figure:
    figure, axes = canvas(title, "The same network, the same test pictures", 3.8)
    axes.set(xlabel="size of the file, kB (1 kB = 1000 bytes)", ylabel="accuracy on the test pictures, %")
    axes.grid(visible=True)
    for place, (name, size) in enumerate(sizes.items()):
        at, color = (size / 1e3, 100 * accuracies[name]), COLORS[place]
        axes.plot(*at, "o", color=color, markersize=11)
        text = f"{name}\n{number(at[0])} kB, {at[1]:.1f} %"
        # In turn below and above: two that are near each other would cover one another's text.
        shift, side = ((0, -11), "top") if place % 2 == 0 else ((0, 11), "bottom")
        look: Any = {"color": color, "va": side, "ha": "center", "fontsize": 10.5, "weight": "bold"}
        axes.annotate(text, at, shift, textcoords="offset points", **look)
    low, high = 100 * min(accuracies.values()), 100 * max(accuracies.values())
    axes.set(xlim=(0, 1.2 * max(sizes.values()) / 1e3), ylim=(low - 3, high + 2.2))
    axes.set_yticks([tick for tick in axes.get_yticks() if low - 3 <= tick <= 100])
    return figure


def _speeds(found: Speeds, names: list[str], title: str) -> Figure:
    figure, axes = canvas(title, f"Measured on {found.device}, one thread, in turn", 3.8)
    alone, many = ([found.faster(name)[which] for name in names] for which in (0, 1))
    for shift, values, color, label in ((-0.19, alone, BLUE, "1 picture"), (0.19, many, COLORS[1], "256 pictures")):
        bars = axes.bar([at + shift for at in range(len(names))], values, 0.36, color=color, label=label)
        told = axes.bar_label(bars, [f"{number(value, 2)}×" for value in values], padding=3, fontsize=10)
        for text in told:
            text.set(bbox={"facecolor": "white", "linewidth": 0, "pad": 0.6}, zorder=5)
    axes.axhline(1, color=INK, linestyle="--", linewidth=1.2, label="eager PyTorch, float32")
    axes.set_xticks(range(len(names)), names)
    axes.set(ylabel="times as fast as eager PyTorch")
    axes.margins(y=0.12)
    legend_below(figure, 3)
    return figure
