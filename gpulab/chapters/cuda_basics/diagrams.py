"""Diagrams of CUDA basics: the index of each thread, and which thread takes which element.

Where a diagram needs an answer it is the student's own function, passed in. Measurements are drawn by
`cuda_basics.pictures`, recorded launches by `gpulab.trace`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from gpulab.figures.diagrams import bare, cell, rectangle
from gpulab.figures.styling import BLUE, FAINT, GRAY, INK, ORANGE, canvas, show, style, tidy

LIGHT, MIDDLE = "#c6dbef", "#9ecae1"
"""Two shades of blue that tell neighboring blocks apart."""


def draw_indices(blocks: int = 3, threads: int = 8, example: tuple[int, int] = (1, 5)) -> None:
    """A line of elements, and above each the thread that takes it; one of them is worked out."""
    block, thread = example
    element = block * threads + thread
    with style():
        figure, axes = canvas(
            "A thread computes its element from three numbers", f"Diagram: {blocks} blocks of {threads} threads", 2.7
        )
        bare(axes, (-2.2, blocks * threads), (4.6, -1.0))
        for place, words in ((0.5, "threadIdx.x"), (2.1, "element")):
            axes.annotate(words, (-0.2, place), ha="right", va="center", fontsize=10)
        for at in range(blocks * threads):
            shade = ORANGE if at == element else LIGHT if at // threads % 2 else "white"
            cell(axes, at, 0, shade, str(at % threads))
            cell(axes, at, 1.6, shade, str(at))
        for place in range(blocks):
            left = place * threads
            axes.plot([left + 0.1, left + threads - 0.1], [-0.15, -0.15], color=INK, linewidth=1.4)
            middle = left + threads / 2
            axes.annotate(f"blockIdx.x = {place}", (middle, -0.4), ha="center", fontsize=10)
        axes.annotate(
            f"blockIdx.x × blockDim.x + threadIdx.x = {block} × {threads} + {thread} = {element}",
            (element + 0.5, 2.65),
            (blocks * threads / 2, 4.2),
            ha="center",
            fontsize=11.5,
            weight="bold",
            arrowprops={"arrowstyle": "->", "color": ORANGE, "lw": 1.6},
        )
    show(
        figure,
        f"{blocks} blocks of {threads} threads over a line of elements. Thread {thread} of block {block} takes element "
        f"{block} times {threads} plus {thread}, that is {element}.",
    )


def draw_idle(blocks_for: Callable[[int, int], int], sizes: Sequence[int] = (1024, 256, 64)) -> None:
    """The share of threads that find no element, by the student's own function, for several block sizes."""
    lengths = range(1, 20_001)  # every one: a saw has its teeth between any two
    with style():
        figure, axes = canvas(
            "Many threads are idle for a small array, few for a large one",
            "Computed with your blocks_for()",
            3.6,
        )
        for size, color in zip(sizes, (GRAY, ORANGE, BLUE), strict=False):
            shares = [100 * (1 - length / max(1, blocks_for(length, size) * size)) for length in lengths]
            axes.plot(lengths, shares, color=color, linewidth=1.2, label=f"blocks of {size}")
        axes.set(
            xscale="log",
            xlabel="elements",
            ylabel="threads without an element, %",
            ylim=(0, 100),
            xlim=(1, lengths[-1]),
        )
        axes.legend(frameon=False)
        tidy(axes.xaxis, logarithmic=True)
    show(
        figure,
        "Share of idle threads over the number of elements: near 100% for one element, then a falling sawtooth.",
    )


def draw_grid(
    grid_for: Callable[[tuple[int, int], tuple[int, int]], tuple[int, int]],
    shape: tuple[int, int] = (14, 40),
    block: tuple[int, int] = (16, 4),
) -> None:
    """A matrix under the grid that the student's function gives it; elements that no thread covers stand out."""
    (rows, columns), (wide, high) = shape, block
    across, down = grid_for(shape, block)
    covered_columns, covered_rows = min(columns, across * wide), min(rows, down * high)
    missing = rows * columns - covered_columns * covered_rows
    idle = across * wide * down * high - covered_columns * covered_rows
    title = f"{across} × {down} blocks cover the matrix; {idle} threads are idle"
    with style():
        figure, axes = canvas(
            title if not missing else f"{across} × {down} blocks leave {missing} elements uncovered",
            f"{rows} rows and {columns} columns, blocks of ({wide}, {high}) threads, grid by your grid_for()",
            4.2,
        )
        for row, column in itertools.product(range(down * high), range(across * wide)):
            inside = row < rows and column < columns
            shade = (LIGHT if (column // wide + row // high) % 2 else MIDDLE) if inside else "white"
            rectangle(axes, (column + 0.06, row + 0.06), 0.88, 0.88, shade, edge=FAINT, line=0.5)
        for row, column in itertools.product(range(rows), range(columns)):
            if row >= covered_rows or column >= covered_columns:
                rectangle(axes, (column + 0.06, row + 0.06), 0.88, 0.88, ORANGE, edge="none")
        for y, x in itertools.product(range(down), range(across)):
            rectangle(axes, (x * wide, y * high), wide, high, "none", edge=INK, line=1.1)
            # Over the part of the block that has work, if any: a name across the matrix's edge could not be read.
            right = min((x + 1) * wide, columns) if x * wide < columns else (x + 1) * wide
            lower = min((y + 1) * high, rows) if y * high < rows else (y + 1) * high
            place = ((x * wide + right) / 2, (y * high + lower) / 2)
            axes.annotate(f"block ({x}, {y})", place, ha="center", va="center", fontsize=9, weight="bold")
        rectangle(axes, (0, 0), columns, rows, "none", edge=BLUE, line=2.2)
        right, bottom = max(columns, across * wide), max(rows, down * high)
        axes.set(xlim=(-0.4, right + 0.4), ylim=(bottom + 0.4, -0.4), aspect="equal")
        axes.set(xlabel="x: column", ylabel="y: row")
        axes.grid(visible=False)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
    show(
        figure,
        f"A grid of {across} by {down} blocks of {wide} by {high} threads over a matrix of {rows} rows and {columns} "
        f"columns: {idle} threads lie outside of it, {missing} elements are not covered.",
    )


def draw_shares(threads: int = 8, elements: int = 28) -> None:
    """Who takes which element: one each, in a grid-stride loop, and in one piece each."""
    per_piece = -(-elements // threads)
    schemes: dict[str, list[int | None]] = {
        "one element per thread": [at if at < threads else None for at in range(elements)],
        "grid-stride loop": [at % threads for at in range(elements)],
        "one piece per thread": [at // per_piece for at in range(elements)],
    }
    first = {"one element per thread": 1, "grid-stride loop": threads, "one piece per thread": per_piece}
    with style():
        figure, axes = canvas(
            "In a grid-stride loop, neighboring threads always take neighboring elements",
            f"Diagram: {threads} threads, {elements} elements; numbers are threads, orange is the first step",
            2.7,
        )
        bare(axes, (-8.6, elements), (4.6, -0.2))
        for row, (name, takers) in enumerate(schemes.items()):
            axes.annotate(name, (-0.4, row * 1.6 + 0.5), ha="right", va="center")
            for at, taker in enumerate(takers):
                step = at // threads if name != "one piece per thread" else at % first[name]
                shade = "white" if taker is None else ORANGE if step == 0 else LIGHT
                cell(axes, at, row * 1.6, shade, "" if taker is None else str(taker), 9.5)
    show(
        figure,
        f"Three ways to deal {elements} elements to {threads} threads. One element per thread: the rest is never "
        "touched. In a grid-stride loop: threads 0 to 7 in order, again and again. One piece per thread: thread 0 has "
        "the first four, and so on.",
    )
