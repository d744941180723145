"""Inference: the graph in an ONNX file, its nodes counted and drawn. Making the files is for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from matplotlib.patches import FancyBboxPatch

from gpulab.chapters.inference.engine_files import read
from gpulab.figures.styling import BLUE, GRAY, INK, ORANGE, canvas, show, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHORT = {
    "BatchNormalization": "Batch\nNorm",
    "FusedConv": "Conv\n+ Relu",
    "QuantizeLinear": "Q",
    "DequantizeLinear": "DQ",
    "QLinearConv": "Conv\nint8",
    "QGemm": "Gemm\nint8",
    "Reshape": "Re-\nshape",
}
MULTIPLIES = ("Conv", "FusedConv", "Gemm", "FusedGemm", "MatMul", "QLinearConv", "QGemm")
PASSES = ("Shape", "Squeeze", "Concat", "Reshape", "Gather", "Cast", "Flatten", "Unsqueeze", "Identity", "Expand")
"""Nodes that compute with shapes, or move no number."""


@dataclass(frozen=True)
class Node:
    """A node of a graph."""

    kind: str
    depth: int
    """Its place on the way from the input, so late that what takes its output follows at once where it can."""
    after: tuple[int, ...]
    """Numbers of the nodes whose outputs it takes."""


def nodes(content: bytes) -> list[Node]:
    """The nodes of an ONNX file through which a picture passes, in an order in which they can be computed.

    What depends on weights alone is done once, when the engine is built: it is left out.

    Raises:
        NotAnEngine: it is no ONNX file.
    """
    graph = read(content).graph
    held = {tensor.name for tensor in graph.initializer}
    maker: dict[str, int | None] = {one.name: None for one in graph.input if one.name not in held}
    kinds: list[str] = []
    before: list[tuple[int, ...]] = []
    for node in graph.node:
        if not any(name in maker for name in node.input):
            continue
        before.append(tuple(sorted({place for name in node.input if (place := maker.get(name)) is not None})))
        maker |= dict.fromkeys(node.output, len(kinds))
        kinds.append(node.op_type)
    behind = [0] * len(kinds)  # the longest way to the end
    for number in reversed(range(len(kinds))):
        for place in before[number]:
            behind[place] = max(behind[place], behind[number] + 1)
    last = max(behind, default=0)
    found = zip(kinds, behind, before, strict=True)
    return [Node(kind, last - left, after) for kind, left, after in found]


def count(content: bytes) -> dict[str, int]:
    """How many nodes of each kind a picture passes through, the most frequent first."""
    return dict(Counter(node.kind for node in nodes(content)).most_common())


def draw_graphs(stages: Mapping[str, bytes], title: str = "") -> None:
    """Draws the graphs of some files, one under the other, each with its number of nodes.

    Args:
        stages: what the file is → the file.
        title: the finding; the numbers of nodes when left out.
    """
    graphs = {name: nodes(content) for name, content in stages.items()}
    counts = [len(graph) for graph in graphs.values()]
    with style():
        figure = _drawn(graphs, title or f"From {counts[0]} nodes to {counts[-1]}, and the same scores")
    words = "; ".join(f"{name}: {', '.join(node.kind for node in graph)}" for name, graph in graphs.items())
    show(figure, f"Boxes from left to right, joined by arrows, a row for each file. {words}.")


def _drawn(graphs: Mapping[str, list[Node]], title: str) -> Figure:
    tall = [1 + max(_places(graph).values()) for graph in graphs.values()]
    rows = sum(tall) + 0.75 * len(tall)
    figure, axes = canvas(title, "", 0.62 * rows + 0.3)
    axes.axis("off")
    wide = max(node.depth for graph in graphs.values() for node in graph) + 1
    axes.set(xlim=(-0.55, wide - 0.45), ylim=(-rows + 0.55, 0.35))
    top = 0.0
    for (name, graph), lines in zip(graphs.items(), tall, strict=True):
        axes.text(-0.45, top + 0.05, f"{name}: {len(graph)} nodes", fontsize=11, weight="bold", va="center")
        _draw_row(axes, graph, top - 0.62, min(8.5, 100 / wide))
        top -= lines + 0.75
    return figure


def _places(graph: list[Node]) -> dict[int, int]:
    """Node → line of its row: 0 for the main way, more for nodes beside it."""
    taken: Counter[int] = Counter()
    places = {}
    # Those that compute with numbers first: the main way is theirs.
    for number, node in sorted(enumerate(graph), key=lambda one: one[1].kind in PASSES):
        places[number] = taken[node.depth]
        taken[node.depth] += 1
    return places


def _draw_row(axes: Axes, graph: list[Node], top: float, letters: float) -> None:
    places = _places(graph)
    for number, node in enumerate(graph):
        at = (node.depth, top - places[number])
        color = BLUE if node.kind in MULTIPLIES else GRAY if node.kind in PASSES else ORANGE
        box = FancyBboxPatch((at[0] - 0.38, at[1] - 0.26), 0.76, 0.52, "round,pad=0.02", color=color, alpha=0.25, lw=0)
        axes.add_patch(box)
        axes.text(*at, SHORT.get(node.kind, node.kind), ha="center", va="center", fontsize=letters, color=INK)
        for before in node.after:
            start = (graph[before].depth + 0.4, top - places[before])
            arrow = {"arrowstyle": "->", "color": INK, "lw": 1, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", (at[0] - 0.4, at[1]), start, arrowprops=arrow)
