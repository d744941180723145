"""Draws `tensor_cores.roofs`: roofs by number format, with one layer's batches under them."""

from __future__ import annotations

import math
from typing import Any

from gpulab.chapters.tensor_cores.roofs import Roofs
from gpulab.figures.style import BLUE, GRAY, INK, ORANGE, canvas, label_ends, number, show, style, tidy

LINES = {"float32": GRAY, "float16": INK, "tfloat32": GRAY, "bfloat16": INK, "float8": GRAY}


def rooflines(promised: Roofs, measured: Roofs) -> None:
    """Two rooflines side by side, the H200's and this machine's; dots are batches of one layer."""
    first, best = measured.dots[0], max(measured.dots, key=lambda dot: dot.tflops)
    peak = measured.peaks[measured.dtype]
    title = (
        f"The same layer: {100 * first.tflops / peak:.2g} % of this machine's peak at batch {first.batch}, "
        f"{100 * best.tflops / peak:.0f} % at batch {best.batch}"
    )
    note = (
        f"Left: {promised.name}, {promised.dtype}. Right: {measured.name}, {measured.dtype}. "
        "Dots: batches of one layer; orange: compute-bound, by your function"
    )
    with style():
        figure, whole = canvas(title, note, 4.6)
        whole.set_axis_off()
        for place, roofs in ((0.08, promised), (0.6, measured)):
            _roofline(whole.inset_axes((place, 0.13, 0.34, 0.85)), roofs)
    words = "; ".join(
        f"{roofs.name}: ridge at {number(_ridge(roofs, roofs.dtype))} FLOP/byte; "
        + ", ".join(f"batch {dot.batch} {number(dot.tflops)} TFLOPS" for dot in roofs.dots)
        for roofs in (promised, measured)
    )
    show(figure, f"{title}. {words}.")


def _ridge(roofs: Roofs, dtype: str) -> float:
    return 1e3 * roofs.peaks[dtype] / roofs.bandwidth_gbs


def _roofline(axes: Any, roofs: Roofs) -> None:
    scale, unit = (1.0, "TFLOPS") if max(roofs.peaks.values()) >= 1 else (1e3, "GFLOPS")
    ridges = {dtype: _ridge(roofs, dtype) for dtype in roofs.peaks}
    low = 10 ** math.floor(math.log10(min(dot.intensity for dot in roofs.dots) / 1.5))
    high = 4 * max([*ridges.values(), *(dot.intensity for dot in roofs.dots)])
    ends = []
    for dtype, peak in roofs.peaks.items():
        color = LINES[dtype]
        rising = scale * low * roofs.bandwidth_gbs / 1e3
        axes.plot([low, ridges[dtype], high], [rising, scale * peak, scale * peak], color=color, lw=1.6, zorder=2)
        ends.append((dtype, high, scale * peak, color))
    ridge, peak = ridges[roofs.dtype], scale * roofs.peaks[roofs.dtype]
    axes.set(xscale="log", yscale="log", xlim=(low, high))
    axes.set_ylim(0.5 * min(scale * dot.tflops for dot in roofs.dots), 2.5 * scale * max(roofs.peaks.values()))
    bottom = axes.get_ylim()[0]
    axes.plot([ridge, ridge], [bottom, peak], color=INK, ls=":", lw=1.2)
    axes.annotate(f"ridge {number(ridge)}", (ridge, bottom), (4, 4), textcoords="offset points", fontsize=9)
    for dot in roofs.dots:
        axes.plot(dot.intensity, scale * dot.tflops, "o", color=ORANGE if dot.compute_bound else BLUE, zorder=4)
        beside, side = ((-6, 3), "right") if dot.intensity < ridge else ((0, 7), "center")
        axes.annotate(
            f"{dot.batch}", (dot.intensity, scale * dot.tflops), beside, textcoords="offset points", ha=side, fontsize=9
        )
    axes.set_xlabel("intensity, FLOP/byte")
    axes.set_ylabel(unit)
    tidy(axes.xaxis, logarithmic=True)
    tidy(axes.yaxis, logarithmic=True)
    label_ends(axes, ends, 9.5)
