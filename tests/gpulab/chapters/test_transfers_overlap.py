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
from gpulab import work
from gpulab.chapters.transfers import overlap, workloads
from gpulab.chapters.transfers import overlap_pictures as charts
from gpulab.measuring import speedup
from gpulab.measuring.speedup import Comparison, Noisy, Speed
from grader.exercises.transfers import comparisons
from grader.exercises.transfers.comparisons import AT_ONCE, LATE, OVERLAP, PINNED, Stages, serial

CHAPTER = Path(__file__).parents[3] / "solutions" / "06_transfers" / "06_transfers.ipynb"
SMALL = {"count": 3, "elements": 100, "work_rounds": 2}


def test_copies_are_hidden_behind_work_alone() -> None:
    """A copy next to another copy is not."""

    def at(kind: str, begins: float, ends: float) -> dict[str, Any]:
        return {"kind": kind, "start_ms": begins, "stop_ms": ends}

    some = [at("in", 0, 4), at("work", 1, 2), at("out", 2, 4), at("work", 3, 9)]
    assert overlap.share_hidden(some) == pytest.approx(3 / 6)
    assert overlap.share_hidden([at("in", 0, 4), at("out", 0, 4), at("work", 4, 9)]) == 0
    assert overlap.share_hidden([at("work", 0, 4)]) == 0


def two_lanes(batches: list[torch.Tensor], rounds: int) -> torch.Tensor:
    lanes = [torch.cuda.Stream() for _ in range(2)]
    results = torch.empty(len(batches), *batches[0].shape)
    for number, batch in enumerate(batches):
        with torch.cuda.stream(lanes[number % 2]):
            x = batch.to(gpulab.device(), non_blocking=True)
            results[number].copy_(work(x, rounds), non_blocking=True)
    torch.cuda.synchronize()
    return results


def unwaited(batches: list[torch.Tensor], rounds: int) -> torch.Tensor:
    results = torch.empty(len(batches), *batches[0].shape)
    with torch.cuda.stream(torch.cuda.Stream()):
        for number, batch in enumerate(batches):
            results[number].copy_(work(batch.to(gpulab.device(), non_blocking=True), rounds), non_blocking=True)
    return results


def racing(batches: list[torch.Tensor], rounds: int) -> torch.Tensor:
    results, tray = torch.empty(len(batches), *batches[0].shape), torch.empty_like(batches[0])
    for number, batch in enumerate(batches):
        with torch.cuda.stream(torch.cuda.Stream()):
            tray.copy_(batch, non_blocking=True)
            results[number].copy_(work(tray, rounds), non_blocking=True)
    torch.cuda.synchronize()
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
    batches, rounds = [torch.rand(1 << 14) for _ in range(6)], 20
    alone, yours = (overlap.recorded(one, batches, rounds) for one in (serial, two_lanes))
    assert "SIMULATED" in alone.note
    assert len(alone.spans) == len(yours.spans) == 3 * len(batches)
    assert alone.total_ms == pytest.approx(sum(span.stop - span.start for span in alone.spans))
    into, kernel, out = (alone.stage_ms(stage) for stage in ("copy in", "compute", "copy out"))
    assert yours.total_ms == pytest.approx(into + 6 * kernel + out)
    assert [span.label for span in yours.spans[:2]] == ["in 0", "in 1"]


def test_events_around_a_function_tell_its_simulated_time() -> None:
    """Also for what waits in streams of its own, as a timer on the page would see it."""
    batches, rounds = [torch.rand(1 << 14) for _ in range(6)], 20
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    with torch.cuda.stream(torch.cuda.Stream()):
        start.record()
        two_lanes(batches, rounds)
        end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) == pytest.approx(overlap.recorded(two_lanes, batches, rounds).total_ms)


def test_a_program_that_races_or_does_not_wait_shows_it() -> None:
    batches = [torch.rand(1 << 10) for _ in range(4)]
    assert bool(unwaited(batches, 2).isnan().all())
    torch.cuda.synchronize()
    with pytest.raises(RuntimeError, match="Race"):
        racing(batches, 2)


def test_a_function_that_puts_nothing_into_a_stream_has_no_timeline() -> None:
    with pytest.raises(ValueError, match="Nothing was put"):
        overlap.recorded(lambda batches, rounds: None, [torch.ones(3)], 1)


def test_small_kernels_of_one_kind_are_drawn_as_one() -> None:
    pieces = [("work", 0.0, 1.0), ("in", 0.5, 1.5), ("work", 1.01, 2.0), ("work", 3.0, 4.0)]
    assert overlap._joined(pieces) == [("work", 0.0, 2.0), ("in", 0.5, 1.5), ("work", 3.0, 4.0)]


def test_figures_say_what_was_found(shown: list[str]) -> None:
    batches = [torch.rand(1 << 14) for _ in range(3)]
    charts.draw_overlap(serial, two_lanes, batches, 20, lambda batches, *stages: 4.0)
    assert "3 batches:" in shown[0]
    with pytest.raises(ValueError, match="saw nothing"):
        charts.draw_profile([])


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
        assert 4 * size["elements"] >= 1 << 28  # the transfer has to take longer than a look at the result
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
        assert comparison is OVERLAP and size["work_rounds"] == 64
        return Speed(speed, 0.001, 11, 60.0, "a GPU")

    monkeypatch.setattr(speedup, "against", against)
    if points is None:
        with pytest.raises(
            AssertionError, match=r"^20 batches.* 1 times as fast as the serial loop, expected more than 1\.05\."
        ):
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
