"""The transfers chapter's second half without a GPU: timelines from the simulation, speedups, figures, and the rows for
a GPU."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch

import gpulab
from gpulab import streams, work
from gpulab.chapters.transfers import layout, models, overlap, workloads
from gpulab.chapters.transfers import overlap_pictures as charts
from gpulab.chapters.transfers.overlap import Course
from gpulab.figures import plot, style
from gpulab.figures.shapes import Span
from gpulab.measuring import speedup
from gpulab.measuring.speedup import Comparison, Noisy, Speed
from gpulab.measuring.timing import Timing
from grader.exercises.transfers import comparisons
from grader.exercises.transfers.comparisons import AT_ONCE, LATE, OVERLAP, PINNED, Stages, serial

CHAPTER = Path(__file__).parents[3] / "solutions" / "06_transfers" / "06_transfers.ipynb"
SMALL = {"count": 3, "elements": 100, "rounds": 2}


def two_lanes(batches: list[torch.Tensor], rounds: int) -> torch.Tensor:
    lanes = [streams.Stream() for _ in range(2)]
    results = torch.empty(len(batches), *batches[0].shape)
    for number, batch in enumerate(batches):
        with streams.stream(lanes[number % 2]):
            x = batch.to(gpulab.device(), non_blocking=True)
            results[number].copy_(work(x, rounds), non_blocking=True)
    streams.synchronize()
    return results


def unwaited(batches: list[torch.Tensor], rounds: int) -> torch.Tensor:
    results = torch.empty(len(batches), *batches[0].shape)
    with streams.stream(streams.Stream()):
        for number, batch in enumerate(batches):
            results[number].copy_(work(batch.to(gpulab.device(), non_blocking=True), rounds), non_blocking=True)
    return results


def racing(batches: list[torch.Tensor], rounds: int) -> torch.Tensor:
    results, tray = torch.empty(len(batches), *batches[0].shape), torch.empty_like(batches[0])
    for number, batch in enumerate(batches):
        with streams.stream(streams.Stream()):
            tray.copy_(batch, non_blocking=True)
            results[number].copy_(work(tray, rounds), non_blocking=True)
    streams.synchronize()
    return results


def test_right_every_time_is_one_and_never_is_none() -> None:
    """What is in the result when the function returns counts, not what is there later."""
    for comparison in (OVERLAP, AT_ONCE):
        assert speedup.same(two_lanes, comparison, times=3, **SMALL) == 1.0
    assert speedup.same(unwaited, AT_ONCE, times=3, **SMALL) == 0.0
    late: dict[str, Any] = {"times": 2, "tolerance": 1e-4, "elements": 50_000}
    assert speedup.same(lambda x: x.clone(), LATE, **late) == 1.0
    assert speedup.same(lambda x: x + 1, LATE, **late) == 0.0
    with pytest.raises(ValueError, match="times"):
        speedup.same(two_lanes, OVERLAP, times=0, **SMALL)


@pytest.mark.parametrize("comparison", [LATE, AT_ONCE], ids=["late", "at once"])
def test_a_result_is_looked_at_quicker_than_it_can_arrive(comparison: Comparison) -> None:
    """A few elements up to its end are taken at once, and what arrives later no longer counts."""
    host = torch.zeros(1 << 20)
    keep = speedup.find(comparison.workload).keep
    assert keep is not None
    kept = keep(host)
    host.fill_(1.0)
    assert 1000 < kept.numel() < 1100 and not kept.any()


def test_one_wrong_batch_is_seen() -> None:
    def one_stale(batches: list[torch.Tensor], rounds: int) -> torch.Tensor:
        results = serial(batches, rounds)
        results[2] = results[1]
        return results

    assert speedup.same(one_stale, OVERLAP, times=4, tolerance=1e-4, **SMALL) == 0.0


def test_what_is_not_pinned_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine that says it has a GPU; here nothing is ever pinned."""
    monkeypatch.setattr(workloads, "has_gpu", lambda: True)
    assert workloads._whether_pinned(torch.ones(3)).tolist() == [0.0]


def test_perfect_overlap_leaves_the_first_way_in_and_the_last_way_out() -> None:
    stage = Stages(in_ms=1.0, work_ms=2.5, out_ms=1.0, rounds=9)
    assert stage.ideal(1) == 1.0
    assert stage.ideal(20) == pytest.approx(20 * 4.5 / 52)


def test_two_lanes_hide_all_copies_but_two_and_the_serial_loop_none() -> None:
    batches, rounds = overlap.demonstration()
    alone, yours = (overlap.recorded(one, batches, rounds) for one in (serial, two_lanes))
    assert "SIMULATED" in alone.note
    assert len(alone.spans) == len(yours.spans) == 3 * len(batches)
    assert alone.total_ms == pytest.approx(sum(span.stop - span.start for span in alone.spans))
    assert charts.hidden(alone, yours) == pytest.approx(1.0)
    assert charts.hidden(alone, alone) < 0.7
    assert [span.label for span in yours.spans[:2]] == ["in 0", "in 1"]


@pytest.mark.parametrize(
    ("function", "said"), [(two_lanes, "right"), (racing, "error"), (unwaited, "wrong"), (print, "wrong")]
)
def test_what_comes_of_a_program_is_said(function: Any, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert overlap.outcome(function) == said
    assert capsys.readouterr().out.strip()


def test_a_function_that_puts_nothing_into_a_stream_has_no_timeline() -> None:
    with pytest.raises(ValueError, match="Nothing was put"):
        overlap.recorded(lambda batches, rounds: None, [torch.ones(3)], 1)


def test_small_kernels_of_one_kind_are_drawn_as_one() -> None:
    pieces = [("work", 0.0, 1.0), ("in", 0.5, 1.5), ("work", 1.01, 2.0), ("work", 3.0, 4.0)]
    assert overlap._joined(pieces) == [("work", 0.0, 2.0), ("in", 0.5, 1.5), ("work", 3.0, 4.0)]


def test_a_copy_behind_a_kernel_comes_when_the_kernel_is_over() -> None:
    found = models.early_reads(chunks=3, chunk_ms=2.0, kernel_ms=15.0)
    assert found.kernel_ms == 15.0 and "kernel" in found.note
    early = [part for at, part in zip(found.asked_ms, found.arrived, strict=True) if at < 10]
    assert not any(early) and found.arrived[-1] == 1.0


def test_casts_and_layouts_are_timed() -> None:
    found = layout.casts((2, 3, 32, 32))
    assert found.cast_ms.median_ms > 0 and found.carry_ms["float32"] == 4 * found.carry_ms["uint8"]
    assert set(layout.convolutions(1, 8, 8)) == {"channels first", "channels last"}


def test_figures_say_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def render(figure: Any, description: str) -> None:
        assert style.png(figure).startswith(b"\x89PNG")
        shown.append(description)

    for module in (plot, gpulab.figures.shapes):
        monkeypatch.setattr(module, "show", render)
    timing = Timing(6.0, 0.1, 9, "a CPU")
    charts.draw_casts(layout.Casts((2, 3), timing, {"uint8": 0.5, "float32": 2.0}, "at 63 GB/s"))
    charts.draw_casts(layout.Casts((2, 3), timing, {"uint8": 3.0, "float32": 12.0}, "at 1 GB/s"))
    charts.draw_layouts({"channels first": Timing(6.0, 0.1, 9, "c"), "channels last": Timing(4.0, 0.1, 9, "c")})
    charts.draw_layouts({"channels first": Timing(6.0, 0.5, 9, "c"), "channels last": Timing(5.5, 0.5, 9, "c")})
    course = Course(
        (Span("copy in", 0, 1, "in 0"), Span("compute", 1, 3, "work 0"), Span("copy out", 3, 4, "out 0")), ""
    )
    charts.draw_overlap(course, course, lambda batches, *stages: 4.0, 1)
    charts.draw_profile(course)
    words = ("casts 3 times as long", "floats 2 times as long as", "1.50 times as fast with the channels last")
    words += ("no difference", "4 ms one by one, 4 ms yours, 1.00 ×", "GPU itself reports: 4 ms")
    for text, expected in zip(shown, words, strict=True):
        assert expected in text


# ------------------------------------------------------------------------------------------------- rows for a GPU


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Runs an exercise's GPU row on the CPU; its last expression's value."""
    monkeypatch.setattr(gpulab, "needs_gpu", lambda points="": None)
    arange = torch.arange
    monkeypatch.setattr(torch, "arange", lambda *given, device=None, **named: arange(*given, **named))
    monkeypatch.setattr(comparisons, "stages", lambda elements: Stages(1.0, 2.5, 1.0, 64))
    notebook = nbformat.read(CHAPTER, as_version=4)  # type: ignore[no-untyped-call]

    def run(exercise: str, answer: Any) -> Any:
        name = f"{exercise}_gpu"
        (source,) = (c.source for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == name)
        body = source.rpartition("\n### END HIDDEN TESTS")[0]
        namespace: dict[str, Any] = {exercise: answer}
        exec(compile(body, exercise, "exec"), namespace)
        return namespace.get("points")

    return run


@pytest.mark.parametrize(("late", "pinned", "words"), [(0.3, 1.0, "3 of 10"), (1.0, 0.0, "not in pinned"), (1, 1, "")])
def test_the_row_of_to_host(
    row: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, late: float, pinned: float, words: str
) -> None:
    def same(yours: Any, comparison: Comparison, **size: Any) -> float:
        assert comparison in (LATE, PINNED)
        assert 4 * size["elements"] >= 1 << 28  # the cable has to take longer than a look at the result
        return late if comparison is LATE else pinned

    monkeypatch.setattr(speedup, "same", same)
    if not words:
        row("to_host", torch.clone)
        return
    with pytest.raises(AssertionError, match=words):
        row("to_host", torch.clone)


@pytest.mark.parametrize(("speed", "points"), [(1.0, None), (1.3, 2.0), (1.56, 4.0), (2.0, 4.0)])
def test_points_of_overlapped_follow_its_speed(
    row: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, speed: float, points: float | None
) -> None:
    """All of them at 90 % of 1.73, which is what these stages give at best."""

    def against(yours: Any, comparison: Comparison, **size: Any) -> Speed:
        assert comparison is OVERLAP and size["rounds"] == 64
        return Speed(speed, 0.001, 11, 60.0, "a GPU")

    monkeypatch.setattr(speedup, "against", against)
    if points is None:
        with pytest.raises(AssertionError, match="No overlap"):
            row("overlapped", two_lanes)
    else:
        assert row("overlapped", two_lanes) == pytest.approx(points, abs=0.15)


def test_a_noisy_machine_leaves_the_points_open(row: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speedup, "against", lambda *given, **named: Speed(1.4, 0.3, 11, 60.0, "a GPU"))
    with pytest.raises(Noisy):
        row("overlapped", two_lanes)


class _Event:
    """A CUDA event on a machine without one: the clock of the CPU."""

    def record(self) -> None:
        self.at_ms = 1e3 * time.perf_counter()

    def synchronize(self) -> None: ...

    def elapsed_time(self, other: _Event) -> float:
        return other.at_ms - self.at_ms


@pytest.fixture
def paper_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    for module in (comparisons, overlap):
        monkeypatch.setattr(module, "event", _Event)


@pytest.mark.usefixtures("paper_events")
def test_events_stand_around_each_operation() -> None:
    """Without a GPU no copy crosses anything, so that work alone is seen."""
    found = overlap._by_events(serial, [torch.ones(50)] * 3, 2)
    assert [(span.lane, span.label) for span in found.spans] == [("compute", f"work {at}") for at in range(3)]
    assert all(before.stop <= after.start for before, after in itertools.pairwise(found.spans))
    with pytest.raises(ValueError, match="Nothing went to the GPU"):
        overlap._by_events(lambda batches, rounds: None, [torch.ones(5)], 2)


@pytest.mark.usefixtures("paper_events")
def test_rounds_are_chosen_so_that_compute_is_longer_than_both_copies() -> None:
    stage = comparisons.stages(100_000)
    assert stage.rounds >= 1 and min(stage.in_ms, stage.out_ms, stage.work_ms) > 0
