"""Readings for chapter 01 can be taken: every line of them runs on the CPU, and every kernel compiles."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import on_cpu
import pytest

from gpulab import cuda_cpp, table
from grader.exercises.architecture import offloading, rates, warps
from grader.exercises.architecture.confrontations import CONFRONTATIONS
from grader.exercises.confront import Unusable

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
CHECKS = {one.exercise: one.check for one in CONFRONTATIONS}
DRIVER = {
    "MULTIPROCESSOR_COUNT": 2, "WARP_SIZE": 32, "COMPUTE_CAPABILITY_MAJOR": 9, "COMPUTE_CAPABILITY_MINOR": 0,
    "GLOBAL_MEMORY_BUS_WIDTH": 5120, "MEMORY_CLOCK_RATE": 2_619_000, "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "MAX_BLOCKS_PER_MULTIPROCESSOR": 32, "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": 233472,
}  # fmt: skip


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    on_cpu.use(monkeypatch, DRIVER, (rates, warps, offloading))


TAKES: dict[str, Callable[[], Any]] = {
    "attainable_tflops": lambda: rates.roofline(quads=64, most_steps=64),
    "matmul_intensity": lambda: rates.products(side=64),
    "divergent_cycles": lambda: warps.divergence(rounds=1),
    "warps_to_hide": lambda: warps.flights(log2_lines=8, steps=8),
    "offload_pays": lambda: offloading.stations(nbytes=4096, work_ms=1),
    "crossover": lambda: offloading.crossing(sizes=(16, 8)),
}


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize("exercise", TAKES)
def test_readings_are_taken(exercise: str) -> None:
    """Every line of `take` runs, its kernels in the tracer; what it says has the form that the check expects."""
    taken = json.loads(json.dumps(TAKES[exercise]()))

    class Asked(Exception):
        pass

    def answer(*_: Any) -> None:
        raise Asked

    loose = {"divergent_cycles", "attainable_tflops"}  # the tracer's times make no roofline, and no costs
    with pytest.raises((Asked, Unusable) if exercise in loose else Asked):
        CHECKS[exercise](answer, taken)


@pytest.mark.usefixtures("no_gpu")
def test_peaks_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = rates.copy_gbs
    monkeypatch.setattr(rates, "copy_gbs", lambda: copied(4096))
    monkeypatch.setattr(rates, "multiply_adds", lambda: (1.5, 1980.0))
    taken = rates.peak()
    assert taken["row"]["memory_bus_bits"] * taken["row"]["memory_gbps_per_pin"] / 8 == pytest.approx(
        3352, 0.001
    )  # H100
    assert taken["row"]["fp32_lanes_per_sm"] == 128
    assert taken["gbs"] > 0


@pytest.mark.usefixtures("no_gpu")
def test_multiply_adds_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel does what its FLOPs are computed from: 64 multiply-adds a step and thread, in the compiled code."""
    monkeypatch.setattr(rates, "THREADS", 32)
    tflops, mhz = rates.multiply_adds(work_ms=1)
    assert tflops > 0
    assert mhz > 0
    assert cuda_cpp.ptx(rates.FMA_CU).count("fma.rn.f32") == rates.FLOPS_OF_A_STEP // 2


def test_lanes_are_those_of_the_datasheets() -> None:
    capability = {"P100": (6, 0), "V100": (7, 0), "T4": (7, 5), "A100 40GB": (8, 0), "A10": (8, 6), "RTX 4090": (8, 9)}
    capability |= {"L4": (8, 9), "H100": (9, 0), "H200": (9, 0), "B200": (10, 0), "RTX 5090": (12, 0)}
    lanes = {row["gpu"]: row["fp32_lanes_per_sm"] for row in table("gpus")}
    assert {gpu: rates.fp32_lanes(*one) for gpu, one in capability.items()} == {gpu: lanes[gpu] for gpu in capability}


SOURCES = {
    "multiply_add": rates.FMA_CU,
    "sweep": rates.SWEEP_CU,
    "diverge": warps.DIVERGE_CU,
    "flight": warps.FLIGHT_CU.replace("REQUESTS", "8"),
    "kernel_120_4": warps.kernels()["kernel_120_4"],
}


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_kernels_compile_for(arch: str) -> None:
    for source in SOURCES.values():
        assert cuda_cpp.compile(source, arch)


def test_branches_stay_apart() -> None:
    """The compiler made no loop of two branches: a warp walks through four."""
    text = cuda_cpp.ptx(warps.DIVERGE_CU)
    added = [f"0f{np.float32(number).view(np.uint32):08X}" for number in (1, 2, 3, 4)]
    assert all(number in text for number in added)
    assert "selp" not in text, "no number is chosen by the branch"
