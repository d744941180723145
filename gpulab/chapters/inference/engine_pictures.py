"""Inference: what a precision costs and saves, drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpulab.figures.styling import COLORS, canvas, number, show, style

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


def _cost(sizes: Mapping[str, int], accuracies: Mapping[str, float], title: str) -> Figure:
    figure, axes = canvas(title, "The same network, the same test pictures", 3.8)
    axes.set(xlabel="size of the file, kB (1 kB = 1000 bytes)", ylabel="accuracy on the test pictures, %")
    axes.grid(visible=True)
    for place, (name, size) in enumerate(sizes.items()):
        at, color = (size / 1e3, 100 * accuracies[name]), COLORS[place]
        axes.plot(*at, "o", color=color, markersize=11)
        text = f"{name}\n{number(at[0])} kB, {at[1]:.1f}%"
        # In turn below and above: two that are near each other would cover one another's text.
        shift, side = ((0, -11), "top") if place % 2 == 0 else ((0, 11), "bottom")
        look: Any = {"color": color, "va": side, "ha": "center", "fontsize": 10.5, "weight": "bold"}
        axes.annotate(text, at, shift, textcoords="offset points", **look)
    low, high = 100 * min(accuracies.values()), 100 * max(accuracies.values())
    axes.set(xlim=(0, 1.2 * max(sizes.values()) / 1e3), ylim=(low - 3, high + 2.2))
    axes.set_yticks([tick for tick in axes.get_yticks() if low - 3 <= tick <= 100])
    return figure
