"""Launches, arguments and Python that no GPU takes: each is reported before or while it runs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
import trace_kernels as kernels
from numba import cuda, float32
from numba.cuda import libdevice
from traced_arrays import zeros

from gpulab import trace

pytestmark = pytest.mark.usefixtures("only_the_tracer")


@pytest.mark.parametrize(
    ("grid", "block", "words"),
    [
        (0, 64, "grid 0 has no blocks"),
        (-1, 64, "grid -1 has no blocks"),
        (1, 0, "block 0 has no threads"),
        (1, 2048, "block 2048 has 2,048 threads. A block has at most 1,024"),
        (1, (64, 32), "block (64, 32) has 2,048 threads"),
        (1, (1, 1, 128), "block (1, 1, 128) has 128 threads along z. The limit is 64"),
        ((1, 70_000), 64, "grid (1, 70000) has 70,000 blocks along y. The limit is 65,535"),
        (7.8125, 128, "grid 7.8125: 7.8125 is not an int. Divide with //"),
        (1, "64", "block '64': '64' is not an int"),
        (True, 64, "True is not an int"),
        ((1, 1, 1, 1), 64, "has 4 dimensions"),
        (1, (), "has 0 dimensions"),
        (None, 64, "None is not an int"),
    ],
)
def test_launches_that_no_gpu_accepts(grid: Any, block: Any, words: str) -> None:
    with pytest.raises(trace.LaunchError, match=re.escape(words)):
        trace.run(kernels.copy, grid, block, zeros(4), zeros(4))


def test_shared_memory_over_the_limit() -> None:
    @cuda.jit
    def large():
        tile = cuda.shared.array((112, 112), float32)
        tile[0, 0] = 0

    words = "50,176 bytes of shared memory per block, with 'tile' of shape (112, 112)"
    with pytest.raises(trace.LaunchError, match=re.escape(words)) as caught:
        trace.run(large, 1, 1)
    assert "the limit is 49,152" in str(caught.value)
    assert caught.value.line == large.py_func.__code__.co_firstlineno + 2
    with pytest.raises(trace.LaunchError, match="49,153 bytes of shared memory per block, as the launch asks for"):
        trace.run(kernels.dynamic_shared, 1, 1, zeros(1), zeros(1), shared_bytes=49_153)


def test_dynamic_shared_memory_that_the_launch_forgot() -> None:
    with pytest.raises(trace.LaunchError, match=r"'words' \(line \d+: words = .*kernel\[grid, block, 0, bytes\]"):
        trace.run(kernels.dynamic_shared, 1, 64, zeros(64), zeros(64))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((zeros(4),), "Kernel 'copy' takes 2 arguments (x, out), the launch gives 1"),
        ((zeros(4),) * 3, "the launch gives 3"),
        (([1.0, 2.0], zeros(4)), "Argument 'x' is a list. A kernel takes arrays and numbers. Make an array of it"),
        ((None, zeros(4)), "Argument 'x' is a NoneType"),
        (("x", zeros(4)), "Argument 'x' is a str"),
        ((np.array(["a"]), zeros(4)), "Argument 'x' is an array of <U1"),
        ((np.array([None]), zeros(4)), "Argument 'x' is an array of object"),
        ((torch.ones(4, dtype=torch.bfloat16), zeros(4)), "Argument 'x' is an array of bfloat16"),
    ],
)
def test_arguments_that_no_kernel_takes(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(trace.LaunchError, match=re.escape(words)):
        trace.run(kernels.copy, 1, 4, *arguments)


def test_a_plain_function_is_no_kernel() -> None:
    with pytest.raises(trace.LaunchError, match=r"is no kernel\. Write @cuda\.jit above the function"):
        trace.run(lambda x: None, 1, 1, zeros(1))


def test_writing_to_a_read_only_array() -> None:
    out = zeros(4)
    out.flags.writeable = False
    with pytest.raises(trace.UnsupportedError, match="writing to out"):
        trace.run(kernels.copy, 1, 4, zeros(4), out)


def helper(x: float) -> float:
    return x


@cuda.jit(device=True)
def faculty(n):
    return 1 if n < 2 else n * faculty(n - 1)


def body(source: str) -> Any:
    """A kernel with this body, of `x` and `i`."""
    scope: dict[str, Any] = {"cuda": cuda, "np": np, "helper": helper, "faculty": faculty}
    scope |= {"libdevice": libdevice, "fmaf": libdevice.fmaf, "renamed": libdevice.fmaf}
    exec(f"@cuda.jit\ndef kernel(x):\n    i = cuda.grid(1)\n    {source}\n", scope)
    return scope["kernel"]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x.append(i)", "x.append"),
        ("x[i] = x + 1", "arithmetic on the whole array 'x'"),
        ("x[i] = np.float32(2) * x", "arithmetic on the whole array 'x'"),
        ("x[i] = 1 if x else 0", "arithmetic on the whole array 'x'"),
        ("x[i] = x", "One element takes one value"),
        ("x[i] = 'text'", "Its elements are float32"),
        ("x[0:2] = x[0:3]", "Both sides need the same shape"),
        ("cuda.syncthread()", "cuda.syncthread in a kernel"),
        ("cuda.synchronize()", "That is for the host"),
        ("x[i] = helper(i)", "'helper' is an ordinary Python function"),
        ("x[i] = faculty(i)", "'faculty' (line"),
        ("cuda.atomic.add(x[i], 0, 1)", "It takes an array and an index"),
        ("a = cuda.local.array(2, np.float32); cuda.atomic.add(a, 0, 1)", "Atomics work on global and shared arrays"),
        ("cuda.shared.array(x.size * 1.5, np.float32)", "is not a shape"),
        ("cuda.shared.array(4, 'nothing')", "is not an element type"),
        ("x[cuda.grid(4)] = 1", "a grid has 1, 2 or 3 dimensions"),
    ],
)
def test_what_a_kernel_cannot_do_is_named(source: str, words: str) -> None:
    with pytest.raises(trace.UnsupportedError, match=re.escape(words)):
        trace.run(body(source), 1, 2, zeros(4))


@pytest.mark.parametrize(
    "call", ["libdevice.fmaf(x[i], 2, 1)", "fmaf(x[i], 2, 1)", "cuda.libdevice.fmaf(x[i], 2, 1)", "renamed(x[i], 2, 1)"]
)
def test_libdevice_is_refused_however_it_is_imported(call: str) -> None:
    """In Python its functions return nothing, which an array of floats would take for NaN."""
    words = r"libdevice\.fmaf in a kernel \(line 4\).* math\.sqrt, or cuda\.fma\."
    with pytest.raises(trace.UnsupportedError, match=words):
        trace.run(body(f"x[i] = {call}"), 1, 2, zeros(4))


def test_kernels_return_nothing() -> None:
    with pytest.raises(trace.TraceError, match=r"Kernel 'kernel' \(line 1\) returns a value"):
        trace.run(body("return x[i]"), 1, 2, zeros(4))


def test_python_errors_say_where_they_happened() -> None:
    """A misspelt name is the student's mistake and keeps its Python kind."""
    with pytest.raises(NameError, match="undefined_name") as caught:
        trace.run(body("x[i] = undefined_name"), 1, 2, zeros(4))
    assert caught.value.__notes__ == ["In kernel 'kernel', line 4 (thread (0, 0, 0) of block (0, 0, 0))."]


def test_a_failing_launch_leaves_nothing_behind() -> None:
    """Threads that still wait are ended; the next launch starts afresh."""

    @cuda.jit
    def fails_late(x):
        cuda.syncthreads()
        x[cuda.grid(1) + 1] = 1

    for _ in range(3):
        with pytest.raises(trace.OutOfBoundsError):
            trace.run(fails_late, 1, 256, zeros(256))
    assert not trace.run(kernels.block_reverse, 2, 128, zeros(256), zeros(256)).races
