"""Lanes that skip turns of a loop, or leave it early, are counted with those in the same turn: as the PTX does it."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest
from numba import cuda, float32

from gpulab.trace.launch import recording
from gpulab.trace.ptx.kernels import trace_kernel
from gpulab.trace.python.while_loops import _known, counting
from gpulab.trace.result import Trace


@cuda.jit
def skips(x: Any, out: Any, n: Any) -> None:
    t = cuda.threadIdx.x
    i, total = 0, float32(0)
    while i < n:
        if (i + t) % 3 != 0:
            total += x[i * 32 + t]
        i += 1
    out[t] = total


@cuda.jit
def continues(x: Any, out: Any, n: Any) -> None:
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(n):
        if (i + t) % 3 == 0:
            continue
        total += x[i * 32 + t]
    out[t] = total


@cuda.jit
def breaks(x: Any, out: Any, n: Any) -> None:
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(n):
        if i > t % 5:
            break
        total += x[i * 32 + t]
    for i in range(n):
        total += x[i * 32 + t]
    out[t] = total


@cuda.jit
def breaks_inside(x: Any, out: Any, n: Any) -> None:
    t = cuda.threadIdx.x
    i = 0
    while i < n:
        for j in range(t % 3):
            if j == i:
                break
            cuda.atomic.add(out, t, x[j * 32 + t])
        i += 1 + t % 2


@cuda.jit
def leaves(x: Any, out: Any, n: Any) -> None:
    t = cuda.threadIdx.x
    i = 0
    while True:
        if i > t % 5 + n:
            break
        i += 1
        if t % 2 == 1 and i < 3:
            continue
        out[i * 32 + t] = x[i * 32 + t]


def traced(kernel: Any) -> Trace:
    with recording() as traces:
        kernel[1, 32](*arguments())
    return traces[0]


def arguments() -> tuple[Any, ...]:
    return np.ones(32 * 20, np.float32), np.zeros(32 * 20, np.float32), np.int32(9)


@pytest.mark.parametrize("kernel", [skips, continues, breaks, breaks_inside], ids=lambda kernel: kernel.__name__)
def test_requests_and_sectors_are_those_of_the_ptx(kernel: Any) -> None:
    counts = [
        (trace.global_reads, trace.global_read_requests, trace.read_sectors_per_request)
        for trace in (traced(kernel), trace_kernel(kernel, 1, 32, *arguments()))
    ]
    assert counts[0] == counts[1]


def test_break_and_continue_in_while() -> None:
    """The compiler makes two nested loops of this one; in the source lanes go around it together."""
    trace = traced(leaves)
    # Lane t makes 10 + t % 5 turns; in the first two, odd lanes continue.
    assert trace.global_reads == sum(10 + t % 5 - 2 * (t % 2) for t in range(32))
    assert (trace.global_read_requests, trace.most_read_sectors) == (14, 4)


def test_kernels_with_closures_and_errors_in_loops_keep_their_places() -> None:
    step = 2

    @cuda.jit
    def inner(x: Any) -> None:
        i = 0
        while i < 8:
            x[i] = 1.0
            if i == 6:
                x[i * 100] = 1.0
            i += step

    with pytest.raises(IndexError) as caught:
        inner[1, 1](np.zeros(8, np.float32))
    assert "x[i * 100] = 1.0" in str(caught.value)


def test_a_source_that_is_not_the_kernels_changes_nothing() -> None:
    source = "def kernel(x):\n    while x[0] < 3:\n        x[0] += 1\n"
    namespace: dict[str, Any] = {}
    exec(compile(source, "/kernels/changed.py", "exec"), namespace)
    code = namespace["kernel"].__code__
    for text in (source.replace("< 3", "< 4"), "", "x = 3\n"):
        lines = text.splitlines(keepends=True)
        linecache.cache["/kernels/changed.py"] = (len(text), None, lines, "/kernels/changed.py")
        _known.clear()
        assert counting(code) is code
    linecache.cache["/kernels/changed.py"] = (len(source), None, source.splitlines(True), "/kernels/changed.py")
    _known.clear()
    assert counting(code) is not code
