"""What Numba cannot translate for a GPU is reported on a laptop, with the student's own line."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import torch
import trace_kernels as kernels
from numba import cuda, float32

from gpulab import trace

X = np.ones(64, np.float32)

no_gpu_here = pytest.mark.skipif(torch.cuda.is_available(), reason="launches compile for themselves on a GPU")


@cuda.jit
def halves(x, out, alpha):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * float32(0.5)


@cuda.jit
def doubles(x, out, alpha):
    i = cuda.grid(1)
    if i < x.size:
        value = x[i] * 0.1
        out[i] = value * alpha


def plain_helper(x: float) -> float:
    return x


@cuda.jit(device=True)
def broken_helper(x, i):
    return x.middle


def body(source: str) -> Any:
    """A kernel with this body, of `x` and `i`."""
    names = {"plain_helper": plain_helper, "broken_helper": broken_helper}
    scope: dict[str, Any] = {"cuda": cuda, "np": np, "float32": float32, "math": math, **names}
    exec(compile(f"@cuda.jit\ndef kernel(x):\n    i = cuda.grid(1)\n    {source}\n", "cell.py", "exec"), scope)
    return scope["kernel"]


@pytest.mark.parametrize(
    "kernel",
    [kernels.transpose_padded, kernels.matmul_tiled, kernels.uses_helpers, kernels.histogram, kernels.warp_total],
)
def test_right_kernels_compile(kernel: Any) -> None:
    """Helpers, shared arrays, atomics and shuffles included; no driver is asked."""
    matrix = np.ones((32, 32), np.float32)
    ints = np.zeros(64, np.int32)
    arguments = {"transpose_padded": (matrix, matrix), "matmul_tiled": (matrix,) * 3, "histogram": (ints, ints)}
    result = trace.typecheck(kernel, *arguments.get(kernel.py_func.__name__, (X, X)))
    assert result.kernel == kernel.py_func.__name__
    assert result.float64_lines == ()
    assert f".target sm_{80 if not torch.cuda.is_available() else ''}" in result.ptx


def test_float64_arithmetic_is_found() -> None:
    first = halves.py_func.__code__.co_firstlineno
    assert trace.typecheck(halves, X, X, 2.0).float64_lines == ()
    first = doubles.py_func.__code__.co_firstlineno
    assert trace.typecheck(doubles, X, X, 2.0).float64_lines == (first + 4, first + 5)
    assert trace.typecheck(doubles, X, X, np.float32(2)).arguments[-1] == "float32"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x.append(i)", "Unknown attribute 'append' of type array(float32, 1d, C)."),
        ("x[i] = np.zeros(4)[0]", "No implementation of function zeros"),
        ("x[i] = np.zeros(4)[0]", "A kernel makes no arrays: pass one"),
        ("x[i] = f'{x[i]}'", "A kernel computes with numbers and arrays only."),
        ("x[0] = x[i, i / 2]", "An index is a float"),
        ("x[i / 2] = 1", "An index is a float: divide with //"),
        ("x[i] = plain_helper(x[i])", "Write @cuda.jit(device=True) above a function"),
        ("t = cuda.shared.array(x.size, float32)", "takes numbers and names of globals"),
        ("return x[i]", "A kernel returns nothing: write into an array instead."),
        ("x[i] = 'text'", "A kernel computes with numbers and arrays only."),
        ("x[i] = sum([k for k in range(i)])", "There are no lists in a kernel"),
        ("cuda.syncthread()", "has no attribute 'syncthread'"),
        ("x[i] = nothing", "name 'nothing' is not defined"),
        ("x[i] = None", "No"),
        ("x[i] = math.sqrt('4')", "No implementation of function"),
    ],
)
def test_what_numba_cannot_translate(source: str, words: str) -> None:
    with pytest.raises(trace.CompileError) as caught:
        trace.typecheck(body(source), X)
    assert str(caught.value).startswith("Numba cannot translate 'kernel' for a GPU (line 4). ")
    assert re.search(re.escape(words), str(caught.value))
    assert caught.value.line == 4
    assert len(str(caught.value)) < 400


def test_source_of_the_line_is_shown() -> None:
    with pytest.raises(trace.CompileError, match=r"\(line \d+: return x\.middle\)\. Unknown attribute 'middle'"):
        trace.typecheck(body("x[i] = broken_helper(x, i)"), X)


@pytest.mark.parametrize("argument", [[1.0], None, "x", {}])
def test_arguments_that_no_kernel_takes(argument: Any) -> None:
    with pytest.raises(trace.LaunchError, match="cannot be a kernel's argument"):
        trace.typecheck(body("x[i] = 1"), argument)


def test_tensors_and_slices_have_their_types() -> None:
    matrix = torch.ones(4, 4)
    assert trace.typecheck(kernels.transpose_naive, matrix, matrix.T).arguments == (
        "array(float32, 2d, C)",
        "array(float32, 2d, A)",
    )
    assert trace.typecheck(kernels.copy, X[::2], np.ones(4)).arguments == (
        "array(float32, 1d, A)",
        "array(float64, 1d, C)",
    )


def test_a_plain_function_is_no_kernel() -> None:
    with pytest.raises(trace.LaunchError, match="is no kernel"):
        trace.typecheck(plain_helper, X)


@no_gpu_here
def test_launches_in_the_tracer_are_compiled_too() -> None:
    """What runs as Python but is none for a GPU must not pass here and fail there."""
    kernel = body("x[i] = {0: 1}[0]")
    with pytest.raises(trace.CompileError):
        kernel[1, 4](X.copy())
    trace.compile_launches(False)
    try:
        kernel[1, 4](X.copy())
        assert trace.last().float64_lines is None
    finally:
        trace.compile_launches(True)
    doubles[1, 64](X, X.copy(), 2.0)
    assert len(trace.last().float64_lines or ()) == 2


@no_gpu_here
def test_a_kernel_made_anew_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Host functions often hold their kernel; a global that changes makes it another one."""
    compiled: list[str] = []
    original = trace.typecheck.__globals__["_compile"]
    monkeypatch.setitem(
        trace.typecheck.__globals__,
        "_compile",
        lambda function, types: compiled.append("") or original(function, types),
    )

    def made(scale: int) -> Any:
        @cuda.jit
        def scaled(x):
            x[cuda.grid(1)] = scale

        return scaled

    for scale in (2, 2, 3, 2):
        trace.typecheck(made(scale), X)
    assert len(compiled) == 2


@no_gpu_here
def test_a_missing_compiler_is_no_fault_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise ImportError("no nvvm here")

    monkeypatch.setattr(cuda, "compile", missing)
    kernel = body("x[i] = 77")
    with pytest.raises(trace.CompilerMissingError, match="no nvvm here"):
        trace.typecheck(kernel, X)
    kernel[1, 4](X.copy())
    assert trace.last().float64_lines is None
