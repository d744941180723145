"""DDP and scaling: its curves and timelines, from published tables, gloo's times and computed plans. Only drawn
here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpulab.chapters.ddp_scaling.costs import HOROVOD_GPUS, Efficiency, Model, Sums
from gpulab.chapters.ddp_scaling.priority import Layer, bucketed, overlapped, played
from gpulab.figures import plot
from gpulab.figures.style import BLUE, COLOURS, FAINT, GREY, INK, ORANGE, canvas, label_ends, number, show, style, tidy

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
            "all of it", (most * 0.72, most * 0.72), (-6, 4), textcoords="offset points", ha="right", color=GREY
        )
        ends, words = [], []
        groups = list(dict.fromkeys((row["run"], row["method"]) for row in rows if row["gpus"] > 1))
        for run, method in groups:
            points = sorted(
                (row["gpus"], row["speedup"]) for row in rows if row["run"] == run and row["method"] == method
            )
            if points[0][0] > 1:
                points = [(1, 1.0), *points]
            colour = ORANGE if method == "DataParallel" else BLUE
            axes.plot(*zip(*points, strict=True), color=colour, marker="o", linestyle="-" if run != "search" else ":")
            short = "DP" if method == "DataParallel" else "DDP"
            ends.append((f"{short}, {run}", *points[-1], colour))
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
        title=f"1 GB summed over 1024: the server sends {series['server'][1024.0]:.0f} GB, a worker in a ring "
        f"{series['worker in a ring'][1024.0]:.3g}",
        x="workers",
        y="GB sent by one machine",
        note="Computed",
        log_x=True,
        log_y=True,
    )


def draw_fit(sums: Sums, alpha: float, beta: float) -> None:
    """All-reduce times over size, and the straight line of the model."""
    rounds, world = 2 * (sums.world_size - 1), sums.world_size
    with style():
        figure, axes = canvas(
            f"A sum costs {number(1e6 * rounds * alpha)} µs plus {number(1e9 * rounds * beta / world)} ns a byte",
            f"gloo, {world} ranks on {sums.device}; fastest of {sums.runs}; line: the model with your α and β",
            3.4,
        )
        mebibytes = [size / 2**20 for size in sums.nbytes]
        axes.plot(mebibytes, [1e3 * one for one in sums.seconds], "o", color=BLUE)
        line = [0.0, max(mebibytes)]
        axes.plot(line, [1e3 * rounds * (alpha + beta * size * 2**20 / world) for size in line], color=ORANGE)
        axes.set(xlabel="bytes summed, MiB", ylabel="ms", xlim=(0, None), ylim=(0, None))
    times = ", ".join(
        f"{number(1e3 * one)} ms for {number(size)} MiB" for size, one in zip(mebibytes, sums.seconds, strict=True)
    )
    fitted = f"α {number(1e6 * alpha)} µs, β {number(1e9 * beta)} ns a byte."
    show(figure, f"All-reduce times: {times}. Line: {fitted}")


def draw_efficiency(efficiency: Efficiency, models: Sequence[Model], beta: float, overlap: float) -> None:
    """Predicted efficiency from 1 to 1 024 GPUs with the published points; the band is the assumed latency."""
    low, high = LATENCIES_US
    told = [one for one in models if one.published is not None]
    largest = {one.name: efficiency(one.step_s, one.nbytes, 1024, 0.0, beta, overlap) for one in told}
    with style():
        figure, axes = canvas(
            "From 512 to 1024 GPUs the bytes cost nothing more; what grows is latency",
            f"Lines: the model, {number(8e-9 / beta)} Gbit/s, {overlap:.0%} of the communication hidden; bands: a step "
            f"of the ring takes {low:g} to {high:g} µs more (assumed); circles: Horovod's {HOROVOD_GPUS} GPUs",
            4.4,
        )
        ends = []
        for place, one in enumerate(told):
            top, bottom = (
                [100 * efficiency(one.step_s, one.nbytes, p, 1e-6 * latency, beta, overlap) for p in GPUS]
                for latency in LATENCIES_US
            )
            colour = COLOURS[place]
            axes.plot(GPUS, top, color=colour)
            axes.fill_between(GPUS, bottom, top, color=colour, alpha=0.22, linewidth=0)
            axes.plot([HOROVOD_GPUS], [100 * (one.published or 0)], "o", color="white", markeredgecolor=colour,
                      markeredgewidth=2.2, markersize=14 - 3 * place, zorder=5)  # fmt: skip
            ends.append((f"{one.name}: {top[-1]:.0f}–{bottom[-1]:.0f} %", GPUS[-1], (top[-1] + bottom[-1]) / 2, colour))
        axes.set(xscale="log", xlabel="GPUs", ylabel="efficiency, %", ylim=(50, 102), xlim=(0.9, 1100))
        axes.set_xticks(GPUS, [str(p) for p in GPUS])
        axes.minorticks_off()
        label_ends(axes, ends)
    words = "; ".join(
        f"{one.name}: {largest[one.name]:.0%} at 1024, published {one.published:.0%} at 512" for one in told
    )
    show(figure, f"Predicted efficiency. {words}.")


def draw_buckets(layers: Sequence[Layer], bandwidth_gbs: float, latency_ms: float, bucket_bytes: int) -> None:
    """The backward pass and the link: all gradients at the end, one by one, and in buckets."""
    sizes = [layer["nbytes"] for layer in layers]
    ways = {
        "at the end": [list(reversed(range(len(layers))))],
        "each layer": [[one] for one in reversed(range(len(layers)))],
        "buckets": bucketed(sizes, bucket_bytes),
    }
    plans = {name: overlapped(layers, buckets, latency_ms, bandwidth_gbs, name) for name, buckets in ways.items()}
    spans = [span for plan in plans.values() for span in plan.spans]
    found = ", ".join(f"{name} {number(plan.makespan_ms)} ms" for name, plan in plans.items())
    plot.timeline(
        spans,
        title=f"Waiting until the end: {number(plans['at the end'].makespan_ms)} ms; "
        f"in buckets: {number(plans['buckets'].makespan_ms)} ms",
        note=f"Computed for {len(layers)} equal layers, {number(bandwidth_gbs)} GB/s and {number(latency_ms)} ms for "
        f"every all-reduce, buckets of {number(bucket_bytes / 2**20)} MiB: {found}",
    )


def draw_orders(layers: Sequence[Layer], bandwidth_gbs: float, orders: Mapping[str, Sequence[tuple[int, int]]]) -> None:
    """Two orders of sending on one time axis, one colour for each kind of work."""
    plans = {name: played(layers, bandwidth_gbs, sends, f"{name}: ") for name, sends in orders.items()}
    spans = [span for plan in plans.values() for span in plan.spans]
    kinds = {"backward": BLUE, "forward": GREY}
    slow, fast = (plan.makespan_ms for plan in plans.values())
    title = f"The same work, the same bytes: {number(slow)} ms in one order, {number(fast)} ms in the other"
    with style():
        figure, axes = canvas(
            title,
            "Computed for three layers, named by number; blue: backward, grey: forward, orange: gradient on the link",
            3.3,
        )
        lanes = list(dict.fromkeys(span.lane for span in spans))
        for span in spans:
            row, wide = lanes.index(span.lane), span.stop - span.start
            axes.barh(row, wide, 0.72, span.start, color=kinds.get(span.kind, ORANGE), edgecolor="white")
            axes.annotate(span.label, ((span.start + span.stop) / 2, row), ha="center", va="center", weight="bold",
                          color=INK if span.kind not in kinds else "white")  # fmt: skip
        axes.set_yticks(range(len(lanes)), lanes)
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False)
        axes.grid(visible=True, axis="x")
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("time, ms")
        axes.invert_yaxis()
        tidy(axes.xaxis)
    words = "; ".join(
        f"{span.lane} {span.kind} {span.label}, {number(span.start)} to {number(span.stop)} ms" for span in spans
    )
    show(figure, f"{title}. {words}.")


def draw_gains(gains: Mapping[str, Mapping[float, float]]) -> None:
    """How much faster a step gets by priority: network → Gbit/s of the link → fifo over priority."""
    with style():
        figure, axes = canvas(
            "Priority gains most where the link is as busy as the GPU",
            "Simulated by your function: batches of 64 on a P100, a ring of 512, partitions of 4 MiB",
            3.6,
        )
        words = []
        for (name, points), colour in zip(gains.items(), COLOURS, strict=False):
            rates = sorted(points)
            axes.plot(rates, [100 * (points[rate] - 1) for rate in rates], color=colour, marker="o")
            best = max(rates, key=points.__getitem__)
            percent = 100 * (points[best] - 1)
            axes.annotate(f"{name}: {percent:.0f} %", (best, percent), (0, 8), textcoords="offset points", ha="center",
                          color=colour, weight="bold", fontsize=10.5)  # fmt: skip
            words.append(
                f"{name}: " + ", ".join(f"{100 * (points[rate] - 1):.0f} % at {number(rate)}" for rate in rates)
            )
        axes.set(xscale="log", xlabel="link, Gbit/s", ylabel="gain of priority over fifo, %", ylim=(-2, 38))
        axes.set_xticks(rates, [number(rate) for rate in rates])
        axes.minorticks_off()
    show(figure, f"Gain of priority over fifo against the link's rate in Gbit/s. {'; '.join(words)}.")
