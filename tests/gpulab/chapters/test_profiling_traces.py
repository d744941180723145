"""Traces of the profiling chapter: the simulation keeps its rules, a real trace can be read, the hunt tells a
consistent story."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from torch.profiler import ProfilerActivity, profile

from gpulab.chapters.profiling import hunt, pictures, timelines, traces
from gpulab.chapters.profiling.traces import Copy, Kernel, Marked, Prepare, Wait, simulate
from gpulab.chapters.profiling.workload import Workload
from gpulab.measuring.timing import Timing


def gaps(events: list[traces.Event]) -> list[float]:
    """Between one kernel and the next of the same stream."""
    kernels = spans(events, "kernel")
    return [after[0] - before[1] for before, after in itertools.pairwise(kernels) if after[0] > before[1] + 1e-9]


def spans(events: list[traces.Event], cat: str) -> list[tuple[float, float]]:
    return sorted((one["ts"], one["ts"] + one["dur"]) for one in events if one.get("cat") == cat)


def test_a_stream_runs_in_order_and_never_before_its_orders() -> None:
    events = simulate([Prepare(50.0), Copy(10.0, pinned=True), *[Kernel("k", 3.0)] * 5, Wait(), Kernel("k", 30.0)])
    kernels, orders = spans(events, "kernel"), spans(events, "cuda_runtime")
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(kernels))
    assert kernels[0][0] > 50.0 + 10.0
    assert kernels[-1][0] > orders[-1][0] - 30.0
    assert traces.window(events)[1] >= kernels[-1][1]


def test_small_kernels_leave_gaps_and_large_ones_do_not() -> None:
    """The CPU needs longer for an order than a small kernel takes."""
    small, large = (simulate([Kernel("k", us)] * 20) for us in (2.0, 100.0))
    assert len(gaps(small)) == 19
    assert gaps(large) == []


def test_a_pageable_copy_holds_up_the_cpu() -> None:
    pinned, pageable = (simulate([Copy(500.0, pinned), Kernel("k", 5.0)]) for pinned in (True, False))
    first, later = (spans(events, "cpu_op")[0][0] for events in (pinned, pageable))
    assert first < 100.0 < later


def test_the_small_trace_has_two_kernels_at_once() -> None:
    """Else its sum of durations would be right by chance."""
    kernels = spans(traces.small_trace(), "kernel")
    assert any(before[1] > after[0] for before, after in itertools.pairwise(kernels))
    assert traces.window(traces.small_trace()) == (0.0, 150.0)


def test_a_mark_spans_what_was_done_in_it() -> None:
    events = simulate([Prepare(20.0), Marked("batch", (Prepare(50.0), Copy(500.0, pinned=False))), Kernel("k", 3.0)])
    ((start, stop),) = spans(events, "user_annotation")
    ((_, copied),) = spans(events, "gpu_memcpy")
    assert start == 20.0 and copied < stop < copied + 10.0


@pytest.mark.filterwarnings("ignore:.*Profiler clears events:UserWarning")  # torch 2.11 says so of every profile
def test_a_real_trace_can_be_read(capfd: pytest.CaptureFixture[str]) -> None:
    """And the recorder says nothing to stderr, which would stand under every cell."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        torch.ones(3).add(1)
    events = traces.trace_events(profiler)
    assert any(one["name"] == "aten::add" and one["cat"] == "cpu_op" and one["dur"] > 0 for one in events)
    assert "Kineto" not in capfd.readouterr().err


def test_every_fault_costs_time_and_mending_all_costs_none() -> None:
    if torch.cuda.is_available():
        pytest.skip("with a GPU these figures are measured, not simulated")
    steps = [hunt.milliseconds(step) for step in hunt.fixed().values()]
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > 10 * steps[-1]
    for fault in hunt.FAULTS:
        assert hunt.look([fault]).step_ms > steps[-1]


def test_on_a_gpu_each_step_is_timed_and_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The GPU's part, run on a CPU: no profiler, a synchronization a step, and the GPU's name."""
    waited: list[int] = []
    monkeypatch.setattr(hunt, "has_gpu", lambda: True)
    monkeypatch.setattr(hunt, "DEVICE", "cpu")
    for name, small in (("ROWS", 32), ("WIDTH", 16), ("LAYERS", 2)):
        monkeypatch.setattr(hunt, name, small)
    monkeypatch.setattr(hunt, "device_name", lambda *_: "NVIDIA Fake")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waited.append(1))
    found = hunt.took(hunt.FAULTS)
    assert isinstance(found, Timing)
    assert found.device == "NVIDIA Fake" and found.median_ms > 0
    assert len(waited) >= found.runs
    assert hunt.how_timed() == "Measured on NVIDIA Fake without the profiler, 9 steps each"
    assert list(hunt.fixed(["input", "float32"])) == ["all faults", "− input", "− float32"]


def test_the_pieces_of_a_step_fit_into_it() -> None:
    for count in range(len(hunt.FAULTS) + 1):
        found = hunt.look(hunt.FAULTS[count:]).summary
        assert 0 < found["input_ms"] + found["kernel_ms"] <= found["step_ms"]


def test_a_fault_that_there_is_not() -> None:
    with pytest.raises(ValueError, match=r"no fault 'slow'\. There are: input"):
        hunt.look(["slow"])


@pytest.mark.parametrize("faults", [(), *((fault,) for fault in hunt.FAULTS), hunt.FAULTS])
def test_the_real_step_learns_the_same_whatever_its_faults(faults: tuple[str, ...]) -> None:
    """A fault makes a step slow, not wrong."""
    clean, faulty = Workload((), "cpu", 32, 16, 2), Workload(faults, "cpu", 32, 16, 2)
    before = [parameter.detach().clone() for parameter in clean.model.parameters()]
    for work in (clean, faulty):
        work.step()
        work.step()
    pairs = zip(clean.model.parameters(), faulty.model.parameters(), before, strict=True)
    assert all(torch.allclose(one, other, atol=1e-7) for one, other, _ in pairs)
    assert any(not torch.equal(one, old) for one, old in zip(clean.model.parameters(), before, strict=True))


def test_figures_can_be_drawn(shown: list[str]) -> None:
    pictures.draw_utilization()
    ghost = {"DCGM_FI_DEV_GPU_UTIL": 0.0, "DCGM_FI_DEV_FB_USED": 9000.0}
    pictures.draw_page({0: ghost, 3: {"DCGM_FI_DEV_GPU_UTIL": 90.0}})
    timelines.draw_trace(traces.small_trace(), 0.38, "Made up")
    timelines.draw_trace(traces.small_trace(), 0.38, "Made up", part=(20.0, 60.0))
    timelines.draw_trace(simulate([Prepare(50.0)]), 1.0, "Made up")
    timelines.draw_top([("void at::native::gemm<float>(int)", 60.0)], traces.small_trace(), "Made up")
    timelines.draw_hunt({"all": Timing(4.0, 0.1, 5, "here"), "− one": Timing(2.0, 0.1, 5, "here")}, "Measured")
    assert "GPU 0 holds memory and does nothing" in shown[1]
    assert "38%" in shown[2] and "stream 20: 1 events" in shown[2]
    assert "shown: 20 to 60 µs" in shown[3]
    assert "1 faults fixed: 2 times as fast" in shown[-1] and "− one   2.0 ×" in shown[-1]


def test_the_picture_of_overlapping_kernels_is_orange_where_none_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drawing adds nothing up; its orange is what `gpu_idle_fraction` means all the same."""
    figures: list[Figure] = []
    monkeypatch.setattr(timelines, "show", lambda figure, words: figures.append(figure))
    timelines.draw_trace(traces.small_trace(), 0.38, "Made up")
    (figure,) = figures
    agg = FigureCanvasAgg(figure)
    agg.draw()
    image, axes = np.asarray(agg.buffer_rgba()), figure.axes[0]
    lane = len(axes.get_yticks()) - 1 - 0.3  # the lowest, above its labels
    places = axes.transData.transform([(at + 0.5, lane) for at in range(150)])
    pixels = [image[len(image) - 1 - round(y), round(x), :3].astype(int) for x, y in places]
    orange = [bool(abs(pixel - (255, 127, 14)).sum() < 60) for pixel in pixels]
    assert sum(orange) == pytest.approx(57, abs=1)


def test_the_part_with_the_most_gaps_is_found() -> None:
    """Kernels that have queued up behind a long one follow each other without a gap: that is not the part."""
    queued = [Kernel("k", 300.0), *[Kernel("k", 3.0)] * 40]
    events = simulate([*queued, Wait(), Prepare(100.0), *[Kernel("k", 3.0)] * 10, Prepare(500.0), Kernel("k", 3.0)])
    waited = spans(events, "cuda_runtime")[-13][1]
    start, stop = timelines.comb(events, 50.0)
    assert stop - start == pytest.approx(50.0)
    assert waited < start < waited + 200.0
    assert timelines.comb(simulate([Kernel("k", 3.0)]), 50.0)[0] == pytest.approx(10.0)
