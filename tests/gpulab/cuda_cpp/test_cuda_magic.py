"""`%%cuda` and `cuda_cpp.resources`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

from gpulab import cuda_cpp, cuda_magic
from gpulab.cuda_magic import run_cell
from gpulab.trace import LaunchError

CELL = """
extern "C" __global__ void twice(float* x, int n) {
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n)
        x[i] = 2.0f * tile[threadIdx.x];
}
"""


def test_a_cell_is_compiled_kept_and_run() -> None:
    names: dict[str, Any] = {"x": np.arange(100, dtype=np.float32), "blocks": 2}
    assert run_cell("TWICE_CU", CELL, names) is None
    assert names["TWICE_CU"] == CELL
    assert run_cell("TWICE_CU twice[blocks, 64](x, x.size)", CELL, names) is None
    np.testing.assert_array_equal(names["x"], 2 * np.arange(100))


def test_a_cell_is_traced() -> None:
    trace = run_cell("--trace TWICE_CU twice[1, 64, 0](x, 64)", CELL, {"x": np.ones(64, np.float32)})
    assert (trace.kernel, trace.global_reads, trace.barriers) == ("twice", 64, 1)


@pytest.mark.parametrize(
    ("line", "cell", "words"),
    [
        ("A", CELL.replace("int i =", "int j ="), 'line 5: identifier "i" is undefined'),
        ("A twice[2, 64](x, 200)", CELL, "OutOfBoundsError|GuardError: x[100] is out of bounds"),
        ("A other[2, 64](x, 100)", CELL, "There is no kernel 'other'"),
    ],
)
def test_errors_are_shown_with_the_cells_line(
    line: str, cell: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run_cell(line, cell, {"x": np.ones(100, np.float32)})
    assert words.split("|")[-1] in capsys.readouterr().out


@pytest.mark.parametrize("line", ["", "3x", "A twice(x)", "A twice[1](x)", "--trace A", "A twice[1, 2](x"])
def test_a_line_that_is_not_understood(line: str) -> None:
    with pytest.raises(ValueError, match=r"%%cuda.*Write %%cuda \[--trace\] NAME"):
        run_cell(line, CELL, {"x": np.ones(4, np.float32)})


def test_the_magic_is_an_extension_of_ipython() -> None:
    shell = InteractiveShell()
    cuda_magic.load_ipython_extension(shell)
    shell.user_ns["x"] = np.ones(4, np.float32)
    shell.run_cell_magic("cuda", "TWICE_CU twice[1, 32](x, 4)", CELL)
    assert list(shell.user_ns["x"]) == [2, 2, 2, 2]


def test_resources_of_a_kernel() -> None:
    found = cuda_cpp.resources(CELL, "twice", 256, shared_bytes=1024)
    assert 4 <= found.registers <= 40
    assert (found.shared_bytes, found.threads, found.blocks) == (2048, 256, 8)
    assert (found.occupancy, found.limited_by) == (1.0, "threads")
    crowded = cuda_cpp.resources(CELL, "twice", 32, shared_bytes=40_000)
    assert (crowded.blocks, crowded.limited_by) == (3, "shared memory")
    assert crowded.occupancy == pytest.approx(96 / 2048)
    with pytest.raises(LaunchError, match="no kernel 'thrice'"):
        cuda_cpp.resources(CELL, "thrice", 256)
