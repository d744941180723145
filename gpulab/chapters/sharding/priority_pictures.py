"""Sharding: two orders of sending gradients on one time axis, and what the better one gains. Only drawn here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpulab.chapters.sharding.priority import Layer, played
from gpulab.figures.styling import BLUE, COLORS, GRAY, INK, ORANGE, canvas, number, show, style, tidy


def draw_orders(layers: Sequence[Layer], bandwidth_gbs: float, orders: Mapping[str, Sequence[tuple[int, int]]]) -> None:
    """Two orders of sending on one time axis, one color for each kind of work."""
    plans = [played(layers, bandwidth_gbs, sends, f"{name}: ") for name, sends in orders.items()]
    spans = [span for plan in plans for span in plan]
    kinds = {"backward": BLUE, "forward": GRAY}
    slow, fast = (max(span.stop for span in plan) for plan in plans)
    title = f"The same work, the same bytes: {number(slow)} ms in one order, {number(fast)} ms in the other"
    with style():
        figure, axes = canvas(
            title,
            "Computed for three layers; blue: backward, gray: forward, orange: gradient on the link",
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
            "Simulated by your function: batches of 64 on a P100, a ring of 512 GPUs, partitions of 4 MiB",
            3.6,
        )
        words = []
        for (name, points), color in zip(gains.items(), COLORS, strict=False):
            rates = sorted(points)
            axes.plot(rates, [100 * (points[rate] - 1) for rate in rates], color=color, marker="o")
            best = max(rates, key=points.__getitem__)
            percent = 100 * (points[best] - 1)
            axes.annotate(f"{name}: {percent:.0f}%", (best, percent), (0, 8), textcoords="offset points", ha="center",
                          color=color, weight="bold", fontsize=10.5)  # fmt: skip
            words.append(
                f"{name}: " + ", ".join(f"{100 * (points[rate] - 1):.0f}% at {number(rate)}" for rate in rates)
            )
        axes.set(xscale="log", xlabel="link, Gbit/s", ylabel="gain of priority over fifo, %", ylim=(-2, 38))
        axes.set_xticks(rates, [number(rate) for rate in rates])
        axes.minorticks_off()
    show(figure, f"Gain of priority over fifo against the link's rate in Gbit/s. {'; '.join(words)}.")
