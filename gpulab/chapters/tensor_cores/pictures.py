"""Draws what the student's functions of the tensor-core chapter decide, and the waves of tiles.

Explanations without an answer in them are `tensor_cores.diagrams`; measurements stand on the page.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from matplotlib.patches import Rectangle

from gpulab.figures.diagrams import bare
from gpulab.figures.styling import BLUE, FAINT, GRAY, INK, ORANGE, canvas, ink_on, show, style
from gpulab.tables import table

TYPES = ("float64", "float32", "tfloat32", "bfloat16", "float16", "float8", "int8", "int4", "int1")
WAVES = (BLUE, ORANGE, "#17becf")


def draw_precision(tensor_core_types: Callable[[str], Collection[str]]) -> None:
    """Types by architecture: what tensor cores support, by the student's function, and what CUDA cores do."""
    rows = table("precision")
    architectures = list(dict.fromkeys(str(row["arch"]) for row in rows))
    cuda = {(row["arch"], row["type"]) for row in rows if row["unit"] == "cuda"}
    tensor = {architecture: set(tensor_core_types(architecture)) for architecture in architectures}
    common = set.intersection(*(types for types in tensor.values() if types)) if any(tensor.values()) else set()
    title = (
        f"{' and '.join(sorted(common))}: the type that every tensor core supports"
        if common
        else "What tensor cores support"
    )
    with style():
        figure, axes = canvas(
            title,
            "Blue: tensor cores, by your function. Gray dot: CUDA cores, from data/precision.csv",
            3.6,
        )
        for down, architecture in enumerate(architectures):
            for across, kind in enumerate(TYPES):
                fill = BLUE if kind in tensor[architecture] else FAINT
                alpha = 1.0 if kind in tensor[architecture] else 0.35
                axes.add_patch(Rectangle((across - 0.46, down - 0.42), 0.92, 0.84, facecolor=fill, alpha=alpha))
                if (architecture, kind) in cuda:
                    axes.plot(
                        [across + 0.3], [down + 0.2], marker="o", color=GRAY, markeredgecolor="white", markersize=8
                    )
        axes.set(xlim=(-0.6, len(TYPES) - 0.4), ylim=(len(architectures) - 0.4, -0.6))
        axes.set_xticks(range(len(TYPES)), TYPES)
        axes.set_yticks(range(len(architectures)), architectures)
        axes.tick_params(length=0)
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
    words = "; ".join(f"{name}: {', '.join(sorted(map(str, types))) or 'none'}" for name, types in tensor.items())
    show(figure, f"Types on tensor cores, by architecture. {words}.")


def draw_waves(m: int = 10, n: int = 11, tile: tuple[int, int] = (3, 2), sms: int = 9) -> None:
    """A small product cut into tiles, with what its edge tiles waste, beside who computes which tile when."""
    down, across = -(-m // tile[0]), -(-n // tile[1])
    tiles = down * across
    waves = -(-tiles // sms)
    title = f"{tiles} tiles on {sms} SMs: {waves} waves, and in the last one {tiles - (waves - 1) * sms} of {sms} work"
    with style():
        figure, axes = canvas(
            title,
            f"Diagram: a result of {m} × {n}, tiles of {tile[0]} × {tile[1]}; hatched: beyond the result",
            3.6,
        )
        for index in range(tiles):
            row, column = divmod(index, across)
            color = WAVES[index // sms % len(WAVES)]
            x, y = column * tile[1], row * tile[0]
            axes.add_patch(Rectangle((x, y), tile[1] * 0.96, tile[0] * 0.96, color=color, lw=0))
            _hatch_edges(axes, (x, y), tile, (m, n))
            axes.annotate(
                str(index),
                ((x + min(x + tile[1], n)) / 2, (y + min(y + tile[0], m)) / 2),
                ha="center",
                va="center",
                color=ink_on(color),
                fontsize=9,
            )
        axes.add_patch(Rectangle((0, 0), n, m, fill=False, edgecolor=INK, lw=2))
        axes.annotate("the result, in tiles", (0, -0.5), va="bottom", fontsize=10)
        start, wide, high = across * tile[1] + 4.0, 3.2, down * tile[0] / sms
        for wave in range(waves):
            for sm in range(sms):
                index = wave * sms + sm
                color = WAVES[wave % len(WAVES)] if index < tiles else FAINT
                axes.add_patch(Rectangle((start + wave * wide, sm * high), wide * 0.96, high * 0.9, color=color, lw=0))
                text = str(index) if index < tiles else "idle"
                ink = ink_on(color) if index < tiles else GRAY
                axes.annotate(
                    text,
                    (start + (wave + 0.48) * wide, (sm + 0.45) * high),
                    ha="center",
                    va="center",
                    color=ink,
                    fontsize=9,
                )
            axes.annotate(
                f"wave {wave + 1}", (start + (wave + 0.48) * wide, -0.5), ha="center", va="bottom", fontsize=10
            )
        for sm in range(sms):
            axes.annotate(f"SM {sm}", (start - 0.2, (sm + 0.45) * high), ha="right", va="center", fontsize=9)
        axes.annotate("time →", (start + waves * wide, down * tile[0] + 0.3), ha="right", va="top", fontsize=10)
        bare(axes, (-0.3, start + waves * wide + 0.3), (down * tile[0] + 1.3, -1.6))
    show(
        figure,
        f"{title}. Tiles 0 to {tiles - 1} in order, {sms} at a time; those at the right and lower edge reach too far.",
    )


def _hatch_edges(axes: Any, at: tuple[float, float], tile: tuple[int, int], extent: tuple[int, int]) -> None:
    """Hatches the part of a tile that lies beyond the result."""
    (x, y), (m, n) = at, extent
    beyond_right, beyond_below = max(0, x + tile[1] - n), max(0, y + tile[0] - m)
    style_of: dict[str, Any] = {"facecolor": "white", "edgecolor": GRAY, "hatch": "////", "lw": 0, "alpha": 0.8}
    if beyond_right:
        axes.add_patch(Rectangle((n, y), beyond_right * 0.96, tile[0] * 0.96, **style_of))
    if beyond_below:
        axes.add_patch(Rectangle((x, m), tile[1] * 0.96, beyond_below * 0.96, **style_of))


def draw_layouts(strides: Callable[[tuple[int, ...], str], Any]) -> None:
    """The memory of a small image in both layouts, each number placed by the student's strides."""
    channels, height, width = 3, 2, 4
    count = channels * height * width
    title = "The same 24 numbers: channels in three blocks, or side by side"
    names = ("red", "green", "blue channel")
    colors = (ORANGE, GRAY, BLUE)
    with style():
        figure, axes = canvas(
            title, "Diagram: 2 × 4 pixels with 3 channels, placed by your strides; a number names the pixel", 2.5
        )
        for row, layout in enumerate(("NCHW", "NHWC")):
            steps = strides((1, channels, height, width), layout)
            for at in range(count):
                channel, pixel = divmod(at, height * width)
                y, x = divmod(pixel, width)
                place = int(channel * steps[1] + y * steps[2] + x * steps[3])
                axes.add_patch(Rectangle((place, row * 1.6), 0.92, 1, color=colors[channel], lw=0))
                axes.annotate(
                    str(pixel),
                    (place + 0.46, row * 1.6 + 0.5),
                    ha="center",
                    va="center",
                    fontsize=10,
                    color=ink_on(colors[channel]),
                )
            axes.annotate(layout, (-0.4, row * 1.6 + 0.5), ha="right", va="center", weight="bold")
        for channel, name in enumerate(names):
            axes.add_patch(Rectangle((channel * 4, 3.1), 0.6, 0.5, color=colors[channel], lw=0))
            axes.annotate(name, (channel * 4 + 0.8, 3.35), va="center", fontsize=10)
        axes.annotate("address →", (count, 3.35), ha="right", va="center", fontsize=10)
        bare(axes, (-2.6, count + 0.3), (3.8, -0.2))
    show(
        figure,
        f"{title}. NCHW: all pixels of red, then green, then blue. NHWC: red, green, blue of pixel 0, then of pixel 1.",
    )
