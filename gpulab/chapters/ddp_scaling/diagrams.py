"""Draws what the DDP chapter explains: chunks on a ring, a server and its workers, a table of processes.

Diagrams: what they show is counted or made up, never measured. Measurements are drawn by `ddp_scaling.pictures`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpulab.figures.diagrams import bare
from gpulab.figures.styling import BLUE, INK, ORANGE, canvas, number, show, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALE_BLUE, PALE_ORANGE = "#cfe0ee", "#ffe3c7"
Schedule = Callable[[int, int], list[tuple[int, int]]]
"""The student's `ring_schedule(world_size, rank)`."""


# ----------------------------------------------------------------------------------------------------------- the ring


def contributions(schedule: Schedule, world_size: int) -> list[list[list[frozenset[int]]]]:
    """Whose numbers are in each chunk of each rank: before the first step, and after every step.

    The first `world_size` − 1 steps add what arrives, the others put it in the place of what was there.

    Returns:
        For each moment, for each rank, for each chunk, the ranks that are summed in it.
    """
    plans = [schedule(world_size, rank) for rank in range(world_size)]
    held = [[frozenset([rank]) for _ in range(world_size)] for rank in range(world_size)]
    moments = [[list(chunks) for chunks in held]]
    for step in range(min(map(len, plans))):
        sent = [held[rank][plans[rank][step][0]] for rank in range(world_size)]
        for rank in range(world_size):
            into, arrived = plans[rank][step][1], sent[(rank - 1) % world_size]
            held[rank][into] = held[rank][into] | arrived if step < world_size - 1 else arrived
        moments.append([list(chunks) for chunks in held])
    return moments


def draw_ring(schedule: Schedule, world_size: int = 4) -> None:
    """Every step of the ring: a panel for each moment, in it a row for each rank and a square for each chunk."""
    moments = contributions(schedule, world_size)
    plans = [schedule(world_size, rank) for rank in range(world_size)]
    adding = world_size - 1
    done = all(len(chunk) == world_size for chunks in moments[-1] for chunk in chunks)
    title = f"{world_size} ranks, {len(moments) - 1} steps: every rank ends with every sum"
    if not done:
        title = f"{world_size} ranks, {len(moments) - 1} steps: something is missing at the end"
    with style():
        figure, axes = canvas(
            title,
            "A row is a rank, a square one chunk of its vector; the number in it says how many ranks are summed there; "
            "framed: just arrived from the rank above (rank 0: from the last)",
            2.5,
        )
        wide = world_size + 1.1
        for at, ranks in enumerate(moments):
            left = at * wide + (0.5 if at > adding else 0.0)
            heading = "start" if at == 0 else f"step {at}"
            axes.annotate(heading, (left + world_size / 2, -0.25), ha="center", fontsize=10.5, weight="bold")
            if at:
                what = "added" if at <= adding else "copied"
                axes.annotate(what, (left + world_size / 2, world_size + 0.5), ha="center", fontsize=9.5)
            for rank, chunks in enumerate(ranks):
                for place, owners in enumerate(chunks):
                    arrived = at > 0 and plans[rank][at - 1][1] == place
                    _square(axes, (left + place, rank), len(owners), world_size, arrived)
                if at == 0:
                    axes.annotate(f"rank {rank}", (-0.25, rank + 0.5), ha="right", va="center", fontsize=10)
        axes.set(xlim=(-2.2, len(moments) * wide + 0.2), ylim=(world_size + 0.9, -1.0))
        axes.set_aspect("equal")
        axes.set_axis_off()
    full = [sum(len(chunk) == world_size for chunks in ranks for chunk in chunks) for ranks in moments]
    show(figure, f"{title}. Complete chunks before the first step and after each: {', '.join(map(str, full))}.")


def _square(axes: Axes, corner: tuple[float, float], owners: int, of: int, arrived: bool) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    share = (owners - 1) / max(1, of - 1)
    light, strong = to_rgb("#e9eff5"), to_rgb(BLUE)
    fill = tuple(a + (b - a) * share for a, b in zip(light, strong, strict=True))
    framed: dict[str, Any] = {"edgecolor": ORANGE, "linewidth": 2.4, "zorder": 3}
    edge = framed if arrived else {"edgecolor": "white", "linewidth": 1}
    axes.add_patch(Rectangle((corner[0] + 0.04, corner[1] + 0.04), 0.92, 0.92, facecolor=fill, **edge))
    ink = "white" if share > 0.6 else INK
    middle = (corner[0] + 0.5, corner[1] + 0.52)
    axes.annotate(str(owners), middle, ha="center", va="center", fontsize=10, color=ink, zorder=4)


# --------------------------------------------------------------------------------------------- a server, and a ring


def draw_traffic(workers: int = 8) -> None:
    """A parameter server with its workers beside a ring of the same workers; how much they send is an exercise."""
    with style():
        figure, axes = canvas(
            "One machine carries everything, or everybody carries the same",
            f"Diagram, {workers} workers: who sends to whom for one sum",
            3.9,
        )
        left, right, size = (0.0, 0.0), (9.0, 0.0), 2.7
        spots = [_on_circle(left, size, place, workers) for place in range(workers)]
        for spot in spots:
            _arrow(axes, spot, left, 1.6, BLUE, 0.34, 27)
            _arrow(axes, left, spot, 1.6, ORANGE, 0.34)
        _node(axes, left, "server", ORANGE, 0.72)
        for place, spot in enumerate(spots):
            _node(axes, spot, str(place), BLUE, 0.36)
        around = [_on_circle(right, size, place, workers) for place in range(workers)]
        for place, spot in enumerate(around):
            _arrow(axes, spot, around[(place + 1) % workers], 3.0, BLUE, 0.0)
        for place, spot in enumerate(around):
            _node(axes, spot, str(place), BLUE, 0.36)
        axes.annotate("nobody in\nthe middle", right, fontsize=11, ha="center", va="center")
        axes.set(xlim=(-3.4, 12.4), ylim=(-3.3, 3.3))
        axes.set_aspect("equal")
        axes.set_axis_off()
    show(
        figure,
        f"Left: a server in the middle of {workers} workers; every one of them sends to it, and it sends to every one. "
        "Right: the same workers in a ring; each sends to the next only.",
    )


def _on_circle(middle: tuple[float, float], radius: float, place: int, of: int) -> tuple[float, float]:
    angle = math.pi / 2 - 2 * math.pi * place / of
    return middle[0] + radius * math.cos(angle), middle[1] + radius * math.sin(angle)


def _node(axes: Axes, spot: tuple[float, float], text: str, color: str, radius: float) -> None:
    from matplotlib.patches import Circle

    axes.add_patch(Circle(spot, radius, facecolor=color, edgecolor="white", linewidth=1.5, zorder=4))
    axes.annotate(
        text, spot, ha="center", va="center", color="white" if color == BLUE else INK, fontsize=10, zorder=5
    )  # fmt: skip


def _arrow(
    axes: Axes,
    start: tuple[float, float],
    stop: tuple[float, float],
    width: float,
    color: str,
    shift: float,
    before: float = 14,
) -> None:
    """From start to `before` points from stop, moved to its right so that two directions do not cover each other."""
    across = (stop[1] - start[1], start[0] - stop[0])
    length = math.hypot(*across)
    off = (shift * across[0] / length / 2, shift * across[1] / length / 2)
    moved = [(end[0] + off[0], end[1] + off[1]) for end in (start, stop)]
    look = {"arrowstyle": "-|>", "color": color, "lw": width, "shrinkA": 14, "shrinkB": before, "mutation_scale": 11}
    axes.annotate("", moved[1], moved[0], arrowprops=look, zorder=3)


# -------------------------------------------------------------------------------------------------------------- ghosts


def draw_processes(processes: Sequence[Mapping[str, Any]], marked: Collection[int] = (), title: str = "") -> None:
    """A process table as a forest: each process under its parent, memory on the GPU as a bar, some of them marked.

    Args:
        processes: dicts with `pid ppid user gpu_bytes name`.
        marked: pids to color.
        title: the finding.
    """
    known = {row["pid"] for row in processes}
    order: list[tuple[int, Mapping[str, Any]]] = []

    def place(row: Mapping[str, Any], depth: int) -> None:
        order.append((depth, row))
        for other in processes:
            if other["ppid"] == row["pid"] and other["pid"] != row["pid"]:
                place(other, depth + 1)

    for row in processes:
        if row["ppid"] not in known:
            place(row, 0)
    most = max(row["gpu_bytes"] for row in processes) or 1
    with style():
        figure, axes = canvas(
            title, "A made-up machine; orange: marked; bars: memory held on the GPU", 0.9 + 0.3 * len(order)
        )
        for line, (depth, row) in enumerate(order):
            color = ORANGE if row["pid"] in marked else BLUE
            ink = "#b85600" if row["pid"] in marked else INK
            words = f"{'    ' * depth}{'└ ' if depth else ''}{row['name']}"
            for at, text in ((0.0, f"{row['pid']}"), (0.8, f"{row['ppid']}"), (1.6, row["user"]), (2.5, words)):
                axes.annotate(text, (at, line), va="center", fontsize=10, color=ink)
            if row["gpu_bytes"]:
                axes.barh(line, 2.6 * row["gpu_bytes"] / most, 0.6, 6.6, color=color)
                axes.annotate(
                    f" {number(row['gpu_bytes'] / 1e9)} GB",
                    (6.6 + 2.6 * row["gpu_bytes"] / most, line),
                    va="center",
                    fontsize=10,
                )
        for at, text in (
            (0.0, "pid"),
            (0.8, "ppid"),
            (1.6, "user"),
            (2.5, "name, under its parent"),
            (6.6, "on the GPU"),
        ):
            axes.annotate(text, (at, -1), va="center", fontsize=10, weight="bold")
        bare(axes, (-0.1, 10.0), (len(order) - 0.4, -1.6))
    words = "; ".join(
        f"{row['pid']} {row['name']} of {row['user']}, parent {row['ppid']}, {number(row['gpu_bytes'] / 1e9)} GB"
        + (", marked" if row["pid"] in marked else "")
        for _, row in order
    )
    show(figure, f"Process table. {words}.")  # fmt: skip
