"""DDP and scaling: figures of shards, of a backward pass with its buckets, of throughput. The page measures."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpulab.figures.diagrams import bare
from gpulab.figures.shapes import Span, timeline
from gpulab.figures.styling import BLUE, COLORS, GRAY, INK, ORANGE, canvas, ink_on, number, show, style, tidy

if TYPE_CHECKING:
    from matplotlib.patches import Patch


def draw_shards(shard: Callable[..., list[int]], n: int, world_size: int) -> None:
    """Whose sample is whose, in two epochs: a row for each rank, a square for each sample, repeated ones framed."""
    epochs = [[shard(n, world_size, rank, epoch=epoch) for rank in range(world_size)] for epoch in (0, 1)]
    with style():
        figure, axes = canvas(
            f"{world_size} ranks share {n} samples, differently in every epoch",
            "Numbers are indices of samples; framed: used a second time in this epoch, to make the shares equal",
            2.6,
        )
        for place, shares in enumerate(epochs):
            seen: set[int] = set()
            longest = max(map(len, shares))
            left = place * (longest + 1.6)
            for column in range(longest):
                for rank, share in enumerate(shares):
                    if column >= len(share):
                        continue
                    color, again = COLORS[rank % len(COLORS)], share[column] in seen
                    seen.add(share[column])
                    edge = {"edgecolor": INK, "linewidth": 2.4} if again else {"edgecolor": "white", "linewidth": 1}
                    axes.add_patch(_square(left + column, -rank, color, edge))
                    label: dict[str, Any] = {"ha": "center", "va": "center", "color": ink_on(color), "fontsize": 11}
                    axes.text(left + column, -rank, str(share[column]), **label)
            axes.text(left + (longest - 1) / 2, 0.85, f"epoch {place}", ha="center", fontsize=11, weight="bold")
        for rank in range(world_size):
            axes.text(-0.9, -rank, f"rank {rank}", ha="right", va="center", fontsize=11)
        bare(axes, (-2.4, 2 * longest + 1.8), (-world_size + 0.35, 1.3))
    words = "; ".join(
        f"epoch {place}: " + ", ".join(f"rank {rank} {share}" for rank, share in enumerate(shares))
        for place, shares in enumerate(epochs)
    )
    show(figure, f"Shares of {n} samples among {world_size} ranks. {words}.")


def _square(x: float, y: float, color: str, edge: Mapping[str, Any]) -> Patch:
    from matplotlib.patches import Rectangle

    return Rectangle((x - 0.44, y - 0.42), 0.88, 0.84, facecolor=color, **edge)


def draw_backward(buckets: Sequence[Mapping[str, float]]) -> None:
    """The backward pass, and below it when each bucket was ready and when it had been added up.

    Args:
        buckets: `mbytes`, `ready_ms` and `done_ms` of each, in the order in which they were sent.
    """
    last = buckets[-1]["ready_ms"]
    hidden = sum(bucket["done_ms"] < last for bucket in buckets)
    spans = [Span("backward pass", 0.0, last, "gradients, last layer to first", "backward")]
    for place, bucket in enumerate(buckets):
        label = f"{number(bucket['mbytes'], 2)} MB"
        spans.append(Span(f"bucket {place}", bucket["ready_ms"], bucket["done_ms"], label, "all-reduce"))
    timeline(
        spans,
        title=f"All-reduces done when the last gradient is ready: {hidden} of {len(buckets)}",
        x="ms from the start of the backward pass, rank 0",
        note="Measured: eight linear layers of 4 MB, 256 rows per rank, two gloo ranks, one core each",
    )


def draw_throughputs(rates: Mapping[str, Sequence[float]], ranks: int, device: str) -> None:
    """Images per second, compared with perfect scaling.

    Args:
        rates: of all ranks together, one for each measured step: alone, weak scaling, strong scaling, in this order.
        ranks: how many there are in the last two.
        device: for the note.
    """
    middle = {name: statistics.median(made) for name, made in rates.items()}
    alone, weak, strong = (number(rate) for rate in middle.values())
    ideal = ranks * next(iter(middle.values()))
    with style():
        figure, axes = canvas(
            f"Images/s: {alone} with 1 rank; with {ranks}, {weak} (weak) and {strong} (strong)",
            f"96 images per rank (weak) or in total (strong); bars: half of the steps; {device}",
        )
        label: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": 11}
        for place, (name, made) in enumerate(rates.items()):
            low, _, high = statistics.quantiles(made, n=4)
            color, rate = ORANGE if place else BLUE, middle[name]
            spread = [[max(0.0, rate - low)], [max(0.0, high - rate)]]
            axes.bar(place, rate, 0.6, color=color, yerr=spread, capsize=4, ecolor=INK)
            axes.annotate(number(rate, 2), (place, 0), (0, 6), **label, color=ink_on(color))
        axes.axhline(ideal, color=GRAY, linestyle="--", linewidth=1.6)
        axes.annotate("perfect", (-0.3, ideal), (0, 3), **{**label, "ha": "left"}, color=INK)
        axes.set_xticks(range(len(rates)), list(rates))
        axes.set(
            ylabel="images per second, all ranks", ylim=(0, 1.12 * max(ideal, *(max(one) for one in rates.values())))
        )
        tidy(axes.yaxis)
    show(figure, "Throughput: " + "; ".join(f"{name}: {number(rate)} images/s" for name, rate in middle.items()) + ".")
