"""Draws what the first half of the CUDA chapter measures: sectors of a request, saxpy on the roofline, reads by stride.

Diagrams are `cuda_basics.diagrams`; pictures of a recorded launch are `gpulab.trace`'s own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpulab.chapters.cuda_basics.access_patterns import (
    FLOAT_BYTES,
    SAXPY_BYTES,
    SAXPY_FLOP,
    SECTOR_BYTES,
    Rates,
    sectors_touched,
)
from gpulab.chapters.cuda_basics.diagrams import LIGHT
from gpulab.figures import plot
from gpulab.figures.diagrams import bare, rectangle
from gpulab.figures.style import GRAY, INK, canvas, number, show, style
from gpulab.measuring import machine
from gpulab.tables import table


def draw_requests(requests: Mapping[str, Sequence[int]], row_bytes: int = 512) -> None:
    """Which 32-byte sectors of memory a warp of float32 readers touches, a row for each pattern.

    Args:
        requests: name → the index that each of the 32 lanes asks for.
        row_bytes: how much of the memory is drawn; sectors beyond are counted, not drawn.
    """
    words = []
    with style():
        figure, axes = canvas(
            "Memory comes in sectors of 32 bytes: what counts is how many a warp touches",
            "32 threads ask for one float32 each; a box is a sector of 8 floats, strips are what they asked for",
            1.35 + 0.62 * len(requests),
        )
        floats = row_bytes // 4
        bare(axes, (-34, floats + 24), (len(requests) * 1.5 - 0.3, -0.3))
        for row, (name, indexes) in enumerate(requests.items()):
            top, touched = row * 1.5, sectors_touched(indexes)
            asked = len(set(indexes)) * FLOAT_BYTES / (touched * SECTOR_BYTES)
            words.append(f"{name}: {touched} sectors")
            axes.annotate(name, (-2, top + 0.5), ha="right", va="center")
            for left in range(0, floats, 8):
                used = any(left <= index < left + 8 for index in indexes)
                shade = LIGHT if used else "white"
                rectangle(axes, (left + 0.3, top), 7.4, 1, shade, edge=GRAY, line=0.7)
            for index in {index for index in indexes if index < floats}:
                rectangle(axes, (index + 0.35, top + 0.2), 0.62, 0.6, INK, edge="none")
            if max(indexes) >= floats:
                axes.annotate("…", (floats + 1, top + 0.5), va="center", fontsize=13)
            count = f"{touched} sector{'s' if touched > 1 else ''}"
            share = f"{number(100 * asked)} % of it used" if len(set(indexes)) > 1 else "one float for all"
            axes.annotate(count, (floats + 6, top + 0.3), va="center", weight="bold")
            axes.annotate(share, (floats + 6, top + 0.82), va="center", fontsize=9, color="#555555")
    show(figure, f"Sectors that a warp's request touches. {'; '.join(words)}.")


def draw_saxpy(rates: Rates) -> None:
    """Rate over the size of the grid on a GPU; without one a CPU's rate, and for scale the memory of an H200."""
    if rates.kind == "cuda":
        best = max(rates.gbs.values()) / rates.copy_gbs
        plot.lines(
            {"your saxpy_kernel": rates.gbs},
            title=f"8 blocks are a handful of workers; a full grid reaches {best:.0%} of a copy's rate",
            x="blocks of 128 threads",
            y="read + written, GB/s",
            note=f"Measured on {rates.device}, {rates.elements:,} elements, median of {rates.runs} runs",
            log_x=True,
            log_y=True,
            marks={"8 blocks": 8.0},
            limits={"copy, measured": rates.copy_gbs},
        )
        return
    h200 = next(row for row in table("gpus") if row["gpu"] == "H200")
    plot.bars(
        {
            "saxpy, one core": next(iter(rates.gbs.values())),
            "copy, one core": rates.copy_gbs,
            "H200, datasheet": float(h200["bandwidth_gbs"] or 0),
        },
        title="One core moves a few GB a second, the memory of a GPU thousands",
        y="read + written, GB/s",
        note=f"Blue: measured on {rates.device}, {rates.elements:,} elements, median of {rates.runs} runs. "
        "Orange: the memory of a GPU that is not here",
        highlight="H200, datasheet",
        log=True,
    )


def draw_saxpy_roof(rates: Rates) -> None:
    """The best of the rates on the roofline of the machine that it was measured on."""
    best = max(rates.gbs.values())
    intensity = SAXPY_FLOP / SAXPY_BYTES
    # Neither moves every byte that it does not count (a CPU reads what it will overwrite), so either may be faster.
    plot.roofline(
        {rates.device: (machine.ceilings().matmul_gflops["float32"] / 1e3, max(rates.copy_gbs, best))},
        {"saxpy": (intensity, best * intensity / 1e3)},
        title="saxpy lives at the far left: it waits for memory, not for arithmetic",
        note=f"Measured on {rates.device}; the roof: a matrix product, and the faster of a copy and saxpy",
    )


def draw_strides(rates: Rates) -> None:
    """Useful gigabytes a second over the stride, and what counting sectors (on a CPU: cache lines) foretells."""
    first = rates.gbs[1]
    unit, line = ("sectors of 32 bytes", 32) if rates.kind == "cuda" else ("cache lines of 64 bytes", 64)
    model = {str(stride): first / min(stride, line // 4) for stride in rates.gbs}
    plot.bars(
        {
            "measured": {str(stride): gbs for stride, gbs in rates.gbs.items()},
            f"if only the number of {unit} counted": model,
        },
        title="Step over your neighbors, and most of what memory delivers is thrown away",
        x="stride, in floats",
        y="useful data, GB/s",
        note=f"Measured on {rates.device}, {rates.elements:,} float32 read at each stride, median of {rates.runs} runs",
        log=True,
    )


def draw_sectors(counts: Mapping[str, float], title: str, note: str = "Counted by the tracer") -> None:
    """Bars of sectors per request; the last one is the student's."""
    plot.bars(dict(counts), title=title, y="sectors per warp request", note=note, highlight=list(counts)[-1])
