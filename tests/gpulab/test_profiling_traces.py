"""Traces of chapter 07: the simulation keeps its rules, a real trace can be read, the hunt tells a consistent story."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from gpulab import canvas, plot
from gpulab.chapters import profiling_hunt as hunt
from gpulab.chapters import profiling_pictures as pictures
from gpulab.chapters import profiling_traces as traces
from gpulab.chapters.profiling_traces import Copy, Kernel, Prepare, Wait, simulate
from gpulab.chapters.profiling_workload import Workload
from gpulab.timing import Timing


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
    assert len(traces.kernel_spans(small)) == 20
    assert len(traces.kernel_spans(large)) == 1


def test_a_pageable_copy_holds_up_the_cpu() -> None:
    pinned, pageable = (simulate([Copy(500.0, pinned), Kernel("k", 5.0)]) for pinned in (True, False))
    first, later = (spans(events, "cpu_op")[0][0] for events in (pinned, pageable))
    assert first < 100.0 < later


def test_spans_join_what_overlaps() -> None:
    assert traces.kernel_spans(traces.small_trace()) == [(20.0, 75.0), (100.0, 108.0), (110.0, 140.0)]
    assert traces.window(traces.small_trace()) == (0.0, 150.0)


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
    steps = list(hunt.mended().values())
    assert steps == sorted(steps, reverse=True)
    assert steps[0] > 10 * steps[-1]
    for fault in hunt.FAULTS:
        assert hunt.look([fault]).step_ms > steps[-1]


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


def test_figures_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def keep(figure: object, words: str) -> None:
        assert canvas.png(figure).startswith(b"\x89PNG")  # type: ignore[arg-type]
        shown.append(words)

    for module in (pictures, plot):
        monkeypatch.setattr(module, "show", keep)
    pictures.draw_utilization()
    ghost = {"DCGM_FI_DEV_GPU_UTIL": 0.0, "DCGM_FI_DEV_FB_USED": 9000.0}
    pictures.draw_page({0: ghost, 3: {"DCGM_FI_DEV_GPU_UTIL": 90.0}})
    pictures.draw_trace(traces.small_trace(), 0.38, "Made up")
    pictures.draw_top([("void at::native::gemm<float>(int)", 60.0)], traces.small_trace(), "Made up")
    pictures.draw_hunt({"all": Timing(4.0, 0.1, 5, "here"), "− one": Timing(2.0, 0.1, 5, "here")}, "Measured")
    assert "GPU 0 holds memory and does nothing" in shown[1]
    assert "38%" in shown[2]
    assert "1 faults mended: 2 times as fast" in shown[-1]
