"""Figures of shards, of a backward pass with its buckets, of throughput. The numbers come from `ddp_scaling.ranks`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpulab.chapters.ddp_scaling.ranks import Backward, Throughput
from gpulab.figures.diagrams import bare
from gpulab.figures.shapes import Span, timeline
from gpulab.figures.style import BLUE, COLORS, GRAY, INK, ORANGE, canvas, ink_on, number, show, style

if TYPE_CHECKING:
    from matplotlib.patches import Patch


def draw_shards(shard: Callable[..., list[int]], n: int, world_size: int) -> None:
    """Whose sample is whose, in two epochs: a row for each rank, a square for each sample, repeated ones framed."""
    epochs = [[shard(n, world_size, rank, epoch=epoch) for rank in range(world_size)] for epoch in (0, 1)]
    with style():
        figure, axes = canvas(
            f"{world_size} ranks share {n} samples, and every epoch in another way",
            "Figures are indices of samples; framed: used a second time in this epoch, to make the shares equal",
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


def draw_backward(backward: Backward) -> None:
    """The backward pass, and beneath it when each bucket was ready and when it had been added up."""
    spans = [Span("backward pass", 0.0, backward.buckets[-1].ready_ms, "gradients, last layer to first", "backward")]
    for place, bucket in enumerate(backward.buckets):
        label = f"{number(bucket.mbytes, 2)} MB"
        spans.append(Span(f"bucket {place}", bucket.ready_ms, bucket.done_ms, label, "all-reduce"))
    timeline(
        spans,
        title=f"{backward.hidden} of {len(backward.buckets)} all-reduces are over when the last gradient is ready",
        x="ms from the start of the backward pass, rank 0",
        note="Measured: eight linear layers of 4 MB, 256 rows a rank, two gloo ranks, a core each",
    )


def draw_throughputs(measured: Mapping[str, Sequence[Throughput]], gpus: int = 0) -> None:
    """Images a second by number of ranks, weak and strong, beside what perfect scaling would give.

    Args:
        measured: what `throughputs(gpus)` found.
        gpus: as there.
    """
    efficiency = {
        name: made[-1].images_per_second / made[0].images_per_second / made[-1].ranks for name, made in measured.items()
    }
    every, kind = next(iter(measured.values()))[-1].ranks, next(iter(measured.values()))[0].step.device
    network, backend = ("ResNet-18", "NCCL") if gpus else ("Small network", "gloo")
    with style():
        figure, axes = canvas(
            f"Efficiency with {every} ranks: {efficiency['weak']:.0%} weak, {efficiency['strong']:.0%} strong",
            f"{network}, 96 images a rank (weak) or in all (strong), {every} {backend} ranks, {kind}",
        )
        most = 0.0
        label: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "bottom", "fontsize": 11}
        for place, made in enumerate(measured.values()):
            base = made[0].images_per_second
            for row, one in enumerate(made):
                x = place * 3 + row
                rate, ideal = one.images_per_second, base * one.ranks
                spread = rate * one.step.spread_ms / one.step.median_ms
                axes.bar(x, rate, 0.7, color=ORANGE if row else BLUE, yerr=spread, capsize=4, ecolor=INK)
                axes.plot([x - 0.42, x + 0.42], [ideal, ideal], color=GRAY, linestyle="--", linewidth=1.6)
                words = f"{number(rate, 2)}\n{one.images} a step"
                axes.annotate(words, (x, 0), (0, 6), **label, color=ink_on(ORANGE if row else BLUE))
                most = max(most, ideal, rate + spread)
            axes.text(
                place * 3 + len(made) - 0.55, base * made[-1].ranks, "perfect", va="center", color=INK, fontsize=10
            )
        ticks = [place * 3 + row for place, made in enumerate(measured.values()) for row in range(len(made))]
        names = [f"{name}, {one.ranks} rank{'s' * (one.ranks > 1)}" for name, made in measured.items() for one in made]
        axes.set_xticks(ticks, names)
        axes.set(ylabel="images a second, all ranks", ylim=(0, most * 1.12))
    words = "; ".join(
        f"{name}, {one.ranks} ranks: {number(one.images_per_second)} images/s in steps of {one.images}"
        for name, made in measured.items()
        for one in made
    )
    show(figure, f"Throughput: {words}.")
