"""Draws how the threads of a block share work: a barrier, tiles with a halo, a tree of sums, banks, products.

What is counted or measured is drawn on the chapter's page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpulab.figures.diagrams import arrow, bare, cell, centerd, rectangle
from gpulab.figures.styling import BLUE, FAINT, GRAY, INK, ORANGE, canvas, ink_on, show, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LIGHT, SAND = "#c6dbef", "#fdd9b5"
"""Own elements and borrowed ones, light enough to be written on."""
GREEN = "#cfe3d4"
"""Shared memory, as in the architecture chapter."""
BANKS = 32


def draw_block_reverse(threads: int = 8) -> None:
    """Global memory → shared tile → barrier → global memory, for one small block."""
    with style():
        figure, axes = canvas(
            "Write, wait at the barrier, read what another thread wrote",
            f"Diagram: one block of {threads} threads; arrows are drawn for threads 1 and 6",
            3.6,
        )
        bare(axes, (-5.2, threads + 4.6), (6.2, -0.5))
        letters = "ABCDEFGH"[:threads]
        rows = {"x (global)": (0.0, letters, "white"), "tile (shared)": (2.0, letters, GREEN)}
        rows["out (global)"] = (4.9, letters[::-1], "white")
        for name, (top, held, shade) in rows.items():
            axes.annotate(name, (-0.3, top + 0.5), ha="right", va="center")
            for at, letter in enumerate(held):
                cell(axes, at, top, shade, letter, 11)
        axes.plot([-0.2, threads + 0.2], [3.75, 3.75], color=ORANGE, linewidth=2.4)
        axes.annotate("syncthreads()", (threads + 0.4, 3.75), va="center", color=ORANGE, weight="bold")
        axes.annotate("tile[t] = x[i]", (threads + 0.4, 1.5), va="center")
        axes.annotate("out[i] = tile[last - t]", (threads + 0.4, 4.45), va="center")
        for thread in (1, threads - 2):
            arrow(axes, (thread + 0.5, 1.05), (thread + 0.5, 1.95), BLUE, 1.6)
            arrow(axes, (threads - 1 - thread + 0.5, 3.05), (thread + 0.5, 4.85), BLUE, 1.6)
            axes.annotate(f"thread {thread}", (thread + 0.6, 1.5), fontsize=9, va="center", color="#555555")
    show(
        figure,
        "A block copies its run into the shared tile, waits at a barrier, and each thread writes out the element at "
        "the mirrored place of the tile, which another thread had put there.",
    )


def draw_halo(block: int = 8, blocks: int = 3, radius: int = 3) -> None:
    """A line of elements, and below it the tile of every block: its own elements and the halo on both sides."""
    elements = block * blocks
    with style():
        title = f"A tile holds {block} own elements and a halo of {2 * radius} elements of its neighbors"
        figure, axes = canvas(title, f"Diagram: blocks of {block}, radius {radius}; the numbers are places in x", 3.9)
        bare(axes, (-radius - 4.4, elements + radius + 0.2), (2.2 + 1.35 * blocks, -0.7))
        _row_name(axes, -radius - 0.4, 0.5, "x")
        for at in range(elements):
            cell(axes, at, 0, LIGHT if at // block % 2 else "white", str(at))
        for number in range(blocks):
            top = 1.75 + number * 1.35
            _row_name(axes, -radius - 0.4, top + 0.5, f"tile of block {number}")
            for at in range(number * block - radius, (number + 1) * block + radius):
                inside, own = 0 <= at < elements, at // block == number
                shade = LIGHT if own else SAND
                words = str(min(max(at, 0), elements - 1))
                cell(axes, at, top, shade, words, hatch="" if own else "///", bold=not inside)
        axes.annotate(
            "hatched: halo; bold: clamped to the edge", (elements / 2, 2.0 + 1.35 * blocks), ha="center", va="center"
        )
    show(
        figure,
        f"{blocks} blocks of {block} elements. The tile of each holds its own elements and a halo of {radius} on each "
        "side, from the neighboring blocks; beyond the ends of the array the first or last element is repeated.",
    )


def _row_name(axes: Axes, right: float, middle: float, words: str) -> None:
    axes.annotate(words, (right, middle), ha="right", va="center", fontsize=10.5)


def draw_tree(numbers: Sequence[int] = (3, 1, 4, 1, 5, 9, 2, 6)) -> None:
    """A tree of sums in a shared array: each step halves the numbers that matter, a barrier stands between steps."""
    steps = [list(numbers)]
    while len(steps[-1]) > 1:
        half = len(steps[-1]) // 2
        steps.append([steps[-1][at] + steps[-1][at + half] for at in range(half)])
    count = len(numbers)
    with style():
        title = f"A tree adds {count} numbers in {len(steps) - 1} steps"
        note = "Diagram: the array in shared memory after each step; white: no longer needed"
        figure, axes = canvas(title, note, 0.9 + 1.05 * len(steps))
        bare(axes, (-2.6, count + 2.2), (2 * len(steps) - 0.8, -0.2))
        for row, sums in enumerate(steps):
            top = 2 * row
            for at in range(count):
                alive = at < len(sums)
                words = str(sums[at]) if alive else ""
                cell(axes, at, top, LIGHT if alive else "white", words, 11, bold=len(sums) == 1)
            if len(sums) == 1:
                continue
            half = len(sums) // 2
            _row_name(axes, -0.2, top + 1.5, f"{half} threads add" if half > 1 else "1 thread adds")
            for at in range(half):
                for source, color in ((at, BLUE), (at + half, ORANGE)):
                    arrow(axes, (source + 0.5, top + 1), (at + 0.5, top + 2), color, 1.5)
            axes.plot([count + 0.15, count + 2.1], [top + 1.5] * 2, color=INK, linestyle="--", linewidth=1)
            axes.annotate("barrier", (count + 1.15, top + 1.4), ha="center", va="bottom", fontsize=9.5)
    show(
        figure,
        f"A tree of sums over {', '.join(map(str, numbers))}. In each step the upper half is added to the lower half: "
        + "; then ".join(", ".join(map(str, sums)) for sums in steps[1:])
        + ". There is a barrier between two steps.",
    )


def draw_banks(widths: Sequence[int] = (32, 33), rows: int = 8, column: int = 0) -> None:
    """Where the elements of one column of a tile lie in the 32 banks, for tiles of several widths."""
    with style():
        title = f"One column: all in one bank at width {widths[0]}, spread over all banks at width {widths[-1]}"
        first, last = f"tile[0, {column}]", f"tile[{rows - 1}, {column}]"
        note = f"Diagram: shared memory, 32 words per row, one bank per column; orange: {first} to {last}"
        gap = rows + 3.4
        figure, axes = canvas(title, note, 0.9 + 0.27 * gap * len(widths))
        bare(axes, (-0.2, BANKS + 0.2), (gap * len(widths) - 1.6, -1.6))
        for place, width in enumerate(widths):
            top = place * gap
            axes.annotate(f"tile of {width} columns", (0, top - 0.35), fontsize=11, weight="bold")
            for bank in range(BANKS):
                centerd(axes, str(bank), bank + 0.5, top + rows + 0.6, 8, color="#555555")
            for word in range(rows * BANKS):
                line, bank = divmod(word, BANKS)
                tile_row, tile_column = divmod(word, width)
                plain = LIGHT if tile_row % 2 else "white"
                fill = ORANGE if tile_column == column else FAINT if tile_column >= BANKS else plain
                rectangle(axes, (bank, top + line), 1, 1, fill, edge="#bbbbbb", line=0.5)
                if tile_column == column:
                    centerd(axes, str(tile_row), bank + 0.5, top + line + 0.54, 8.5, color=ink_on(fill))
    show(
        figure,
        f"Shared memory as rows of 32 words. In a tile of {widths[0]} columns the elements of column {column} are "
        f"below each other, all in bank {column}. In a tile of {widths[-1]} columns each is one bank further.",
    )


def draw_turn(tile: int = 4, across: int = 3, down: int = 2, chosen: tuple[int, int] = (2, 0)) -> None:
    """A matrix cut into tiles and its transpose: one tile goes to the mirrored place, and is turned on the way."""
    x, y = chosen
    with style():
        title = "A tile moves to the mirrored place, and is transposed in shared memory"
        figure, axes = canvas(title, "Diagram: arrows show the order in which a warp's lanes access the elements", 3.9)
        right = across * tile + 13
        bare(axes, (-1.2, right + down * tile + 1.5), (across * tile + 1.2, -1.8), aspect="equal")
        for left, wide, high, name, at in ((0, across, down, "x", (x, y)), (right, down, across, "result", (y, x))):
            axes.annotate(name, (left, -0.6), fontsize=12, weight="bold")
            for place in range(wide * high):
                column, row = place % wide, place // wide
                fill = SAND if (column, row) == at else "white"
                corner = (left + column * tile, row * tile)
                rectangle(axes, corner, tile, tile, fill, edge=GRAY, line=1)
            for line in range(tile):
                height = at[1] * tile + line + 0.5
                ends = (left + at[0] * tile + 0.3, left + (at[0] + 1) * tile - 0.2)
                arrow(axes, (ends[0], height), (ends[1], height), BLUE, 1.4)
        middle = across * tile + 6.5
        top = 1.0
        rectangle(axes, (middle - tile / 2, top), tile, tile, SAND, edge=INK, line=1.4)
        axes.annotate("tile in\nshared memory", (middle, top + tile + 0.5), ha="center", va="top", fontsize=10)
        for line in range(tile):
            at_x = middle - tile / 2 + line + 0.5
            arrow(axes, (at_x, top + 0.3), (at_x, top + tile - 0.2), ORANGE, 1.4)
        _flow(axes, (x + 1) * tile + 0.2, middle - tile / 2 - 0.2, top + 1, "rows in")
        _flow(axes, middle + tile / 2 + 0.2, right - 0.3, top + 1, "columns out")
    show(
        figure,
        "A matrix of tiles next to its transpose. A warp reads rows of one tile into shared memory, reads the tile's "
        "columns back, and writes them as rows of the mirrored tile: both sides of the trip walk along rows of memory.",
    )


def _flow(axes: Axes, start: float, stop: float, height: float, words: str) -> None:
    arrow(axes, (start, height), (stop, height), INK, 1.6, "-|>")
    axes.annotate(words, ((start + stop) / 2, height - 0.3), ha="center", va="bottom", fontsize=10)


def draw_product(tiles: tuple[int, int, int] = (3, 4, 3), chosen: tuple[int, int] = (1, 2)) -> None:
    """Three matrices of a product: the tile that a block makes, and the tiles that it fetches on the way."""
    high, deep, wide = tiles
    row, column = chosen
    with style():
        title = f"For one tile of c, a block fetches {deep} tiles of a and {deep} of b"
        figure, axes = canvas(title, "Diagram: every square is a tile of 16 × 16; the numbers are steps", 4.3)
        left, top = deep + 1.0, deep + 1.0
        bare(axes, (-0.6, 2.25 * (top + high)), (top + high + 0.6, -0.6), aspect="equal")
        blocks = {"a": (0.0, top, deep, high), "b": (left, 0.0, wide, deep), "c": (left, top, wide, high)}
        for name, (x, y, across, down) in blocks.items():
            for place in range(across * down):
                at_column, at_row = place % across, place // across
                along = {"a": at_row == row, "b": at_column == column, "c": (at_row, at_column) == chosen}[name]
                step = at_column if name == "a" else at_row
                fill = (ORANGE if name == "c" else LIGHT) if along else "white"
                corner = (x + at_column, y + at_row)
                rectangle(axes, corner, 1, 1, fill, edge=GRAY, line=1)
                if along and name != "c":
                    centerd(axes, str(step), corner[0] + 0.5, corner[1] + 0.52, 12)
            axes.annotate(name, (x - 0.15, y - 0.12), ha="right", fontsize=14, weight="bold")
        axes.annotate("k", (deep / 2, top + high + 0.5), ha="center", fontsize=12)
        axes.annotate("k", (left - 0.3, deep / 2), ha="right", va="center", fontsize=12)
        words = (
            "One step of one block\n\n"
            "1.  256 threads fetch a tile of a and one of b:\n"
            "     2 elements each, 512 in all\n"
            "2.  barrier\n"
            "3.  256 threads do 16 multiply-adds each:\n"
            "     4,096 in all, from shared memory\n"
            "4.  barrier\n\n"
            "Every element fetched is used 16 times."
        )
        axes.annotate(words, (left + wide + 1.2, (top + high) / 2), va="center", fontsize=11, linespacing=1.4)
    show(
        figure,
        f"a is {high} by {deep} tiles, b {deep} by {wide}, c {high} by {wide}. For the tile of c in row {row} and "
        f"column {column} a block uses row {row} of a's tiles and column {column} of b's, in {deep} steps.",
    )
