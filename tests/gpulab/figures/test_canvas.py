"""`gpulab.figures.styling`: style, one image in the notebook, labels that do not overlap."""

from __future__ import annotations

import base64
import itertools

import matplotlib as mpl
import nbformat
import pytest
from matplotlib.figure import Figure
from nbclient import NotebookClient

from gpulab.figures.styling import _apart, canvas, ink_on, label_ends, number, png, show, style, tidy, tidy_log


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (2.0, "2"),
        (0.84, "0.84"),
        (1.2345, "1.23"),
        (4800, "4,800"),
        (99.96, "100"),
        (-12.5, "-12.5"),
        (1e6, "10⁶"),
        (1.5e9, "1.5×10⁹"),
        (2e-4, "2×10⁻⁴"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text


def test_measurements_keep_their_zeros() -> None:
    assert number(2.0, strip=False) == "2.00"


def test_style_leaves_matplotlib_as_it_was() -> None:
    before = dict(mpl.rcParams)
    with style():
        canvas("A title")
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("places", [[0.5, 0.5, 0.5], [0.0, 0.01, 0.02, 0.9], [1.0, 0.99, 0.98], [0.3], [], [0.2, 0.8]])
def test_labels_are_moved_apart_and_stay_in_order(places: list[float]) -> None:
    found = _apart(places, 0.1)
    ordered = [found[index] for index in sorted(range(len(places)), key=lambda index: places[index])]
    assert all(upper - lower > 0.099 for lower, upper in itertools.pairwise(ordered))
    assert all(0 <= place <= 1 for place in found)


def test_places_that_are_far_apart_stay() -> None:
    assert _apart([0.2, 0.8], 0.1) == [0.2, 0.8]


def test_labels_of_series_that_end_together_do_not_overlap() -> None:
    with style():
        figure, axes = canvas("Together")
        axes.plot([0, 1], [0, 1])
        label_ends(axes, [("first", 1, 1.0, "black"), ("second", 1, 0.999, "black"), ("third", 1, 0.5, "black")])
        png(figure)
    boxes = [text.get_window_extent() for text in axes.texts if text.get_text() in ("first", "second", "third")]
    assert len(boxes) == 3
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))


def test_the_whole_title_is_in_the_image() -> None:
    with style():
        figure, axes = canvas("A long title that goes on and on and on, until it has to be wrapped " * 2, "A note")
        png(figure)
    width, height = figure.bbox.width, figure.bbox.height
    for text in axes.texts:
        box = text.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= width
        assert box.y1 <= height


def test_same_figure_same_bytes() -> None:
    """Built notebooks must not differ from one build to the next."""

    def draw() -> bytes:
        with style():
            figure, axes = canvas("A title", "A note")
            axes.bar([1, 2], [3, 4])
        return png(figure)

    assert draw() == draw()
    assert b"Software" not in draw()


def test_ticks_of_thousands_are_grouped_and_logarithmic_ones_plain() -> None:
    with style():
        figure, axes = canvas("Ticks")
        axes.set(xlim=(0, 4000), ylim=(0.001, 1000), yscale="log")
        tidy(axes.xaxis)
        tidy_log(axes.yaxis)
        png(figure)
    assert "4,000" in [tick.get_text() for tick in axes.get_xticklabels()]
    assert {"0.01", "100"} <= {tick.get_text() for tick in axes.get_yticklabels()}


def test_text_on_a_block_can_be_read() -> None:
    assert (ink_on("black"), ink_on("white"), ink_on("#1f77b4")) == ("white", "#222222", "white")


def test_nothing_is_shown_outside_a_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    show(Figure(), "a figure")
    assert capsys.readouterr().out == ""


def test_exactly_one_described_image_appears_in_a_notebook() -> None:
    """As a cell's last line, in its middle, and twice in a cell; with and without pyplot in the session."""
    cells = [
        "import matplotlib.pyplot\nfrom gpulab import plot",
        'plot.bars({"a": 1, "b": 2}, title="A finding", y="time, ms")',
        'plot.bars({"a": 1}, title="One", y="s")\nplot.lines({"a": {1: 2, 2: 3}}, title="Two", x="n", y="s")\n"end"',
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    images = [[output for output in cell.outputs if "image/png" in output.get("data", {})] for cell in notebook.cells]
    assert [len(found) for found in images] == [0, 1, 2]
    assert notebook.cells[1].outputs == images[1]
    (only,) = images[1]
    assert only.metadata["image/png"]["alt"] == "A finding. Bars of time, ms: a 1, b 2."
    assert only.data["text/plain"] == "[Figure: A finding. Bars of time, ms: a 1, b 2.]"
    assert base64.b64decode(only.data["image/png"]).startswith(b"\x89PNG")
