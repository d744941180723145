"""Casts and functions of `math` in a traced kernel: as a GPU computes, not as Python raises."""

from __future__ import annotations

import math
from math import exp

import numba
import numpy as np
import pytest
from numba import cuda, int8, int16

from gpulab import trace
from gpulab.trace.ptx.kernels import trace_kernel


@cuda.jit
def casts(x, out):
    out[0] = int8(x[0])
    out[1] = int16(x[1])
    out[2] = np.uint8(x[0])
    out[3] = numba.int32(x[2])


@cuda.jit
def functions(x, out):
    out[0] = math.exp(x[0])
    out[1] = exp(-x[0])
    out[2] = math.sqrt(-x[0])
    out[3] = math.log(x[1])


@cuda.jit
def from_the_end(x):
    x[-1] = 1.0


@pytest.mark.parametrize("run", [trace.run, trace_kernel])
def test_casts_keep_the_lower_bits(run) -> None:
    out = np.zeros(4, np.int64)
    run(casts, 1, 1, np.array([300, 32768, 2**31]), out)
    assert list(out) == [44, -32768, 44, -(2**31)]


@pytest.mark.parametrize("run", [trace.run, trace_kernel])
def test_functions_give_inf_and_nan(run) -> None:
    out = np.zeros(4)
    run(functions, 1, 1, np.array([800.0, 0.0]), out)
    assert out[0] == math.inf
    assert out[1] == pytest.approx(0.0, abs=1e-300)
    assert math.isnan(out[2])
    assert out[3] == -math.inf


def test_a_negative_index_is_a_mistake_to_the_tracer_and_counts_from_the_end_in_ptx() -> None:
    with pytest.raises(
        trace.OutOfBoundsError, match=r"Is a guard missing.* Numba counts a negative index from the end"
    ):
        trace.run(from_the_end, 1, 1, np.zeros(3, np.float32))
    x = np.zeros(3, np.float32)
    trace_kernel(from_the_end, 1, 1, x)
    assert list(x) == [0, 0, 1]
