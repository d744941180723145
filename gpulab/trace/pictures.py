"""Draws one warp's request: over the 128-byte lines of global memory, or over the 32 banks of shared memory.

What the request was comes from `Request`; how a figure looks and is shown is up to `gpulab.figures.styling`.
Dark cells are asked for, hatched ones are moved for nothing: it reads without color.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.patches import Rectangle

from gpulab.figures.styling import (
    BLUE,
    FAINT,
    GRAY,
    INK,
    ORANGE,
    TITLE_CHARACTERS_PER_INCH,
    WIDTH_IN,
    canvas,
    ink_on,
    show,
    style,
)
from gpulab.trace.counts import BANK_BYTES, BANKS, SECTOR_BYTES
from gpulab.trace.errors import LaunchError
from gpulab.trace.log import WARP_SIZE
from gpulab.trace.result import LineCount, Request, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINE_BYTES = 128
_ROWS = 8
"""Lines or turns that are drawn; of more, the first ones, and how many are left out."""
_ROW_IN, _AROUND_IN = 0.38, 1.2
"""Inches of a row, and of title and labels."""


def draw(trace: Trace, line: int | None = None, *, array: str = "", kind: str = "", title: str = "") -> None:
    """Shows the most costly request of one line of a kernel.

    Args:
        trace: of the launch.
        line: of the kernel; when left out, the one whose requests cost most.
        array: only requests to this array.
        kind: only `load`, `store` or `atomic`.
        title: the finding, as a sentence; made from the counts when left out.

    Raises:
        LaunchError: no such request was made.
    """
    count = chosen(trace, line, array, kind)
    with style():
        figure = request_figure(trace, count, title)
    show(figure, description(trace, count))


def chosen(trace: Trace, line: int | None = None, array: str = "", kind: str = "") -> LineCount:
    """Of the expressions that fit, the one whose requests cost most.

    Raises:
        LaunchError: none fits.
    """
    fits = [
        count
        for count in trace.lines
        if line in (None, count.line) and array in ("", count.array) and kind in ("", count.kind)
    ]
    if not fits:
        known = "; ".join(f"line {count.line} {count.kind}s {count.array}" for count in trace.lines) or "none at all"
        raise LaunchError(f"'{trace.kernel}' made no such request. It made these: {known}.")
    return max(fits, key=lambda count: count.worst.cost)


def description(trace: Trace, count: LineCount) -> str:
    """What the figure shows, in words."""
    request = count.worst
    who = f"{len(request.lanes)} lanes of warp {request.warp} in block {request.block}"
    if count.space == "shared":
        cost = f"need {_several(request.cost, 'turn')}: up to {_several(request.cost, 'word')} in one of 32 banks"
    else:
        lines = _several(len(_lines_of(request)), "line")
        cost = f"touch {_several(request.cost, 'sector')} of 32 bytes in {lines} of 128 bytes"
    return f"Kernel {trace.kernel}, line {count.line}, {_target(count)}: {who} {cost}."


def request_figure(trace: Trace, count: LineCount, title: str = "") -> Figure:
    """The picture, not shown yet. Call it inside `canvas.style()`.

    Args:
        trace: of the launch.
        count: the expression whose most costly request is drawn.
        title: made from the counts when left out.
    """
    if count.space == "shared":
        return _bank_figure(trace, count, title)
    return _line_figure(trace, count, title)


# ------------------------------------------------------------------------------------------------------ global memory


def _line_figure(trace: Trace, count: LineCount, title: str) -> Figure:
    """One row for each 128-byte line that the request touches, cut into its four sectors and their elements."""
    request = count.worst
    lines = _lines_of(request)
    drawn = lines if len(lines) <= _ROWS else lines[: _ROWS - 1]
    left_out = len(lines) - len(drawn)
    used = 100 * len(set(request.addresses)) * request.item_bytes / (request.cost * SECTOR_BYTES)
    share = "all" if used >= 100 else f"{used:.3g}%"
    head = title or f"{_several(request.cost, 'sector')} for one {_target(count)}: {share} of the bytes moved are used"
    rows = len(drawn) + bool(left_out)
    firsts = [_first_element(count, number) for number in drawn]
    # The title begins where the boxes do, to the right of their labels.
    head = "\n".join(textwrap.wrap(head, int(WIDTH_IN * TITLE_CHARACTERS_PER_INCH) - max(map(len, firsts)) // 2))
    figure, axes = canvas(head, _note(trace, count), _AROUND_IN + _ROW_IN * rows)
    touched = {address // SECTOR_BYTES for address in request.addresses}
    for row, number in enumerate(drawn):
        _line(axes, row, number * LINE_BYTES, request, touched)
    if left_out:
        axes.text(BANKS / 2, len(drawn), f"… and {_several(left_out, 'more line')}", ha="center", va="center")
    axes.set_yticks(range(len(drawn)), firsts)
    axes.set_xticks(range(0, BANKS + 1, 8), [str(BANK_BYTES * word) for word in range(0, BANKS + 1, 8)])
    axes.set_xlabel("byte of a 128-byte line;  box: a sector;  number: the lane that asks;  hatched: moved for nothing")
    _bare(axes, -0.55, rows - 0.45)
    return figure


def _line(axes: Axes, row: int, start: int, request: Request, touched: set[int]) -> None:
    """One 128-byte line: its elements, then its sectors' outlines."""
    width = request.item_bytes / BANK_BYTES
    lanes: dict[int, list[int]] = {}
    for lane, address in zip(request.lanes, request.addresses, strict=True):
        lanes.setdefault(address - start, []).append(lane)
    for offset, asking in lanes.items():
        if 0 <= offset < LINE_BYTES:
            place = (offset / BANK_BYTES, row - 0.42)
            axes.add_patch(Rectangle(place, width, 0.84, facecolor=BLUE, edgecolor="white", linewidth=0.6))
            _write(axes, place[0] + width / 2, row, asking, "white")
    for sector in range(LINE_BYTES // SECTOR_BYTES):
        place = (sector * SECTOR_BYTES / BANK_BYTES, row - 0.42)
        if start // SECTOR_BYTES + sector in touched:
            behind = Rectangle(place, 8, 0.84, facecolor="white", edgecolor=GRAY, linewidth=0, hatch="////", zorder=0.5)
            axes.add_patch(behind)
        outline = Rectangle(place, 8, 0.84, fill=False, edgecolor=INK, linewidth=1.5, clip_on=False)
        axes.add_patch(outline)


def _lines_of(request: Request) -> list[int]:
    """The 128-byte lines that the request touches, in the order of the lanes."""
    return list(dict.fromkeys(address // LINE_BYTES for address in request.addresses))


def _first_element(count: LineCount, line: int) -> str:
    """The first element that is asked for in this line: `x[32]`."""
    request = count.worst
    within = [at for at, address in enumerate(request.addresses) if address // LINE_BYTES == line]
    index = request.indexes[min(within, key=lambda at: request.addresses[at])]
    return f"{count.array}[{', '.join(map(str, index))}] …"


# ------------------------------------------------------------------------------------------------------ shared memory


def _bank_figure(trace: Trace, count: LineCount, title: str) -> Figure:
    """One column for each bank; the words that are asked for there stand below each other, one turn each."""
    request = count.worst
    banks, lanes = _busiest_part(request)
    tallest = max(map(len, banks.values()))
    rows = min(tallest, _ROWS)
    turns = "One turn, no conflict" if tallest == 1 else f"{tallest} turns instead of one"
    part = "" if len(lanes) == len(request.lanes) else f"; drawn are lanes {_span(lanes)}, which are served together"
    head = title or f"{turns}, for one {_target(count)}"
    figure, axes = canvas(head, _note(trace, count) + part, _AROUND_IN + _ROW_IN * rows)
    for bank in range(BANKS):
        axes.add_patch(Rectangle((bank, -0.5), 1, rows, fill=False, edgecolor=FAINT, linewidth=0.8, clip_on=False))
        for row, asking in enumerate(list(banks.get(bank, {}).values())[:rows]):
            color = BLUE if row == 0 else ORANGE
            axes.add_patch(Rectangle((bank, row - 0.42), 1, 0.84, facecolor=color, edgecolor="white", linewidth=0.6))
            more = len(banks[bank]) - row if row == _ROWS - 1 and len(banks[bank]) > _ROWS else 0
            _write(axes, bank + 0.5, row, [] if more else asking, ink_on(color), f"+{more}" if more else "")
    labels = [f"turn {row + 1}" for row in range(rows)]
    if tallest > _ROWS:
        labels[-1] = f"… {tallest}"
    axes.set_yticks(range(rows), labels)
    axes.set_xticks([bank + 0.5 for bank in range(BANKS)], [str(bank) for bank in range(BANKS)])
    axes.set_xlabel("bank of shared memory;  number: the lane that asks")
    _bare(axes, -0.55, rows - 0.45)
    return figure


def _busiest_part(request: Request) -> tuple[dict[int, dict[int, list[int]]], list[int]]:
    """Bank → word → lanes, and all lanes, of those that are served together; of several such parts the slowest."""
    words = max(1, request.item_bytes // BANK_BYTES)
    parts: dict[int, dict[int, dict[int, list[int]]]] = {}
    for lane, address in zip(request.lanes, request.addresses, strict=True):
        banks = parts.setdefault(lane * words // WARP_SIZE, {})
        for word in range(address // BANK_BYTES, address // BANK_BYTES + words):
            banks.setdefault(word % BANKS, {}).setdefault(word, []).append(lane)
    slowest = max(parts, key=lambda part: max(map(len, parts[part].values())))
    return parts[slowest], [lane for lane in request.lanes if lane * words // WARP_SIZE == slowest]


# -------------------------------------------------------------------------------------------------------------- both


def _write(axes: Axes, x: float, y: float, lanes: Sequence[int], color: str, text: str = "") -> None:
    """The lanes that ask for a cell, as it has room for them."""
    text = text or _span(lanes)
    size = 8.0 if len(text) < 4 else 6.5
    text = text.replace("–", "–\n")
    axes.text(x, y + 0.02, text, ha="center", va="center", fontsize=size, color=color, linespacing=0.9)


def _span(lanes: Sequence[int]) -> str:
    if len(lanes) == 1:
        return str(lanes[0])
    together = lanes[-1] - lanes[0] == len(lanes) - 1
    return f"{lanes[0]}–{lanes[-1]}" if together else f"{lanes[0]}, …"


def _target(count: LineCount) -> str:
    preposition = {"load": "of", "store": "to"}.get(count.kind, "in")
    return f"{count.kind} {preposition} {count.expression or count.array}"


def _several(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _note(trace: Trace, count: LineCount) -> str:
    request = count.worst
    who = f"warp {request.warp} of block {request.block}, {_several(len(request.lanes), 'lane')}"
    return f"{trace.kernel}, line {count.line}: {who}, {request.item_bytes} bytes each"


def _bare(axes: Axes, top: float, bottom: float) -> None:
    axes.set(xlim=(0, BANKS), ylim=(bottom, top))
    axes.grid(visible=False)
    axes.tick_params(length=0, labelsize=9)
    axes.xaxis.label.set_fontsize(9.5)
    for side in axes.spines.values():
        side.set_visible(False)
