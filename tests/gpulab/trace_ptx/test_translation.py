"""What a launch costs besides the kernel: translation in a hurry, a better one for long runs, and bounded memory."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest

from gpulab.trace.ptx.codegen.translate import KernelCode
from gpulab.trace.ptx.cpp import launch_source
from gpulab.trace.ptx.launch import PtxLaunch
from gpulab.trace.ptx.program import kernel_names, parsed, translated
from gpulab.trace.ptx.text.nvrtc import ptx_of
from gpulab.trace.ptx.text.parser import parse
from gpulab.trace.ptx.text.syntax import Instruction

from . import bank

SUM = """
extern "C" __global__ void sum(const float* x, float* out, int turns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int turn = 0; turn < turns; turn++)
        sum += x[(i + turn) % 1024];
    out[i] = sum;
}
"""


def launched(turns: int, source: str = SUM) -> tuple[PtxLaunch, np.ndarray]:  # type: ignore[type-arg]
    x, out = np.arange(1024, dtype=np.float32), np.zeros(256, np.float32)
    return launch_source(source, "sum", 4, 64, [x, out, turns], counted=True), out


def test_a_long_launch_goes_on_with_better_code_in_its_middle() -> None:
    source = SUM + "// of this test alone"
    short, _ = launched(3, source)
    assert short.program.hurried
    _, expected = launched(20_000, SUM)
    long, found = launched(20_000, source)
    assert not long.program.hurried
    assert long.program is short.program
    np.testing.assert_array_equal(found, expected)
    assert launched(20_000, source)[1].tolist() == expected.tolist()  # from the start with the better code


def test_memory_does_not_grow_with_the_number_of_accesses() -> None:
    """Accesses are counted as they happen, and no log of them is kept."""
    launched(5), launched(50_000)
    peaks = []
    for turns in (5, 50_000):
        tracemalloc.start()
        launch, _ = launched(turns)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert launch.tallies.sum() > 10_000_000
    assert peaks[1] < 1.1 * peaks[0] + 100_000


@pytest.mark.parametrize("exercise", ["SAXPY_CU", "WARP_SUM_CU", "SCAN_CU", "WMMA_CU"])
def test_parsing_and_translating_a_kernel_takes_under_50_ms(exercise: str) -> None:
    """Of processor time. It is a quarter of that at most; LLVM takes twice as long, and longer for more text."""
    for answer in bank.answers(exercise):
        if answer.kind.value == "right":
            namespace: dict[str, str] = {}
            exec(answer.source, namespace)
            text = ptx_of(namespace[exercise])
            (name, *_) = kernel_names(text)
            times = []
            for _ in range(3):
                began = time.thread_time()
                assembly = KernelCode(parse(text), name, counted=True).text()
                times.append(time.thread_time() - began)
            assert min(times) < 0.05, answer.title
            functions = parsed(text).functions.values()
            count = sum(isinstance(one, Instruction) for function in functions for one in function.body)
            assert assembly.count("\n") < 60 * count, answer.title


def test_a_text_is_translated_once() -> None:
    text = ptx_of(SUM)
    assert translated(text, "sum", True) is translated((text + " ")[:-1], "sum", True)
