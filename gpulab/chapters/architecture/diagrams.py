"""Draws the hardware of the architecture chapter: one SM of 2010 and of 2022, a warp scheduler at work, warps that
diverge.

Diagrams and models only; what is measured is drawn by `architecture.pictures`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpulab.chapters.architecture.models import CHEAP, CYCLES, WARP, schedule
from gpulab.figures.diagrams import bare, box, square
from gpulab.figures.styling import BLUE, FAINT, GRAY, INK, ORANGE, canvas, show, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREEN, SAND = "#cfe3d4", "#e8e3d3"
"""Fills of memories: light enough to be written on, told apart by their labels."""
UNITS = {"CUDA core (FP32 lane)": BLUE, "load/store unit": GRAY, "special function unit": ORANGE, "tensor core": INK}
KILOBYTE = 0.028
"""Area of one KB of memory in a diagram; a lane has area 1."""


@dataclass(frozen=True)
class MultiprocessorPart:
    """One quarter (or the whole) of an SM: what its schedulers can reach."""

    schedulers: int
    lanes: int
    load_store: int
    special: int
    tensor: int
    register_kb: int


FERMI = (MultiprocessorPart(schedulers=2, lanes=32, load_store=16, special=4, tensor=0, register_kb=128),)
"""NVIDIA, "Fermi" whitepaper, 2009."""
HOPPER = (MultiprocessorPart(schedulers=1, lanes=32, load_store=8, special=4, tensor=1, register_kb=64),) * 4
"""NVIDIA, "H100 Tensor Core GPU Architecture" whitepaper, 2022; SFU results a cycle from the CUDA programming guide."""


def draw_sm() -> None:
    """A Fermi SM and a Hopper SM, lanes and memories to one scale."""
    with style():
        figure, axes = canvas(
            "Four times the lanes, and still only one instruction per scheduler and cycle",
            "Diagram after NVIDIA's whitepapers; memories have areas in proportion to their KB",
            4.7,
        )
        bare(axes, (-0.2, 47), (19.2, -1.4))
        axes.annotate("Fermi SM, 2010", (0, -0.5), fontsize=12, weight="bold")
        _memory(axes, 0, _part(axes, 0, 0.4, FERMI[0]) + 0.4, 8.6, 64, "64 KB shared + L1", GREEN)
        axes.annotate("Hopper SM, 2022 (H100, H200)", (11.5, -0.5), fontsize=12, weight="bold")
        bottom = 0.0
        for place, part in enumerate(HOPPER):
            bottom = _part(axes, 11.5 + place * 8.8, 0.4, part)
        _memory(axes, 11.5, bottom + 0.4, 8.8 * 4 - 0.2, 256, "256 KB shared memory + L1 for all four", GREEN)
        for place, (words, color) in enumerate(UNITS.items()):
            square(axes, place * 11.3, 18.0, color)
            axes.annotate(words, (place * 11.3 + 1.2, 18.5), va="center", fontsize=10)
    show(
        figure,
        "Two diagrams. A Fermi SM has 2 schedulers, 32 lanes, 16 load/store units, 4 special function units, 128 KB of "
        "registers and 64 KB of shared memory and L1. A Hopper SM has four quarters, each with 1 scheduler, 32 lanes, "
        "8 load/store units, 4 special function units, 1 tensor core and 64 KB of registers; 256 KB of L1 and shared "
        "memory serve all four.",
    )


def _part(axes: Axes, left: float, top: float, part: MultiprocessorPart) -> float:
    """Draws schedulers, registers and units from the top down; returns where it ends."""
    wide = 8.6
    for place in range(part.schedulers):
        each = wide / part.schedulers
        box(axes, (left + place * each, top), each - 0.1, 1.5, "white", "scheduler")
    top = _memory(axes, left, top + 1.9, wide, part.register_kb, f"{part.register_kb} KB registers", SAND)
    top = _rows(axes, left, top + 0.5, part.lanes, BLUE)
    top = _rows(axes, left, top + 0.4, part.load_store, GRAY)
    top = _rows(axes, left, top + 0.4, part.special, ORANGE)
    if part.tensor:
        box(axes, (left + 4.5, top - 1.05), 3.95, 3.2, INK, "tensor\ncore")
        top += 2.15
    return top


def _rows(axes: Axes, left: float, top: float, count: int, color: str) -> float:
    for place in range(count):
        square(axes, left + place % 8 * 1.075, top + place // 8 * 1.075, color)
    return top + -(-count // 8) * 1.075


def _memory(axes: Axes, left: float, top: float, wide: float, kilobytes: int, words: str, fill: str) -> float:
    high = kilobytes * KILOBYTE * 8.6 / wide
    box(axes, (left, top), wide, max(high, 1.2), fill, words)
    return top + max(high, 1.2)


def draw_schedule(numbers_of_warps: Sequence[int] = (1, 4, 9), wait_cycles: int = 8, horizon: int = 36) -> None:
    """The model scheduler with few and with enough warps: when each issues, waits, or is ready and not chosen."""
    colors = {"issue": BLUE, "wait": FAINT, "ready": ORANGE}
    rows = sum(numbers_of_warps) + 2 * len(numbers_of_warps)
    with style():
        figure, axes = canvas(
            f"A wait of {wait_cycles} cycles disappears behind {wait_cycles} other warps",
            f"Model of one scheduler, not a measurement: an instruction takes 1 cycle to issue and {wait_cycles} more "
            "until the same warp can go on; blue: issues, gray: waits, orange: ready, but another warp is served",
            1.5 + 0.22 * rows,
        )
        top, found = 0.0, []
        for warps in numbers_of_warps:
            table = schedule(warps, wait_cycles, horizon)
            for row, states in enumerate(table):
                blocks = [(cycle, 0.92) for cycle in range(horizon)]
                axes.broken_barh(blocks, (top + row - 0.43, 0.86), facecolors=[colors[state] for state in states])
            share = sum(state == "issue" for states in table for state in states) / horizon
            found.append(f"{warps} warps: {share:.0%}")
            words = f"{warps} {'warp' if warps == 1 else 'warps'}\n{share:.0%} of cycles used"
            axes.annotate(words, (horizon + 0.5, top + (warps - 1) / 2), va="center", annotation_clip=False)
            top += warps + 1.2
        axes.set(xlim=(0, horizon), ylim=(top - 1, -0.8), xlabel="cycle", yticks=[])
        axes.grid(visible=False)
        axes.spines["left"].set_visible(False)
    show(figure, f"Model of a warp scheduler; share of cycles in which it issues: {', '.join(found)}.")


def draw_warps(warps: int = 4) -> None:
    """The same few expensive threads, one in each warp and all in one warp: which lanes work in which cycle."""
    apart = [[lane == 11 for lane in range(WARP)] for _ in range(warps)]
    together = [[warp == 0 and lane in range(11, 11 + warps) for lane in range(WARP)] for warp in range(warps)]
    cheap, dear = CYCLES[CHEAP], max(CYCLES.values())
    with style():
        figure, whole = canvas(
            f"{warps} expensive threads: {warps * (cheap + dear)} cycles scattered, {warps * cheap + dear} gathered",
            f"Diagram: each column is a thread, time runs down; blue: cheap branch ({cheap} cycles), orange: expensive "
            f"branch ({dear} cycles), gray: switched off, waiting for the others of the warp",
            4.2,
        )
        whole.set_axis_off()
        for title, layout, left in (("scattered", apart, 0.06), ("gathered", together, 0.56)):
            axes = whole.inset_axes((left, 0.04, 0.44, 0.8))
            for warp, lanes in enumerate(layout):
                columns = [(warp * (WARP + 3) + lane, 0.85) for lane in range(WARP)]
                axes.broken_barh(columns, (0, cheap), facecolors=[FAINT if is_dear else BLUE for is_dear in lanes])
                if any(lanes):
                    colors = [ORANGE if is_dear else FAINT for is_dear in lanes]
                    axes.broken_barh(columns, (cheap, dear), facecolors=colors)
                middle = warp * (WARP + 3) + WARP / 2
                axes.annotate(f"warp {warp}", (middle, -4), ha="center", fontsize=10, annotation_clip=False)
            axes.set(ylim=(cheap + dear, 0), xlim=(-1, warps * (WARP + 3) - 3), xticks=[])
            axes.set_ylabel("cycle" if layout is apart else "")
            axes.set_title(title, fontsize=11, pad=24, loc="left", weight="bold")
            axes.grid(visible=False)
            axes.spines["bottom"].set_visible(False)
    show(
        figure,
        f"Lanes of {warps} warps over time. Scattered: every warp runs {cheap} cheap and then {dear} expensive cycles, "
        f"in which one lane works and 31 wait. Gathered: one warp does so, the others are done after {cheap} cycles.",
    )
