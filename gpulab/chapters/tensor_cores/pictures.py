"""Draws what the first half of the tensor-core chapter measures or reads from tables: rates, types, sweeps, reviewed
networks.

What is drawn comes from `tensor_cores`, or from the student's own functions; explanations are `tensor_cores.diagrams`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from gpulab.chapters.tensor_cores.models import Reviewed, Sweep
from gpulab.figures import plot
from gpulab.figures.diagrams import bare
from gpulab.figures.style import BLUE, FAINT, GRAY, INK, ORANGE, canvas, number, show, style
from gpulab.measuring.devices import has_gpu
from gpulab.measuring.timing import Timing
from gpulab.tables import table

TYPES = ("float64", "float32", "tfloat32", "bfloat16", "float16", "float8", "int8", "int4", "int1")
HEAVY = ("sigmoid", "tanh")
CLEAR = 1.1
"""A ratio that we are ready to call a difference, on a machine that has other things to do."""


def draw_rates(peaks: Mapping[str, Mapping[str, float]]) -> None:
    """Peak rates of four generations: float32, and the fastest 16-bit product."""
    growth = [values[-1] / values[0] for values in (list(rates.values()) for rates in peaks.values())]
    plot.bars(
        peaks,
        title=f"Eight years: {growth[0]:.0f} times the float32, {growth[1]:.0f} times the 16-bit product",
        y="peak rate, TFLOPS (dense)",
        note="Datasheet figures, not measured; the P100 (2016) has no tensor cores, the others do",
    )


def draw_precision(tensor_core_types: Callable[[str], Collection[str]]) -> None:
    """Architectures against types: what tensor cores take, by the student's function, and what CUDA cores take."""
    rows = table("precision")
    architectures = list(dict.fromkeys(str(row["arch"]) for row in rows))
    cuda = {(row["arch"], row["type"]) for row in rows if row["unit"] == "cuda"}
    tensor = {architecture: set(tensor_core_types(architecture)) for architecture in architectures}
    common = set.intersection(*(types for types in tensor.values() if types)) if any(tensor.values()) else set()
    title = f"{' and '.join(sorted(common))}: what every tensor core takes" if common else "What tensor cores take"
    with style():
        figure, axes = canvas(
            title,
            "Blue: tensor cores, by your function. Gray dot: CUDA cores, from data/precision.csv",
            3.6,
        )
        from matplotlib.patches import Rectangle

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


def draw_alignment(sweep: Sweep) -> None:
    """Time of a product at neighboring sizes; the aligned ones stand out in color."""
    percent = 100 * (sweep.off_over_on - 1)
    if percent >= 3:
        title = f"Off the multiple of 16 bytes the product takes {percent:.0f} % longer"
    else:
        title = "Here an aligned size is no faster than its neighbors"
    units = "one core" if sweep.dtype == "float32" else "tensor cores"
    _timed_bars(
        {str(size): timing for size, timing in sweep.timings.items()},
        [str(size) for size in sweep.aligned],
        title,
        f"{sweep.dtype}, {units}",
        f"n, for a product with an n × n matrix; orange: n × {sweep.element_bytes} bytes is a multiple of 16",
        "time of one product, ms",
    )


def draw_activations(times: Mapping[str, Timing]) -> None:
    """What one pass of each activation costs, beside a plain copy."""
    dearest = max(HEAVY, key=lambda name: times[name].median_ms)
    heavy = times[dearest].median_ms / times["relu"].median_ms
    if heavy > CLEAR:
        title = f"On its own, {dearest} takes {number(round(heavy, 1), 2)} times as long as relu"
    else:
        title = "On its own, every activation costs one trip through memory, and no more"
    core = "" if has_gpu() else ", one core"
    _timed_bars(times, HEAVY, title, f"float32{core}", "", "time of one pass, ms")


def _timed_bars(timings: Mapping[str, Timing], orange: Collection[str], title: str, kind: str, x: str, y: str) -> None:
    """Bars from zero; a whisker that a disturbed measurement would send below zero ends there."""
    first = next(iter(timings.values()))
    medians = [timing.median_ms for timing in timings.values()]
    with style():
        figure, axes = canvas(
            title, f"Measured on {first.device}; {kind}; median of {first.runs} × the fastest of 3", 3.4
        )
        colors = [ORANGE if name in orange else BLUE for name in timings]
        spreads = [timing.spread_ms for timing in timings.values()]
        axes.bar(range(len(medians)), medians, 0.72, color=colors, yerr=spreads, ecolor=INK, capsize=3)
        labels = [f"{name}\n{number(timing.median_ms, strip=False)}" for name, timing in timings.items()]
        axes.set_xticks(range(len(medians)), labels, fontsize=9 if len(medians) > 10 else 10.5)
        axes.tick_params(axis="x", length=0)
        axes.set(xlabel=x, ylabel=y, ylim=(0, 1.3 * max(medians)))
    words = ", ".join(f"{name} {number(timing.median_ms)}" for name, timing in timings.items())
    show(figure, f"{title}. {y}: {words}.")


def draw_networks(found: Sequence[Reviewed]) -> None:
    """How many layers of well-known networks have a size that is off the multiple."""
    clean = sum(len(one.off) == 1 for one in found)
    with style():
        figure, axes = canvas(
            f"{clean} of {len(found)} break the rule once: pictures have 3 channels",
            "By your review, at batch 64 in float16; orange: layers with a size off the multiple",
            0.9 + 0.42 * len(found),
        )
        for place, one in enumerate(found):
            axes.barh(place, one.layers, 0.7, color=FAINT)
            axes.barh(place, len(one.off), 0.7, color=ORANGE)
            pairs = list(dict.fromkeys(f"{first} → {last}" for first, last in one.off))
            some = ", ".join(pairs[:4]) + (", …" if len(pairs) > 4 else "")
            axes.annotate(f"{len(one.off)} of {one.layers}:  {some}", (one.layers + 1, place), va="center", fontsize=10)
        axes.set_yticks(range(len(found)), [one.name for one in found])
        axes.set(xlabel="layers", xlim=(0, 1.45 * max(one.layers for one in found)), ylim=(len(found) - 0.4, -0.6))
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False)
    words = "; ".join(f"{one.name} {len(one.off)} of {one.layers}" for one in found)
    show(figure, f"Layers with a size off the multiple of 8. {words}.")


def draw_batches(samples: int, batch_size: int) -> None:
    """How a loader cuts samples into batches, and where the last one ends between two multiples of 8."""
    sizes = [min(batch_size, samples - start) for start in range(0, samples, batch_size)]
    with style():
        figure, axes = canvas(
            f"{samples} samples in batches of {batch_size}: the last has {sizes[-1]}, "
            f"{-sizes[-1] % 8} short of a multiple of 8",
            "Diagram; a square is a sample, a shade a group of 8; orange: what no group of 8 holds",
            1.9,
        )
        for row, size in enumerate(sizes):
            for sample in range(size):
                rest = sample >= size // 8 * 8
                fill = ORANGE if rest else BLUE if sample // 8 % 2 == 0 else "#9dbfdb"
                axes.broken_barh([(sample, 0.86)], (row - 0.4, 0.8), facecolors=fill)
            axes.annotate(f"batch {row}: {number(size)}", (batch_size + 1, row), va="center", fontsize=10)
        bare(axes, (0, batch_size + 10), (len(sizes) - 0.4, -0.6))
    show(figure, f"{samples} samples, cut into batches of {', '.join(map(str, sizes))} samples.")
