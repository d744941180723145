"""DDP and scaling: its curves and timelines, from published tables, gloo's times and computed plans. Only drawn
here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpulab.chapters.ddp_scaling.buckets import bucketed, overlapped
from gpulab.figures import plot
from gpulab.figures.styling import BLUE, COLORS, FAINT, GRAY, ORANGE, canvas, label_ends, number, show, style, tidy

Efficiency = Callable[[float, float, int, float, float, float], float]
"""The student's `predict_efficiency(step_s, nbytes, world_size, alpha, beta, overlap)`."""
HOROVOD_GPUS = 512
GPUS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
LATENCIES_US = (0.0, 10.0)
"""Of a step of the ring between servers: assumed, from nothing to what a slow network adds."""


def draw_scaling(rows: Sequence[Mapping[str, Any]]) -> None:
    """Speedup over GPUs for each run and method: the rows of `data/dp_vs_ddp.csv`, with the `speedup` of each."""
    worst = min(rows, key=lambda row: row["speedup"])
    title = f"{worst['gpus']} GPUs with {worst['method']}: {worst['speedup']:.2f} times the speed of one"
    with style():
        figure, axes = canvas(title, "As published by users; sources in data/dp_vs_ddp.csv; none names its GPUs", 4.0)
        most = max(row["gpus"] for row in rows)
        axes.plot([1, most], [1, most], color=FAINT, linewidth=1.6, linestyle="--")
        axes.annotate(
            "all of it", (most * 0.72, most * 0.72), (-6, 4), textcoords="offset points", ha="right", color=GRAY
        )
        ends, words = [], []
        groups = list(dict.fromkeys((row["run"], row["method"]) for row in rows if row["gpus"] > 1))
        for run, method in groups:
            points = sorted(
                (row["gpus"], row["speedup"]) for row in rows if row["run"] == run and row["method"] == method
            )
            if points[0][0] > 1:
                points = [(1, 1.0), *points]
            color = ORANGE if method == "DataParallel" else BLUE
            axes.plot(*zip(*points, strict=True), color=color, marker="o", linestyle="-" if run != "search" else ":")
            short = "DP" if method == "DataParallel" else "DDP"
            ends.append((f"{short}, {run}", *points[-1], color))
            words.append(f"{short} {run}: " + ", ".join(f"{number(y)} times on {x}" for x, y in points))
        axes.set(xlabel="GPUs", ylabel="times as fast as one GPU", xscale="log", yscale="log")
        axes.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
        axes.set_yticks([0.25, 0.5, 1, 2, 4, 8, 16], ["1/4", "1/2", "1", "2", "4", "8", "16"])
        axes.set_ylim(0.22, 19)
        axes.minorticks_off()
        axes.grid(visible=True, axis="both")
        label_ends(axes, ends)
    show(figure, f"{title}. Speedup over one GPU. {'; '.join(words)}.")


def draw_busiest(wire_bytes: Callable[[str, int, int], float], nbytes: int = 10**9) -> None:
    """What the busiest machine sends, with a parameter server and in a ring, over the number of workers."""
    workers = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    series = {
        "server": {float(p): wire_bytes("server", p, nbytes) / 1e9 for p in workers},
        "worker in a ring": {float(p): wire_bytes("ring", p, nbytes) / 1e9 for p in workers},
        "worker with a server": {float(p): wire_bytes("parameter_server", p, nbytes) / 1e9 for p in workers},
    }
    plot.lines(
        series,
        title=f"1 GB summed over 1,024: the server sends {series['server'][1024.0]:,.0f} GB, a worker in a ring "
        f"{series['worker in a ring'][1024.0]:.3g}",
        x="workers",
        y="GB sent by one machine",
        note="Computed",
        log_x=True,
        log_y=True,
    )


def draw_fit(
    nbytes: Sequence[int], seconds: Sequence[float], world_size: int, alpha: float, beta: float, where: str
) -> None:
    """All-reduce times over size, and the curve of the model, both axes logarithmic.

    Args:
        nbytes: sizes of the vectors.
        seconds: of one all-reduce of each.
        world_size: number of ranks.
        alpha: s per step of the ring.
        beta: s per byte.
        where: what was measured, for the note.
    """
    rounds = 2 * (world_size - 1)
    fitted = f"α = {number(1e6 * alpha)} µs, β = {number(1e9 * beta)} ns per byte"
    with style():
        figure, axes = canvas(
            f"Your fit: {fitted}",
            f"Measured: {where}; line: the formula with your α and β",
            3.4,
        )
        kilobytes, times_ms = [size / 1e3 for size in nbytes], [1e3 * one for one in seconds]
        axes.plot(kilobytes, times_ms, "o", color=BLUE)
        curve = [1e3 * rounds * (alpha + beta * size / world_size) for size in nbytes]
        axes.plot(kilobytes, curve, color=ORANGE)
        axes.set(xscale="log", yscale="log", xlabel="summed, kB", ylabel="ms, logarithmic")
        tidy(axes.xaxis, logarithmic=True)
        low, high = axes.get_ylim()
        ticks = [digit * 10.0**power for power in range(-4, 4) for digit in (1, 2, 5)]
        inside = [tick for tick in ticks if low <= tick <= high]
        axes.set_yticks(inside, [number(tick) for tick in inside])
        axes.minorticks_off()
    times = ", ".join(
        f"{number(1e3 * one)} ms for {number(size)} bytes" for size, one in zip(nbytes, seconds, strict=True)
    )
    show(figure, f"All-reduce times: {times}. Line: {fitted}.")


def draw_named(lines: Mapping[str, Mapping[float, float]]) -> None:
    """Efficiency over GPUs of published runs that name their GPUs: run and method → GPUs → %."""
    best = max(lines, key=lambda name: max(lines[name]))
    most = max(lines[best])
    plot.lines(
        lines,
        title=f"{best.replace(',', ' with')} keeps {lines[best][most]:.0f}% of the rate per GPU on {most} GPUs",
        x="GPUs",
        y="rate per GPU, % of the smallest run",
        note="V100: ResNet-50, MPNet-base (data/scaling_named_gpus.csv); A100: BERT-Large (data/bert_scaling.csv)",
        log_x=True,
    )


def draw_efficiency(efficiency: Efficiency, models: Sequence[Mapping[str, Any]], beta: float, overlap: float) -> None:
    """Predicted efficiency from 1 to 1,024 GPUs with the published points; the band is the assumed latency.

    Args:
        efficiency: the model.
        models: rows of `data/ring_models.csv` with a published efficiency.
        beta: s per byte.
        overlap: share of the communication that is hidden.
    """
    words = []
    with style():
        figure, axes = canvas(
            "From 512 to 1,024 GPUs the bytes cost nothing more; what grows is latency",
            f"Lines: the model, {number(8e-9 / beta)} Gbit/s, {overlap:.0%} of the communication hidden; bands: each "
            "step of the ring\ntakes {:g} to {:g} µs more (assumed); circles: ".format(*LATENCIES_US)
            + f"published by Horovod, {HOROVOD_GPUS} GPUs",
            4.4,
        )
        ends = []
        for place, row in enumerate(models):
            step_s, nbytes, published = row["batch"] / row["images_per_s"], 4 * row["parameters"], row["efficiency_512"]
            top, bottom = (
                [100 * efficiency(step_s, nbytes, p, 1e-6 * latency, beta, overlap) for p in GPUS]
                for latency in LATENCIES_US
            )
            color = COLORS[place]
            axes.plot(GPUS, top, color=color)
            axes.fill_between(GPUS, bottom, top, color=color, alpha=0.22, linewidth=0)
            axes.plot([HOROVOD_GPUS], [100 * published], "o", color="white", markeredgecolor=color,
                      markeredgewidth=2.2, markersize=14 - 3 * place, zorder=5)  # fmt: skip
            ends.append(
                (f"{row['model']}: {top[-1]:.0f}–{bottom[-1]:.0f}%", GPUS[-1], (top[-1] + bottom[-1]) / 2, color)
            )
            words.append(f"{row['model']}: {top[-1]:.0f}% at 1024, published {published:.0%} at {HOROVOD_GPUS}")
        axes.set(xscale="log", xlabel="GPUs", ylabel="efficiency, %", ylim=(50, 102), xlim=(0.9, 1100))
        axes.set_xticks(GPUS, [str(p) for p in GPUS])
        axes.minorticks_off()
        label_ends(axes, ends)
    show(figure, f"Predicted efficiency. {'; '.join(words)}.")


def draw_buckets(
    layers: Sequence[Mapping[str, Any]], bandwidth_gbs: float, latency_ms: float, bucket_bytes: int
) -> None:
    """The backward pass and the link: all gradients at the end, one by one, and in buckets."""
    sizes = [layer["nbytes"] for layer in layers]
    ways = {
        "at the end": [list(reversed(range(len(layers))))],
        "each layer": [[one] for one in reversed(range(len(layers)))],
        "buckets": bucketed(sizes, bucket_bytes),
    }
    plans = {name: overlapped(layers, buckets, latency_ms, bandwidth_gbs, name) for name, buckets in ways.items()}
    spans = [span for plan in plans.values() for span in plan]
    ends = {name: max(span.stop for span in plan) for name, plan in plans.items()}
    found = ", ".join(f"{name} {number(end)} ms" for name, end in ends.items())
    plot.timeline(
        spans,
        title=f"Waiting until the end: {number(ends['at the end'])} ms; in buckets: {number(ends['buckets'])} ms",
        note=f"Computed for {len(layers)} equal layers, {number(bandwidth_gbs)} GB/s and {number(latency_ms)} ms for "
        f"every all-reduce, buckets of {number(bucket_bytes / 2**20)} MiB: {found}",
    )
