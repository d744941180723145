"""CUDA C++ in a string: compiled everywhere, with the string's own line numbers."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from gpulab import cuda_cpp, cuda_guarded
from gpulab.backend import Backend, use
from gpulab.trace import LaunchError, OutOfBoundsError

SAXPY = """
__device__ float axpy(float a, float x, float y) { return a * x + y; }

extern "C" __global__ void saxpy(float alpha, const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = axpy(alpha, x[i], y[i]);
}
"""


def test_compiles_for_every_architecture() -> None:
    binaries = cuda_cpp.compile_all(SAXPY)
    assert list(binaries) == ["sm_75", "sm_80", "sm_90"]
    for binary in binaries.values():
        assert binary.startswith(b"\x7fELF")
        assert b"saxpy" in binary


def test_errors_have_the_line_of_the_string() -> None:
    broken = SAXPY.replace("axpy(alpha", "axpi(alpha").replace("+ y; }", "+ y }")
    with pytest.raises(cuda_cpp.CudaCompileError) as caught:
        cuda_cpp.compile(broken)
    assert str(caught.value).splitlines() == [
        "2 errors in the CUDA C++ source, compiled for sm_80:",
        'line 2: expected a ";"',
        "    __device__ float axpy(float a, float x, float y) { return a * x + y }",
        'line 6: identifier "axpi" is undefined',
        "    y[i] = axpi(alpha, x[i], y[i]);",
    ]
    assert [one.line for one in caught.value.diagnostics] == [2, 6]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_shuffles_of_old_gpus_say_what_replaced_them() -> None:
    old = SAXPY.replace("axpy(alpha, x[i], y[i])", "__shfl_xor(x[i], 1)")
    with pytest.raises(cuda_cpp.CudaCompileError, match=r"is undefined: write __shfl_xor_sync, whose first argument"):
        cuda_cpp.compile(old)


def test_the_first_architecture_that_fails_is_named() -> None:
    new = "#if __CUDA_ARCH__ < 800\n#error too old\n#endif\n"
    with pytest.raises(cuda_cpp.CudaCompileError, match=r"compiled for sm_75:\nline 2: .*too old"):
        cuda_cpp.compile_all(new + SAXPY)


def test_a_judge_has_a_source_compiled_once_and_waits_a_minute() -> None:
    asked: list[tuple[str, float]] = []

    def confined(function: Callable[..., Any], arguments: Any, what: str, seconds: float) -> Any:
        asked.append((function.__name__, seconds))
        return function(*arguments)

    with use(Backend(confined=confined)):
        for _ in range(2):  # a visible and a hidden test
            cuda_cpp.compile_all(f"// for this test only\n{SAXPY}")
            cuda_cpp.ptx(f"// for this test only\n{SAXPY}")
    assert asked == [("_cubins", 60.0), ("_ptx", 60.0)]


@pytest.mark.parametrize("source", ["", "  \n", None, 7, []])
def test_what_is_no_source(source: object) -> None:
    with pytest.raises(cuda_cpp.CudaCompileError, match=r"must be a string with CUDA C\+\+"):
        cuda_cpp.compile(source)  # type: ignore[arg-type]


def test_headers_are_found_or_named() -> None:
    half = '#include <cuda_fp16.h>\nextern "C" __global__ void k(__half* x) { x[0] = __float2half(1.0f); }\n'
    assert cuda_cpp.compile(half).startswith(b"\x7fELF")
    with pytest.raises(cuda_cpp.CudaCompileError, match=r"line 1: cannot open source file \"nowhere\.h\""):
        cuda_cpp.compile('#include "nowhere.h"\n' + SAXPY)
    with pytest.raises(cuda_cpp.CudaCompileError, match="leave out the host's headers"):
        cuda_cpp.compile("#include <cstdio>\n" + SAXPY)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mma_sync(c, b, a, c);", "Its arguments are the sums, a fragment of a, a fragment of b, and the sums again"),
        ("store_matrix_sync(x, c, 16);", "Its arguments are a pointer to elements of the fragment's type"),
        ("load_matrix_sync(a, y, 16);", "Its arguments are the fragment, a pointer to elements of the fragment's type"),
        ("fragment<matrix_a, 16, 16, 16, half> d;", "do the fragments of a and b have a layout?"),
        ("wmma::fill_fragment(c, 0.0f);", r"Does the source have #include <mma\.h>"),
    ],
)
def test_errors_about_fragments_say_what_is_meant(line: str, words: str) -> None:
    source = f"""
#include <mma.h>
using namespace nvcuda::wmma;
extern "C" __global__ void k(half* x, int* y) {{
    fragment<matrix_a, 16, 16, 16, half, row_major> a;
    fragment<matrix_b, 16, 16, 16, half, row_major> b;
    fragment<accumulator, 16, 16, 16, float> c;
    {line}
}}
"""
    with pytest.raises(cuda_cpp.CudaCompileError, match=words) as caught:
        cuda_cpp.compile(source)
    assert caught.value.diagnostics[0].line == 8


def test_a_header_is_named_without_its_directory() -> None:
    with pytest.raises(cuda_cpp.CudaCompileError, match=r"^mma\.h(pp)?\(\d+\): error"):
        cuda_cpp.compile("#define T 16\n#include <mma.h>\n" + SAXPY)


EMPTY_LOOP = """
extern "C" __global__ void k(float* x, int n) {{
    // for (;;);
    {declared}for (int j = 0; j < 2; j++) x[0] = 1.0f;
    for ({own}i = threadIdx.x; i < max(n, (n + 1) / 2); i += blockDim.x);
        x[i] = 1.0f;
}}
"""
BODY_IS_EMPTY = r"semicolon after for \(…\) in line 5 ends the loop: its body is empty"


def test_a_loop_without_a_body() -> None:
    """Its message names the semicolon, wherever the mistake shows."""
    outside = EMPTY_LOOP.format(declared="int i; ", own="")
    with pytest.raises(cuda_cpp.GuardError, match=BODY_IS_EMPTY) as caught:
        cuda_cpp.run(outside, "k", 1, 32, np.zeros(32, np.float32), 32)
    assert "guard, if" not in str(caught.value)
    with pytest.raises(cuda_cpp.CudaCompileError, match=rf'"i" is undefined.*{BODY_IS_EMPTY}'):
        cuda_cpp.compile(EMPTY_LOOP.format(declared="", own="int "), "sm_90")


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens without a GPU")
@pytest.mark.parametrize(("tile", "guard"), [("x", True), ("tile", False)])
def test_only_a_global_array_needs_a_guard(tile: str, guard: bool) -> None:
    source = f"""
extern "C" __global__ void k(float* x) {{
    __shared__ volatile float tile[32];
    {tile}[threadIdx.x] = 1.0f;
}}
"""
    with pytest.raises(cuda_cpp.GuardError, match="out of bounds") as caught:
        cuda_cpp.run(source, "k", 1, 64, np.zeros(32, np.float32))
    assert ("guard" in str(caught.value)) == guard


def test_unknown_architecture() -> None:
    with pytest.raises(cuda_cpp.CudaCompileError, match="no architecture called 'sm_12'"):
        cuda_cpp.compile(SAXPY, "sm_12")


def test_warnings_do_not_fail() -> None:
    assert cuda_cpp.compile(SAXPY.replace("    for", "    int unused;\n    for"))


def test_shared_memory_over_the_limit() -> None:
    """What only the assembler knows is reported as plainly as the rest."""
    greedy = """extern "C" __global__ void greedy(float* x) {
    __shared__ float tile[20000];
    tile[threadIdx.x] = x[0];
    __syncthreads();
    x[threadIdx.x] = tile[5];
}"""
    words = r"Kernel 'greedy' uses 80,000 bytes of shared memory in a block. A block has at most 49,152."
    with pytest.raises(cuda_cpp.CudaCompileError, match=words):
        cuda_cpp.compile(greedy)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('extern "C" __global__ void k(float* x) { x[0] = 1.0f;', 'expected a "}"'),
        ('extern "C" __global__ void k(float* x) { asm("rubbish;"); }', "Not a name of any known instruction"),
    ],
)
def test_errors_without_a_line_of_the_string(source: str, words: str) -> None:
    with pytest.raises(cuda_cpp.CudaCompileError, match=words):
        cuda_cpp.compile(source)


@pytest.mark.parametrize(
    ("grid", "block", "words"),
    [
        (1, 0, "block 0 has no threads"),
        (0, 32, "grid 0 has no blocks"),
        (1, 2048, "has 2,048 threads. A block has at most 1,024"),
        (1, (64, 64), "has 4,096 threads"),
        (1.5, 32, "is not an int"),
    ],
)
def test_launches_that_no_gpu_accepts(grid: object, block: object, words: str) -> None:
    """Told before anything reaches the GPU, and so without one as well."""
    with pytest.raises(LaunchError, match=words):
        cuda_cpp.run(SAXPY, "saxpy", grid, block, 2.0, np.ones(4, np.float32), np.ones(4, np.float32), 4)


class _Event:
    """torch's, of work that ends after so many looks."""

    def __init__(self, looks: float) -> None:
        self._looks = looks

    def record(self) -> None: ...

    def query(self) -> bool:
        self._looks -= 1
        return self._looks < 0


def test_an_endless_kernel_is_given_up() -> None:
    cuda_guarded._wait(_Event(5), 5.0)
    with pytest.raises(TimeoutError, match=r"did not end within 0\.02 s"):
        cuda_guarded._wait(_Event(math.inf), 0.02)


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens without a GPU")
def test_runs_without_a_gpu() -> None:
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    left, right = cuda_cpp.run(SAXPY, "saxpy", 4, 64, 2.0, x, y, 1000)
    np.testing.assert_array_equal(left, x)
    np.testing.assert_array_equal(right, 2 * x + 1)
    assert (y == 1).all()
    words = r"y\[1000\] is out of bounds.*thread \(40, 0, 0\).*line 6: y\[i\] = .*guard"
    with pytest.raises(cuda_cpp.GuardError, match=words):
        cuda_cpp.run(SAXPY, "saxpy", 4, 64, 2.0, np.ones(1001, np.float32), y, 1001)


def calls() -> list[cuda_cpp.Call]:
    """Three launches, of which the second leaves its array."""
    x = np.arange(64, dtype=np.float32)
    return [cuda_cpp.Call(2, 32, (2.0, x, np.ones(64, np.float32), n)) for n in (10, 65, 20)]


@pytest.mark.parametrize("in_judge", [False, True])
def test_several_launches_are_one_compilation_and_one_process(in_judge: bool) -> None:
    """The results up to the launch that fails come first; it names its line; later ones are not run."""
    asked = []

    def runner(function: object, arguments: tuple[object, ...], what: str, seconds: float) -> object:
        asked.append(function.__name__)  # type: ignore[attr-defined]
        return pickle.loads(pickle.dumps(function(*arguments)))  # type: ignore[operator]

    given = calls()
    with use(Backend(confined=runner if in_judge else None)):
        outcomes = cuda_cpp.count_each(f"{SAXPY}// {in_judge}", "saxpy", given)
        (x, y), counts = next(outcomes)
        np.testing.assert_array_equal(y, [2 * i + 1 if i < 10 else 1 for i in range(64)])
        np.testing.assert_array_equal(x, given[0].arguments[1])
        assert (given[0].arguments[2] == 1).all()
        assert (counts["global_reads"], counts["global_writes"]) == (20, 10)
        assert counts["most_written"] == {"x": 0, "y": 10}
        with pytest.raises(OutOfBoundsError, match=r"x\[64\].*line 6"):
            next(outcomes)
        with pytest.raises(StopIteration):
            next(outcomes)
        if in_judge:
            assert asked == ["_ptx", "_plain_outcomes"]


@pytest.mark.parametrize("rubbish", [7, ["value"], ["raised", "os", "system", "true"], ["value", 1, {}]])
def test_what_a_confined_process_makes_up_is_no_result(rubbish: object) -> None:
    text = cuda_cpp.ptx(SAXPY)

    def runner(function: Callable[..., Any], arguments: object, what: str, seconds: float) -> object:
        return text if function.__name__ == "_ptx" else [rubbish]

    with use(Backend(confined=runner)), pytest.raises(AssertionError):
        next(cuda_cpp.count_each(SAXPY, "saxpy", calls()))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_runs_and_guards_its_arrays() -> None:
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    left, right = cuda_cpp.run(SAXPY, "saxpy", 4, 64, 2.0, x, y, 1000)
    np.testing.assert_array_equal(left, x)
    np.testing.assert_allclose(right, 2 * x + 1)
    assert (y == 1).all()
    with pytest.raises(cuda_cpp.GuardError, match=r"4 bytes after argument 2 have changed"):
        cuda_cpp.run(SAXPY, "saxpy", 4, 64, 2.0, np.ones(1001, np.float32), y, 1001)
