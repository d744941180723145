"""The drawings of a request: what they say, and that they show what was asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import trace_kernels as kernels
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from gpulab import trace
from gpulab.figures.styling import BLUE, ORANGE, style
from gpulab.trace.pictures import chosen, description, request_figure

pytestmark = pytest.mark.usefixtures("only_the_tracer")


def figure_of(result: trace.Trace, **wanted: Any) -> Figure:
    with style():
        return request_figure(result, chosen(result, **wanted))


def texts(figure: Figure) -> list[str]:
    (axes,) = figure.axes
    return [text.get_text() for text in axes.texts]


def cells(figure: Figure, color: str) -> list[Rectangle]:
    (axes,) = figure.axes
    rectangles = [patch for patch in axes.patches if isinstance(patch, Rectangle) and patch.get_fill()]
    return [one for one in rectangles if to_hex(one.get_facecolor()) == color]


def hatched(figure: Figure) -> int:
    (axes,) = figure.axes
    return sum(bool(patch.get_hatch()) for patch in axes.patches)


def floats(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def test_coalesced_request_fills_one_line() -> None:
    result = trace.run(kernels.copy, 1, 32, floats(32), floats(32))
    figure = figure_of(result, array="x")
    assert texts(figure)[0] == "4 sectors for one load of x[i]: all of the bytes moved are used"
    assert texts(figure)[1] == f"copy, line {result.lines[0].line}: warp 0 of block (0, 0, 0), 32 lanes, 4 bytes each"
    assert texts(figure)[2:] == [str(lane) for lane in range(32)]
    assert len(cells(figure, BLUE)) == 32
    assert hatched(figure) == 4


def test_misaligned_request_takes_a_fifth_sector() -> None:
    figure = figure_of(trace.run(kernels.copy, 1, 32, floats(33)[1:], floats(32)), array="x")
    assert texts(figure)[0].startswith("5 sectors for one load of x[i]: 80%")
    assert hatched(figure) == 5
    left = [cell.get_x() for cell in cells(figure, BLUE)]
    assert left == [*range(1, 32), 0]


def test_many_lines_are_cut_short() -> None:
    result = trace.run(kernels.transpose_naive, 1, (32, 32), floats(32, 32), floats(32, 32))
    figure = figure_of(result)
    assert texts(figure)[0] == "32 sectors for one store to b[x, y]: 12.5% of the bytes moved are used"
    assert "… and 25 more lines" in texts(figure)
    assert len(cells(figure, BLUE)) == 7


def test_a_long_title_stays_within_the_figure() -> None:
    """It begins to the right of the labels, so it has less room than the figure is wide."""
    result = trace.run(kernels.scale_rows_walking, 1, 32, floats(32, 64), floats(32), floats(32, 64))
    figure = figure_of(result, array="matrix", kind="load")
    with style():
        figure.draw_without_rendering()
    (axes,) = figure.axes
    title = axes.texts[0]
    assert title.get_text().startswith("32 sectors for one load of matrix[row, column]")
    assert title.get_window_extent().x1 < figure.bbox.x1


def test_lanes_that_share_an_element_share_a_cell() -> None:
    figure = figure_of(trace.run(kernels.broadcast, 1, 32, floats(1), floats(32)), array="x")
    assert "0–\n31" in texts(figure)


def test_banks_without_conflict_are_one_row() -> None:
    result = trace.run(kernels.transpose_padded, 1, (32, 32), floats(32, 32), floats(32, 32))
    figure = figure_of(result, array="tile", kind="load")
    assert texts(figure)[0] == "One turn, no conflict, for one load of tile[tx, ty]"
    assert (len(cells(figure, BLUE)), len(cells(figure, ORANGE))) == (32, 0)


def test_banks_with_conflicts_stand_below_each_other() -> None:
    result = trace.run(kernels.shared_stride, 1, 32, floats(32), 4)
    figure = figure_of(result, array="words", kind="load")
    assert texts(figure)[0].startswith("4 turns instead of one")
    assert (len(cells(figure, BLUE)), len(cells(figure, ORANGE))) == (8, 24)


def test_worst_case_is_cut_short() -> None:
    result = trace.run(kernels.transpose_unpadded, 1, (32, 32), floats(32, 32), floats(32, 32))
    figure = figure_of(result, array="tile")
    assert texts(figure)[0].startswith("32 turns instead of one, for one load of tile[tx, ty]")
    assert "+25" in texts(figure)


def test_doubles_are_drawn_by_halves() -> None:
    result = trace.run(kernels.shared_doubles, 1, 64, np.ones(64), np.ones(64), 2)
    figure = figure_of(result, array="words", kind="load")
    assert texts(figure)[0].startswith("2 turns instead of one")
    assert texts(figure)[1].replace("\n", " ").endswith("drawn are lanes 0–15, which are served together")
    assert (len(cells(figure, BLUE)), len(cells(figure, ORANGE))) == (16, 16)


def test_words_for_those_who_do_not_see_it() -> None:
    result = trace.run(kernels.transpose_unpadded, 1, (32, 32), floats(32, 32), floats(32, 32))
    words = description(result, chosen(result, array="tile"))
    assert words.startswith("Kernel transpose_unpadded, line")
    assert words.endswith("32 lanes of warp 0 in block (0, 0, 0) need 32 turns: up to 32 words in one of 32 banks.")
    expected = "touch 4 sectors of 32 bytes in 1 line of 128 bytes."
    assert description(result, chosen(result, array="a")).endswith(expected)


def test_what_was_not_requested_cannot_be_drawn() -> None:
    result = trace.run(kernels.copy, 1, 32, floats(32), floats(32))
    trace.picture(result)
    with pytest.raises(trace.LaunchError, match=r"'copy' made no such request\. It made these: line \d+ loads x; line"):
        trace.picture(result, line=1)
