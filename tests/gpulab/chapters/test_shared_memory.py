"""Pictures and workloads of the chapter on shared memory, and what compiled C++ tells of itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from gpulab import cuda_compiled as cpp
from gpulab import device_array, to_numpy
from gpulab.chapters.shared_memory import diagrams, workloads
from gpulab.cuda_cpp import CudaCompileError
from gpulab.measuring.speedup import projections_agree
from grader.exercises.shared_memory import comparisons

SAXPY = """
__device__ float axpy(float alpha, float x, float y) { return alpha * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""


def test_every_picture_is_shown_once_with_a_description(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(diagrams, "show", lambda figure, description: shown.append(description))
    calls: list[Callable[[], None]] = [
        diagrams.draw_halo,
        diagrams.draw_tree,
        diagrams.draw_banks,
        diagrams.draw_turn,
        diagrams.draw_product,
    ]
    for number, call in enumerate(calls, start=1):
        call()
        assert len(shown) == number
        assert len(shown[-1]) > 60


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


def test_a_transpose_is_compared_element_by_element() -> None:
    """Only what lies the other way, element for element, agrees; a mere view has moved nothing."""
    matrix = torch.rand(40, 23)
    turned = matrix.T.contiguous()
    naive = workloads.moved(torch.as_tensor(to_numpy(comparisons.naive_transpose(device_array(matrix)))), 7)
    assert projections_agree(workloads.moved(turned, 7), naive, 1e-4)
    wrong = [matrix, matrix.T, turned.flip(0), matrix.reshape(23, 40), torch.zeros(23, 40), turned[:, :-1].contiguous()]
    wrong.append(turned.clone().index_fill_(0, torch.tensor([5]), 0.5))
    for output in wrong:
        assert not projections_agree(workloads.moved(output, 7), naive, 1e-4)
