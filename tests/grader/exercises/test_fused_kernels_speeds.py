"""What the fused kernels are timed against: a right answer is never so fast that its time is void."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from gpulab import table, trace
from gpulab.measuring.speedup import Comparison
from grader.exercises.fused_kernels.comparisons import ATTENTION, LAYER_NORM, MATMUL_RELU, SOFTMAX, calls

ROOM = 1.5
"""A kernel may also use the memory's bandwidth better than the reference does."""


def bytes_moved(comparison: Comparison, arguments: tuple[Any, ...]) -> int:
    """Of a reference, by the course's own count of eager kernels."""
    trace.use_triton()
    with trace.counting() as launches:
        comparison.reference(*arguments)
    kernels = [one for one in launches if one["kind"] != "allocation"]
    return int(sum(one["bytes_read"] + one["bytes_written"] for one in kernels))


ROWS = torch.randn(64, 2048)
BOUND_BY_MEMORY = {
    "softmax": (SOFTMAX, (ROWS,), 2 * 4 * ROWS.numel()),
    "layer norm": (LAYER_NORM, (ROWS.half(), torch.ones(2048), torch.ones(2048), 1e-5), 2 * 2 * ROWS.numel()),
    "matmul": (MATMUL_RELU, (torch.ones(512, 64).half(), torch.ones(64, 512).half(), torch.ones(512)), 4 * 512**2),
}


@pytest.mark.parametrize("name", BOUND_BY_MEMORY)
def test_a_kernel_that_moves_only_what_it_must_is_not_void(name: str) -> None:
    comparison, arguments, least = BOUND_BY_MEMORY[name]
    assert ROOM * bytes_moved(comparison, arguments) / least < comparison.void


@pytest.mark.parametrize("memory_bytes", [8e9, 15.8e9, 24e9, 141e9])
def test_the_calls_of_a_round_fit_into_the_card(monkeypatch: pytest.MonkeyPatch, memory_bytes: float) -> None:
    """Inputs and outputs of both sides, and what the reference has in between."""
    properties = SimpleNamespace(total_memory=int(memory_bytes))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    for bytes_each in (4 * 16384 * 2048, 8 * 16384 * 2048, 4 * 8192**2):
        assert calls(bytes_each) * bytes_each <= max(memory_bytes / 10, 4 * bytes_each)
        assert 2 * calls(bytes_each) * bytes_each + 4e9 < memory_bytes


def test_attention_by_the_datasheet_is_not_void() -> None:
    """On no card of the table: TF32 products of the causal half, against float32 and the matrix of scores."""
    heads, length, width = 16, 4096, 64
    flops = 2 * 2 * heads * length**2 * width
    moved = length * 8.5 * heads * length * 4  # the matrix is written, or read, so often; see `bytes_moved`
    small = (2, 512, width)
    counted = bytes_moved(ATTENTION, tuple(torch.randn(3, *small)))
    assert counted == pytest.approx(8.5 * 4 * 2 * 512**2, rel=0.15)
    cards = [row for row in table("gpus") if row["tfloat32_tflops"] and row["float32_tflops"] and row["bandwidth_gbs"]]
    assert len(cards) > 5
    for row in cards:
        eager_ms = moved / row["bandwidth_gbs"] / 1e6 + flops / row["float32_tflops"] / 1e9
        assert eager_ms / (flops / 2 / row["tfloat32_tflops"] / 1e9) < ATTENTION.void, row["gpu"]
