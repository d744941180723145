"""Draws what `tensor_cores.rates` measures and models, and the two diagrams of the second half of the tensor-core
chapter.

Titles state the finding with the figures at hand.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from matplotlib.patches import Rectangle

from gpulab.chapters.tensor_cores.clock import apart
from gpulab.chapters.tensor_cores.rates import TILE, Accumulation, Staircase
from gpulab.figures import plot
from gpulab.figures.diagrams import bare
from gpulab.figures.style import (
    BLUE,
    COLORS,
    FAINT,
    GRAY,
    INK,
    ORANGE,
    canvas,
    ink_on,
    label_ends,
    number,
    show,
    style,
    tidy,
)
from gpulab.measuring import machine
from gpulab.measuring.devices import device_name, has_gpu
from gpulab.measuring.timing import Timing
from gpulab.tables import gpu_row

BATCH_TICKS = (100, 200, 300, 500, 1000, 2000)
WAVES = (BLUE, ORANGE, "#17becf")
DATASHEETS = ("V100", "A100 80GB", "H200")
TYPES = ("float32", "tfloat32", "bfloat16", "float16")


def accumulation(found: Accumulation) -> None:
    """Lines: relative error of a dot product over its length, with a float16 sum and with the student's `mma`."""
    longest = max(found.short)
    title = f"After {number(longest)} terms a float16 sum is {100 * found.short[longest]:.0f} % off; yours is not"
    series: dict[str, dict[float, plot.Value]] = {
        "float16 sum": {k: error for k, error in found.short.items()},  # noqa: C416 - another type of key for mypy
        "your mma": {k: max(error, 1e-9) for k, error in found.student.items()},
    }
    plot.lines(
        series,
        title=title,
        x="terms in a sum (k)",
        y="median relative error",
        note="Numbers between 0 and 1 in float16, products exact; computed with NumPy",
        log_x=True,
        log_y=True,
    )


def product_errors(errors: Mapping[str, float]) -> None:
    """Bars: the error of a product when its elements were rounded to each type first."""
    ratio = errors["bfloat16"] / errors["tfloat32"]
    plot.bars(
        {name: 1e6 * error for name, error in errors.items()},
        title=f"Three mantissa bits fewer: bfloat16 is {ratio:.1f} times as far off as TF32",
        y="relative error of the product, ppm",
        x="type of the elements; sums in float32",
        note="256 × 256 random numbers, rounded by your functions (float16 by NumPy), against float64",
        highlight=["bfloat16"],
        log=True,
    )


def smallest_batches(found: Mapping[str, Mapping[int, int | None]]) -> None:
    """Lines: the smallest compute-bound batch over the layer's width, for several GPUs."""
    widths = sorted(next(iter(found.values())))
    none = {gpu: [width for width in widths if batches[width] is None] for gpu, batches in found.items()}
    worst = max(none, key=lambda gpu: len(none[gpu]))
    narrow = max(none[worst])
    title = f"{worst}: a layer of {narrow} × {narrow} is never compute-bound, whatever the batch"
    with style():
        figure, axes = canvas(
            title, "Square layers in float16, by your smallest_batch; peaks (dense) by the datasheets", 4.0
        )
        ends = []
        for place, (gpu, batches) in enumerate(found.items()):
            points = [(width, batch) for width, batch in sorted(batches.items()) if batch is not None]
            axes.plot(*zip(*points, strict=True), color=COLORS[place], marker="o")
            ends.append((gpu, float(points[-1][0]), float(points[-1][1]), COLORS[place]))
        axes.set(xscale="log", yscale="log", xlabel="in_features = out_features", ylabel="smallest batch, rows")
        axes.set_xticks(widths, [number(width, digits=6) for width in widths])
        axes.set_yticks(BATCH_TICKS, [number(batch) for batch in BATCH_TICKS])
        axes.minorticks_off()
        label_ends(axes, ends)
    words = "; ".join(f"{gpu}: {', '.join(f'{w} → {b}' for w, b in batches.items())}" for gpu, batches in found.items())
    show(figure, f"{title}. Smallest batch by width. {words}.")


def draw_waves(m: int = 10, n: int = 11, tile: tuple[int, int] = (3, 2), sms: int = 9) -> None:
    """A small product cut into tiles, with what its edge tiles waste, beside who computes which tile when."""
    down, across = -(-m // tile[0]), -(-n // tile[1])
    tiles = down * across
    waves = -(-tiles // sms)
    title = f"{tiles} tiles on {sms} SMs: {waves} waves, and in the last one {tiles - (waves - 1) * sms} of {sms} work"
    with style():
        figure, axes = canvas(
            title, f"Diagram: a result of {m} × {n}, tiles of {tile[0]} × {tile[1]}; hatched: computed for nothing", 3.6
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


def staircase(found: Staircase) -> None:
    """Lines: what part of the peak tiles and waves leave, by the size of a product; measured rates on a GPU."""
    sizes = sorted(found.model)
    drop, before = max((found.model[a] - found.model[b], a) for a, b in itertools.pairwise(sizes))
    after = sizes[sizes.index(before) + 1]
    title = f"From {before:,} to {after:,} rows, {100 * drop:.0f} % of the peak are gone"
    series = {"model, by your quantization": dict(found.model)}
    note = f"Model of {found.gpu}: {found.sm_count} SMs, tiles of {TILE[0]} × {TILE[1]}, all tiles equally fast"
    if found.measured_tflops:
        best = max(found.measured_tflops.values())
        series["measured ÷ best measured"] = {n: rate / best for n, rate in found.measured_tflops.items()}
        note += "; measured in bfloat16"
    with style():
        figure, axes = canvas(title, note, 4.0)
        ends = []
        for place, (name, points) in enumerate(series.items()):
            at = sorted(points)
            axes.plot(at, [100 * points[n] for n in at], color=COLORS[place], marker=".", lw=1.6)
            ends.append(
                (name.replace(", ", ",\n").replace(" ÷ ", "\n÷ "), float(at[-1]), 100 * points[at[-1]], COLORS[place])
            )
        axes.set(xlabel="m = n, rows and columns of the result", ylabel="part of the peak, %", ylim=(0, 105))
        tidy(axes.xaxis)
        label_ends(axes, ends)
    words = ", ".join(f"{n}: {100 * found.model[n]:.0f} %" for n in sizes[:: max(1, len(sizes) // 12)])
    show(figure, f"{title}. {words}.")


def padding(timings: Mapping[str, Timing]) -> None:
    """Bars: how long the product takes with an odd number of outputs, an even one, and a padded one."""
    odd, padded = timings["50257"], timings["50304"]
    if apart(odd, padded):
        title = f"With 47 outputs more, the product runs {odd.median_ms / padded.median_ms:.2f} times as fast"
    else:
        title = "With 47 outputs more, no difference here beyond the spread"
    plot.bars(
        timings,
        title=title,
        y="time, ms",
        x="outputs",
        highlight="50304",
    )


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


def convolutions(timings: Mapping[str, Timing]) -> None:
    """Bars: a convolution in both layouts."""
    first, last = timings["NCHW"], timings["NHWC"]
    gain = first.median_ms / last.median_ms
    title = (
        f"The same convolution: channels {'last' if gain > 1 else 'first'} is {max(gain, 1 / gain):.2f} times as fast"
    )
    if not apart(first, last):
        title = "The same convolution in both layouts: no difference here beyond the spread"
    plot.bars(
        timings,
        title=title,
        y="time, ms",
        x="layout",
        highlight="NHWC",
    )


def rates(measured: Mapping[str, float]) -> None:
    """Bars: matmul rates by type, measured here; those of a recorded GPU if there is one, and datasheets."""
    here = f"measured: {device_name()}"
    groups: dict[str, dict[str, float]] = {here: {name: measured[name] for name in TYPES if name in measured}}
    recording = machine.recorded_gpu()
    if recording is not None:
        rates_of = recording.matmul_gflops
        groups[f"recorded on {recording.device}, {recording.date}"] = {
            name: rates_of[name] / 1e3 for name in TYPES if name in rates_of
        }
    for gpu in DATASHEETS:
        row = gpu_row(gpu)
        groups[f"datasheet: {gpu}"] = {
            name: float(row[f"{name}_tflops"]) for name in TYPES if row[f"{name}_tflops"] is not None
        }
    short = "bfloat16" if "bfloat16" in measured else "float16"
    promised = gpu_row("H200")
    ratio = promised[f"{short}_tflops"] / promised["float32_tflops"]
    here_ratio = measured[short] / measured["float32"]
    size = "8192 × 8192" if has_gpu() else "512 × 512 (float16: 256 × 256)"
    plot.bars(
        groups,
        title=f"{short} over float32: {here_ratio:.1f} times here, {ratio:.0f} promised by an H200",
        y="TFLOPS (dense)",
        note=f"Measured with random numbers, {size}, medians; datasheets are promises",
        log=True,
    )
