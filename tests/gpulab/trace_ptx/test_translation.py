"""What a launch costs besides the kernel: translation in a hurry, a better one for long runs, and bounded memory."""

from __future__ import annotations

import tracemalloc

import numpy as np

from gpulab.trace.ptx.cpp import launch_source
from gpulab.trace.ptx.launch import Launch

SUM = """
extern "C" __global__ void sum(const float* x, float* out, int turns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int turn = 0; turn < turns; turn++)
        sum += x[(i + turn) % 1024];
    out[i] = sum;
}
"""


def launched(turns: int, source: str = SUM) -> tuple[Launch, np.ndarray]:  # type: ignore[type-arg]
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
