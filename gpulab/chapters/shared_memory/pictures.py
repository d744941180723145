"""Draws what `optimization_steps` and `rates` count and measure of the kernels that use shared memory.

Titles state the finding with the figures at hand; diagrams without a measurement are in `diagrams`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpulab.chapters.shared_memory.optimization_steps import Rung
from gpulab.chapters.shared_memory.rates import Program
from gpulab.figures import plot
from gpulab.figures.diagrams import legend_below
from gpulab.figures.style import BLUE, FAINT, GRAY, ORANGE, canvas, ink_on, number, show, style
from gpulab.measuring import machine
from gpulab.measuring.devices import device_name, has_gpu
from gpulab.measuring.timing import Ratio
from gpulab.tables import table

COUNTED = "Counted by gpulab.trace: the same on every machine"


def halo_reads(reads: Mapping[int, float]) -> None:
    """Lines: global reads an element over the radius, a thread alone and the student's kernel."""
    widest = max(reads)
    saved = (2 * widest + 1) / reads[widest]
    alone: dict[float, plot.Value] = {radius: 2 * radius + 1 for radius in reads}
    shared: dict[float, plot.Value] = {radius: reads[radius] for radius in reads}
    plot.lines(
        {"a thread alone": alone, "yours": shared},
        title=f"At radius {widest} the tile saves {100 * (1 - 1 / saved):.0f} % of all reads",
        x="radius",
        y="global reads for each element",
        note=COUNTED,
    )


def conflict_bars(degrees: Mapping[int, int]) -> None:
    """Bars: bank-conflict degree by stride; the strides without a conflict in blue."""
    with style():
        free = sum(degree == 1 for degree in degrees.values())
        title = f"Every odd stride is free ({free} of {len(degrees)}); 32 is the worst there is"
        figure, axes = canvas(title, f"{COUNTED}. One warp, lane t reads tile[stride · t]", 3.4)
        colors = [BLUE if degree == 1 else ORANGE for degree in degrees.values()]
        drawn = axes.bar(list(degrees), list(degrees.values()), color=colors)
        axes.bar_label(drawn, [str(degree) for degree in degrees.values()], padding=2, fontsize=9)
        axes.set_xticks(list(degrees), [str(stride) for stride in degrees], fontsize=9)
        axes.set(xlabel="stride, in words of 4 bytes", ylabel="turns for one request", ylim=(0, 36))
    told = ", ".join(f"{stride}: {degree}" for stride, degree in degrees.items())
    show(figure, f"{title}. Turns by stride: {told}.")


def ladder(rungs: Sequence[Rung]) -> None:
    """Stacked bars: what moving 32 floats costs each version; beside them its speed, where it was timed."""
    parts = (
        ("sectors read", BLUE, "", [rung.read_sectors for rung in rungs]),
        ("sectors written", ORANGE, "", [rung.write_sectors for rung in rungs]),
        ("turns of shared memory", FAINT, "///", [rung.shared_turns for rung in rungs]),
    )
    timed = [rung for rung in rungs if rung.copy_share is not None]
    with style():
        title = _ladder_title(rungs)
        note = f"{COUNTED}; shortest possible: 4 + 4" + (f". Speed: {device_name('cuda')}" if timed else "")
        figure, axes = canvas(title, note, 1.9 + 0.55 * len(rungs))
        left = [0.0] * len(rungs)
        for name, color, hatch, sizes in parts:
            edge = GRAY if hatch else "white"
            look: Any = {"color": color, "hatch": hatch, "edgecolor": edge, "linewidth": 0.6}
            axes.barh(range(len(rungs)), sizes, 0.66, left, label=name, **look)
            for row, (start, size) in enumerate(zip(left, sizes, strict=True)):
                if size >= 1.5:
                    words: Any = {"ha": "center", "va": "center", "fontsize": 10, "color": ink_on(color)}
                    if hatch:
                        words["bbox"] = {"facecolor": FAINT, "edgecolor": "none", "pad": 1}
                    axes.annotate(number(size), (start + size / 2, row), **words)
            left = [start + size for start, size in zip(left, sizes, strict=True)]
        for row, rung in enumerate(rungs):
            told = f"{rung.copy_share.median:.0%} of a copy's speed" if rung.copy_share else ""
            place = (left[row], row)
            axes.annotate(told, place, (6, 0), textcoords="offset points", va="center", fontsize=10, weight="bold")
        axes.set_yticks(range(len(rungs)), [rung.name for rung in rungs])
        axes.set(ylim=(len(rungs) - 0.4, -0.6), xlim=(0, max(left) * (1.3 if timed else 1.05)))
        axes.set_xlabel("for every 32 floats moved")
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False)
        axes.grid(visible=True, axis="x")
        legend_below(figure, 3)
    told = "; ".join(f"{name} {', '.join(number(size) for size in sizes)}" for name, _, _, sizes in parts)
    show(figure, f"{title}. For {', '.join(rung.name for rung in rungs)}: {told}.")


def _ladder_title(rungs: Sequence[Rung]) -> str:
    first, last = rungs[0], rungs[-1]
    if len(rungs) == 1:
        return f"Where we start: {number(first.turns)} trips for 32 floats"
    if last.turns >= first.turns * 0.9:
        waits = last.shared_turns > last.read_sectors + last.write_sectors
        return "The sectors are saved, and it waits in shared memory" if waits else "One side or the other, never both"
    return f"From {number(first.turns)} trips to {number(last.turns)}, rung by rung"


def product_bars(sectors: Mapping[str, float]) -> None:
    """Bars: global sectors for each element of a matrix product."""
    names = list(sectors)
    plot.bars(
        dict(sectors),
        title=f"Same product, same arithmetic, {sectors[names[0]] / sectors[names[-1]]:.0f} times less traffic",
        y="32-byte sectors per element",
        note=COUNTED,
        highlight=names[-1],
        log=True,
    )


def atomic_bars(yours: int, elements: int) -> None:
    """Bars: atomic operations on global memory of the student's sum, beside one for each element."""
    plot.bars(
        {"an atomic an element": elements, "yours": yours},
        title=f"{number(elements, 4)} numbers, {number(yours, 4)} in the queue",
        y="atomic operations on global memory",
        note=COUNTED,
        highlight="yours",
    )


def histogram_bars(yours: Mapping[int, int], elements: int) -> None:
    """Grouped bars: atomic operations on global memory by the number of bins."""
    least, most = min(yours), max(yours)
    saved = elements / max(yours[least], 1)
    plot.bars(
        {
            "an atomic an element": {f"{bins} bins": elements for bins in yours},
            "yours": {f"{bins} bins": count for bins, count in yours.items()},
        },
        title=f"{least} bins: {saved:.0f} times fewer atomics. {number(most)} bins: {elements / yours[most]:.1f} times",
        y="atomic operations on global memory",
        note=f"{COUNTED}. {number(elements, 4)} random values",
        log=True,
    )


def copy_shares(values: Mapping[str, Ratio]) -> None:
    """Bars: the speed of each version as a share of a copy's, measured on the GPU."""
    best = max(values, key=lambda name: values[name].median)
    plot.bars(
        dict(values),
        title=f"{best}: {values[best].median:.0%} of the speed of a copy",
        y="speed over that of a copy of the same bytes",
        highlight=best,
    )


def roofline(programs: Sequence[Program]) -> None:
    """The student's kernels by their counted intensity: on this GPU's roof as measured, else on datasheet roofs."""
    machines: dict[str, Any] = {}
    if has_gpu():
        here = machine.ceilings()
        machines[f"here: {here.device}"] = here
        note = f"float32, roofs and diamonds measured on {here.device}; intensities counted by gpulab.trace"
    else:
        note = "float32, roofs from datasheets, intensities counted by gpulab.trace, no speed; a move counts as a FLOP"
    recording = machine.recorded_gpu()
    if recording is not None:
        machines[f"recorded on {recording.device}, {recording.date}"] = recording
    rows = {row["gpu"]: row for row in table("gpus")}
    machines |= {f"{gpu} (datasheet)": rows[gpu] for gpu in ("H200", "T4")}
    points = {
        one.name: (one.intensity, one.intensity * one.gbs / 1e3) if one.gbs is not None else one.intensity
        for one in programs
    }
    fastest = max(programs, key=lambda one: one.intensity)
    title = f"All of them lean on the slope: at most {number(fastest.intensity, 2)} FLOP a byte"
    plot.roofline(machines, points, title=title, note=note)
