"""What the CUDA chapter's second half counts and measures, on kernels whose counts are known by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numba import cuda, float32

from gpulab import cuda_compiled as cpp
from gpulab import empty
from gpulab.chapters.shared_memory import diagrams, optimization_steps, pictures, workloads
from gpulab.chapters.shared_memory.optimization_steps import Ladder, Rung
from gpulab.chapters.shared_memory.rates import jobs, programs
from gpulab.cuda_cpp import CudaCompileError
from gpulab.figures import plot
from gpulab.measuring.timing import Ratio
from grader.exercises.shared_memory import comparisons

SAXPY = """
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""


@cuda.jit
def naive_kernel(x: Any, out: Any) -> None:
    j, i = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        out[j, i] = x[i, j]


@cuda.jit
def tile_kernel(x: Any, out: Any) -> None:
    tile = cuda.shared.array((32, 32), float32)
    j, i = cuda.threadIdx.x, cuda.threadIdx.y
    tile[i, j] = x[i, j]
    cuda.syncthreads()
    out[i, j] = tile[j, i]


@cuda.jit
def in_steps(out: Any, stride: int) -> None:
    tile = cuda.shared.array(1152, float32)
    for place in range(cuda.threadIdx.x, 1152, 32):
        tile[place] = 0
    cuda.syncthreads()
    out[cuda.threadIdx.x] = tile[stride * cuda.threadIdx.x]


@cuda.jit
def sum_kernel(x: Any, out: Any) -> None:
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, 0, x[i])


def naive(x: Any) -> Any:
    out = empty(x.shape[::-1], "float32")
    naive_kernel[(-(-x.shape[1] // 32), -(-x.shape[0] // 8)), (32, 8)](x, out)
    return out


def one_tile(x: Any) -> Any:
    out = empty((32, 32), "float32")
    tile_kernel[1, (32, 32)](x, out)
    return out


def total(x: Any) -> float:
    out = np.zeros(1, np.float32)
    sum_kernel[-(-x.size // 32), 32](x, out)
    return float(out[0])


def test_a_ladder_counts_what_32_floats_cost() -> None:
    """Naive: 4 sectors read, 32 written; through a 32-wide tile: 4 and 4, and 33 turns of shared memory."""
    ladder = Ladder()
    rung = ladder.step("naive", naive)
    assert (rung.read_sectors, rung.write_sectors, rung.shared_turns) == (4, 32, 0)
    tile = ladder.step("tile", one_tile, shape=(32, 32))
    assert (tile.read_sectors, tile.write_sectors, tile.shared_turns) == (4, 4, 33)
    assert tile.turns == 41


def test_a_version_becomes_a_rung_when_its_counts_change() -> None:
    ladder = Ladder(shape=(32, 32))
    ladder.step("yours", naive)
    ladder.step("yours", naive)
    ladder.step("yours", one_tile)
    assert [rung.name for rung in ladder.rungs] == ["yours", "yours, version 2"]


def test_conflict_degrees_are_the_common_divisor_of_stride_and_banks() -> None:
    assert optimization_steps.conflict_degrees(in_steps, [1, 2, 8, 31, 32, 33]) == {
        1: 1,
        2: 2,
        8: 8,
        31: 1,
        32: 32,
        33: 1,
    }


def test_reads_and_atomics_are_counted_for_each_element() -> None:
    x = np.ones(100, np.float32)
    assert optimization_steps.atomics_of(total, x) == 100
    assert optimization_steps.reads_per_element(total, x, elements=100) == 1


def test_intensity_is_flops_over_counted_bytes() -> None:
    """A naive transpose of 64 × 96: 36 sectors of 32 bytes for 32 moves."""
    job = jobs(total, naive, total, total)[0]
    (program,) = programs([job])
    assert program.intensity == pytest.approx(32 / (36 * 32))
    assert program.gbs is None or program.gbs > 0


def test_every_picture_is_shown_once_with_a_description(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    modules: tuple[Any, ...] = (diagrams, pictures, plot)
    for module in modules:
        monkeypatch.setattr(module, "show", lambda figure, description: shown.append(description))
    ratio = Ratio(0.86, 0.01, 10, "a GPU")
    calls: list[Callable[[], None]] = [
        diagrams.draw_halo,
        diagrams.draw_tree,
        diagrams.draw_banks,
        diagrams.draw_turn,
        diagrams.draw_product,
        lambda: pictures.atomic_bars(8, 2000),
        lambda: pictures.conflict_bars({1: 1, 32: 32}),
        lambda: pictures.ladder([Rung("naive", 4, 32, 0), Rung("yours", 4, 4, 2)]),
    ]
    for number, call in enumerate(calls, start=1):
        call()
        assert len(shown) == number
        assert len(shown[-1]) > 60
    monkeypatch.setattr(pictures, "device_name", lambda on: "a GPU")
    pictures.ladder([Rung("yours", 4, 4, 2, ratio)])
    assert len(shown) == len(calls) + 1


@pytest.mark.parametrize(
    ("rungs", "title"),
    [
        ([Rung("a", 4, 32, 0), Rung("b", 32, 4, 0)], "One side or the other, never both"),
        ([Rung("a", 4, 32, 0), Rung("b", 4, 4, 33)], "The sectors are saved, and it waits in shared memory"),
        ([Rung("a", 4, 32, 0), Rung("b", 4, 4, 2)], "From 36 trips to 10, rung by rung"),
    ],
)
def test_the_ladders_title_says_what_the_last_rung_shows(rungs: list[Rung], title: str) -> None:
    assert pictures._ladder_title(rungs) == title


def test_ptx_shows_the_multiply_add_of_a_saxpy() -> None:
    found = cpp.instructions(SAXPY)
    assert sum(line.startswith("fma.rn.f32") for line in found) >= 1
    assert all(line.startswith(("ld.global", "st.global", "fma.rn.f32")) for line in found)


def test_lines_that_compute_in_float64_are_named() -> None:
    assert cpp.float64_lines(SAXPY) == []
    assert cpp.float64_lines(SAXPY.replace("alpha * x", "2.0 * alpha * x")) == [2]


def test_resources_are_those_of_the_assembler() -> None:
    source = SAXPY.replace("for (", "__shared__ float tile[32][33];\n    tile[threadIdx.x][0] = alpha;\n    for (", 1)
    source = source.replace("y[i] = axpy(alpha, x[i], y[i])", "y[i] = axpy(tile[i % 32][0], x[i], y[i])")
    (found,) = cpp.resources(source, "sm_90")
    assert (found.kernel, found.shared_bytes, found.spilled_bytes) == ("saxpy", 32 * 33 * 4, 0)
    assert 0 < found.registers <= 255


def test_source_that_does_not_compile_is_refused_with_its_line() -> None:
    for function in (cpp.ptx, cpp.resources):
        with pytest.raises(CudaCompileError, match="line 6"):
            function(SAXPY.replace("x[i]", "z[i]"))


def test_a_transpose_is_raced_against_a_copy() -> None:
    """What lies the other way, element for element, agrees; nothing else does, and a mere view has moved nothing."""
    matrix = torch.rand(40, 23)
    copy = workloads.lengthwise(comparisons.copied(matrix), 7)
    turned = matrix.T.contiguous()
    assert comparisons.crosswise(workloads.lengthwise(turned, 7), copy)
    wrong = [matrix, matrix.T, turned.flip(0), matrix.reshape(23, 40), torch.zeros(23, 40), turned[:, :-1].contiguous()]
    wrong.append(turned.clone().index_fill_(0, torch.tensor([5]), 0.5))
    for output in wrong:
        assert not comparisons.crosswise(workloads.lengthwise(output, 7), copy)
