"""`gpulab.plot` and `gpulab.figures.shapes`: what is drawn, and the words for those who do not see it."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gpulab import table
from gpulab.figures import plot, shapes
from gpulab.figures.plot import Span
from gpulab.figures.styling import ORANGE, png
from gpulab.measuring.machine import Ceilings
from gpulab.measuring.timing import Ratio, Timing

CEILINGS = Ceilings("A CPU, 2 cores", "cpu", "2026-01-01", {"torch": "2.14"}, 20.0, {"float32": 100.0})


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Figure, str]]:
    """What reached the notebook: figure and description; every figure can also be rendered."""
    found: list[tuple[Figure, str]] = []

    def keep(figure: Figure, description: str) -> None:
        png(figure)
        found.append((figure, description))

    monkeypatch.setattr(plot, "show", keep)
    monkeypatch.setattr(shapes, "show", keep)
    return found


def only(shown: list[tuple[Figure, str]]) -> tuple[Axes, str]:
    ((figure, description),) = shown
    return figure.axes[0], description


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def timing(median_ms: float, spread_ms: float = 0.1) -> Timing:
    return Timing(median_ms, spread_ms, 30, "NVIDIA H200")


def test_bars_carry_value_spread_device_and_description(shown: list[tuple[Figure, str]]) -> None:
    result: Any = plot.bars({1: timing(2.0), 32: timing(1.0)}, title="Neighbors", x="lanes", y="time, ms", highlight=32)
    assert result is None
    axes, description = only(shown)
    assert {"2.00", "1.00", "Neighbors", "Measured on NVIDIA H200, median of 30 runs"} <= set(texts(axes))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("lanes", "time, ms")
    assert [patch.get_height() for patch in axes.patches] == [2.0, 1.0]
    assert axes.patches[1].get_facecolor() != axes.patches[0].get_facecolor()
    assert len(axes.collections) + len(axes.containers) >= 2  # bars and their spreads
    assert description == "Neighbors. Bars of time, ms: 1 2, 32 1."


def test_many_long_labels_lie_down_in_order_from_the_top(shown: list[tuple[Figure, str]]) -> None:
    plot.bars({f"a rather long label {i}": i for i in range(1, 9)}, title="Long", y="GB/s")
    axes, _ = only(shown)
    assert axes.get_xlabel() == "GB/s"
    assert [patch.get_width() for patch in axes.patches] == list(range(1, 9))
    assert axes.get_ylim()[0] > axes.get_ylim()[1]


def test_groups_have_a_legend_and_may_miss_a_value(shown: list[tuple[Figure, str]]) -> None:
    plot.bars({"CPU": {"copy": 1, "add": 2}, "GPU": {"add": 3}}, title="Groups", y="s", log=True)
    axes, description = only(shown)
    legend = axes.get_figure(root=True).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["CPU", "GPU"]
    assert len(axes.patches) == 3
    assert description == "Groups. Bars of s: CPU (copy 1, add 2), GPU (add 3)."


def test_lines_are_sorted_and_named_at_their_end(shown: list[tuple[Figure, str]]) -> None:
    plot.lines(
        {"CPU": {4: timing(4.0), 1: timing(1.0)}, "GPU": {1: 2.0, 4: 2.5}},
        title="Crossing",
        x="n",
        y="time, ms",
        log_x=True,
        log_y=True,
        marks={"crossover": 2},
        limits={"peak": 3},
    )
    axes, _ = only(shown)
    assert list(axes.lines[0].get_xdata()) == [1, 4]
    assert list(axes.lines[0].get_ydata()) == [1.0, 4.0]
    assert {"CPU", "GPU", "crossover", "peak"} <= set(texts(axes))


def test_ratios_are_drawn_too(shown: list[tuple[Figure, str]]) -> None:
    plot.bars({"naive": Ratio(1.9, 0.1, 10, "NVIDIA H200")}, title="Ratio", y="times the reference")
    axes, _ = only(shown)
    assert axes.patches[0].get_height() == 1.9


def test_long_series_are_described_in_part(shown: list[tuple[Figure, str]]) -> None:
    plot.lines({"a": {float(i): float(i) for i in range(100)}}, title="Long", x="n", y="s")
    _, description = only(shown)
    assert "…" in description
    assert len(description) < 300


class TestRoofline:
    def test_roof_bends_at_the_ridge(self, shown: list[tuple[Figure, str]]) -> None:
        plot.roofline({"A": (100.0, 1000.0)}, title="Roof")
        axes, description = only(shown)
        xs, ys = axes.lines[0].get_xdata(), axes.lines[0].get_ydata()
        assert xs[1] == 100.0  # 100 TFLOPS / 1 TB/s
        assert ys[1] == ys[2] == 100.0
        assert ys[0] == pytest.approx(xs[0] * 1000.0 / 1e3)
        assert description == "Roof. Roofline of A: 100 TFLOPS, 1,000 GB/s, ridge at 100 FLOP/byte."

    def test_takes_rows_and_ceilings(self, shown: list[tuple[Figure, str]]) -> None:
        row = next(row for row in table("gpus") if row["gpu"] == "H200")
        plot.roofline({"H200": row, "mine": CEILINGS}, title="Two")
        _, description = only(shown)
        assert "H200: 67 TFLOPS, 4,800 GB/s, ridge at 14 FLOP/byte" in description
        assert "mine: 0.1 TFLOPS, 20 GB/s, ridge at 5 FLOP/byte" in description

    def test_slow_machines_are_drawn_in_gflops(self, shown: list[tuple[Figure, str]]) -> None:
        plot.roofline({"mine": CEILINGS}, {"add": 0.1, "product": (50, 0.08)}, title="Mine")
        axes, _ = only(shown)
        assert axes.get_ylabel() == "attainable, GFLOPS"
        assert axes.lines[0].get_ydata()[1] == 100.0
        assert "product: 80%" in texts(axes)
        assert "add" in texts(axes)


class TestTimeline:
    spans = (
        Span("CPU", 0, 0.2, "launch"),
        Span("copy engine", 0.2, 4, "copy in"),
        Span("SMs", 4, 6, "compute"),
        Span("copy engine", 6, 8, "copy out"),
    )

    def test_one_row_a_lane_one_color_a_kind(self, shown: list[tuple[Figure, str]]) -> None:
        plot.timeline(self.spans, title="Lifetime")
        axes, description = only(shown)
        assert [tick.get_text() for tick in axes.get_yticklabels()] == ["CPU", "copy engine", "SMs"]
        copies = [axes.patches[1].get_facecolor(), axes.patches[3].get_facecolor()]
        assert copies[0] == copies[1] != axes.patches[2].get_facecolor()
        assert "SMs: compute 4 to 6" in description

    def test_a_label_that_does_not_fit_stands_beside_its_block(self, shown: list[tuple[Figure, str]]) -> None:
        plot.timeline(self.spans, title="Lifetime")
        axes, _ = only(shown)
        (label,) = (text for text in axes.texts if text.get_text() == "launch")
        assert label.xy[0] > 0.2

    def test_without_work_it_is_empty(self, shown: list[tuple[Figure, str]]) -> None:
        plot.timeline([], title="Nothing")
        axes, _ = only(shown)
        assert not axes.patches


def test_highlight_is_orange(shown: list[tuple[Figure, str]]) -> None:
    from matplotlib.colors import to_hex

    plot.bars({"a": 1, "b": 2, "c": 3}, title="t", y="s", highlight=["a", "c"])
    axes, _ = only(shown)
    assert [to_hex(patch.get_facecolor()) == ORANGE for patch in axes.patches] == [True, False, True]
