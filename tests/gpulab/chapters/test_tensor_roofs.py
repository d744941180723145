"""Tensor cores: one layer under the roofs of two machines, and how the chapter's times are taken."""

import time

import pytest
import torch

from gpulab.chapters.tensor_cores import clock, roofs, roofs_pictures
from gpulab.figures import style
from gpulab.measuring import machine
from gpulab.measuring.machine import Ceilings
from gpulab.measuring.timing import Timing


def bound(m, n, k, gpu, dtype):
    size = {"float32": 4, "bfloat16": 2, "float16": 2}[dtype]
    return 2 * m * n * k / (size * (m * k + k * n + m * n)) >= 1000 * gpu[f"{dtype}_tflops"] / gpu["bandwidth_gbs"]


@pytest.fixture
def two_threads():
    """Two threads for torch, as on a student's machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_functions_take_turns_on_one_core_and_each_is_timed_by_itself():
    order = []

    def work(name, seconds):
        order.append(name)
        assert torch.get_num_threads() == 1
        time.sleep(seconds)

    found = clock.in_turns({"short": lambda: work("short", 0.002), "long": lambda: work("long", 0.02)}, 2)
    assert list(found) == ["short", "long"] and found["long"].runs == 2
    assert found["long"].median_ms > 3 * found["short"].median_ms
    assert order.index("long") < len(order) - 1 - order[::-1].index("short")
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("other, expected", [(2.15, False), (1.85, False), (2.3, True), (1.5, True)])
def test_times_are_apart_beyond_both_spreads(other, expected):
    assert clock.apart(Timing(2.0, 0.1, 5, "a CPU"), Timing(other, 0.1, 5, "a CPU")) is expected


def test_intensity_counts_each_matrix_once():
    assert roofs.intensity(64, 64, "bfloat16") == pytest.approx(64 / 3)
    assert roofs.intensity(1, 8192, "bfloat16") == pytest.approx(1.0, rel=1e-3)


def test_promised_dots_lie_on_the_datasheets_roof_and_turn_at_its_ridge():
    found = roofs.promised(bound, batches=(16, 216, 217))
    assert found.name == "datasheet of the H200" or machine.recorded_gpu() is not None
    assert [dot.tflops for dot in found.dots] == [
        min(found.peaks["bfloat16"], dot.intensity * found.bandwidth_gbs / 1e3) for dot in found.dots
    ]


def test_a_recording_takes_the_datasheets_place(monkeypatch):
    rates = {"float32": 50_000.0, "bfloat16": 700_000.0}
    recording = Ceilings("NVIDIA H200", "cuda", "2030-01-01", {}, 4000.0, rates)
    monkeypatch.setattr(machine, "recorded_gpu", lambda: recording)
    found = roofs.promised(bound)
    assert found.name == "recorded on NVIDIA H200, 2030-01-01"
    assert found.peaks == {"float32": 50.0, "bfloat16": 700.0} and found.dots[-1].tflops == 700.0
    assert [dot.compute_bound for dot in found.dots] == [False, False, False, True, True]


def test_a_recording_of_a_gpu_without_bfloat16_is_shown_in_float16(monkeypatch):
    recording = Ceilings("Tesla T4", "cuda", "2030-01-01", {}, 250.0, {"float32": 6_000.0, "float16": 40_000.0})
    monkeypatch.setattr(machine, "recorded_gpu", lambda: recording)
    found = roofs.promised(bound)
    assert found.dots[-1].tflops == 40.0


def test_nothing_measured_lies_above_the_roofs(monkeypatch):
    for name in ("WIDTHS", "READ_BYTES"):
        monkeypatch.setattr(roofs, name, {"cpu": 256, "cuda": 256})
    monkeypatch.setattr(roofs, "ROUNDS", 1)
    found = roofs.measured(bound)
    assert [dot.batch for dot in found.dots] == list(roofs.BATCHES["cuda" if torch.cuda.is_available() else "cpu"])
    assert found.dots[0].tflops <= found.dots[0].intensity * found.bandwidth_gbs / 1e3 * (1 + 1e-9)
    assert max(dot.tflops for dot in found.dots) <= found.peaks[found.dtype]
    assert found.name.startswith("measured on")


def test_the_picture_says_what_a_batch_of_one_gets(monkeypatch):
    shown = []
    monkeypatch.setattr(roofs_pictures, "show", lambda figure, words: shown.append((style.png(figure), words)))
    dots = tuple(roofs.Dot(batch, batch / 2, rate, batch > 8) for batch, rate in ((1, 0.002), (64, 0.03)))
    here = roofs.Roofs("measured on a CPU, one core", 10.0, {"float32": 0.04}, "float32", 4096, dots)
    roofs_pictures.rooflines(roofs.promised(bound), here)
    ((image, words),) = shown
    assert image.startswith(b"\x89PNG")
    assert "5 % of this machine's peak at batch 1, 75 % at batch 64" in words
    assert "measured on a CPU, one core: ridge at 4 FLOP/byte" in words
