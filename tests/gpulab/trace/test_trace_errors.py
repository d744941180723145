"""What a GPU would not carry out as written: each is reported with its line, thread and block."""

from __future__ import annotations

import pickle
import re
import sys
import time
from typing import Any

import numpy as np
import pytest
import trace_kernels as kernels
from numba import cuda, float32
from traced_arrays import zeros

from gpulab import trace
from gpulab.trace.log import Log
from gpulab.trace.python import interruption
from gpulab.trace.python.engine import Engine
from gpulab.trace.python.execute import traced_run
from gpulab.trace.python.interruption import Budget

pytestmark = pytest.mark.usefixtures("only_the_tracer")


@cuda.jit
def no_guard(x, out):
    i = cuda.grid(1)
    out[i] = x[i]


def test_index_behind_the_end() -> None:
    with pytest.raises(trace.OutOfBoundsError) as caught:
        trace.run(no_guard, 2, 64, zeros(100), zeros(128))
    expected = (
        "x[100] is out of bounds: 'x' has 100 elements, 0 to 99. It was thread (36, 0, 0) of block (1, 0, 0), line "
    )
    assert str(caught.value).startswith(expected)
    assert str(caught.value).endswith(": out[i] = x[i].")
    assert (caught.value.thread, caught.value.block) == ((36, 0, 0), (1, 0, 0))
    assert caught.value.line == no_guard.py_func.__code__.co_firstlineno + 3
    assert isinstance(caught.value, IndexError)


def test_errors_survive_pickling() -> None:
    with pytest.raises(trace.OutOfBoundsError) as caught:
        trace.run(no_guard, 2, 64, zeros(100), zeros(128))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.line, again.thread) == (str(caught.value), caught.value.line, caught.value.thread)


def test_negative_index() -> None:
    """Numba's compiled code would take it from the end, CUDA C++ from somebody else's memory."""

    @cuda.jit
    def left_neighbor(x, out):
        i = cuda.grid(1)
        out[i] = x[i - 1]

    with pytest.raises(trace.OutOfBoundsError, match=re.escape("Write x.shape[0] - 1 if you mean that")):
        trace.run(left_neighbor, 1, 32, zeros(32), zeros(32))


def test_index_outside_one_axis_of_two() -> None:
    @cuda.jit
    def swapped(x):
        column, row = cuda.grid(2)
        x[column, row] = 1

    with pytest.raises(
        trace.OutOfBoundsError, match=re.escape("x[4, 0] is out of bounds: 'x' has shape (4, 8), and 4")
    ):
        trace.run(swapped, 1, (8, 4), zeros(4, 8))


@pytest.mark.parametrize("space", ["shared", "local"])
def test_index_outside_a_tile(space: str) -> None:
    @cuda.jit
    def shared_short():
        tile = cuda.shared.array(32, float32)
        tile[cuda.threadIdx.x + 1] = 0

    @cuda.jit
    def local_short():
        mine = cuda.local.array(32, float32)
        mine[cuda.threadIdx.x + 1] = 0

    kernel, name = (shared_short, "tile") if space == "shared" else (local_short, "mine")
    with pytest.raises(trace.OutOfBoundsError, match=f"{space} array '{name}' has 32 elements"):
        trace.run(kernel, 1, 32)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ("i / 2", "0.0 is not an int"),
        ("'a'", "a is not an int"),
        ("(i, 0)", "has 1 dimension."),
        ("x", "is not an int"),
    ],
)
def test_indexes_of_a_wrong_kind(index: str, words: str) -> None:
    scope: dict[str, Any] = {"cuda": cuda}
    exec(f"@cuda.jit\ndef odd(x):\n    i = cuda.grid(1)\n    x[{index}] = 1\n", scope)
    with pytest.raises(trace.UnsupportedError, match=re.escape(words)):
        trace.run(scope["odd"], 1, 2, zeros(4))


def test_barrier_in_a_branch() -> None:
    @cuda.jit
    def branch(x):
        i = cuda.grid(1)
        if i < 40:
            x[i] = 1
            cuda.syncthreads()
        else:
            x[i] = 2
            cuda.syncthreads()

    with pytest.raises(trace.BarrierError) as caught:
        trace.run(branch, 1, 64, zeros(64))
    line = branch.py_func.__code__.co_firstlineno
    assert f"40 threads, such as (0, 0, 0), wait at cuda.syncthreads() in line {line + 5}: cuda.sync" in str(
        caught.value
    )
    assert f"24 threads, such as (40, 0, 0), wait at cuda.syncthreads() in line {line + 8}: cuda.sync" in str(
        caught.value
    )
    assert "put the condition around the work" in str(caught.value)
    assert caught.value.line == line + 5


def test_early_return_before_a_barrier() -> None:
    @cuda.jit
    def early(x, out):
        tile = cuda.shared.array(64, float32)
        i = cuda.grid(1)
        if i >= x.size:
            return
        tile[i] = x[i]
        cuda.syncthreads()
        out[i] = tile[x.size - 1 - i]

    with pytest.raises(
        trace.BarrierError, match=r"50 threads.* wait.*; 14 threads, such as \(50, 0, 0\), have already ret"
    ):
        trace.run(early, 1, 64, zeros(50), zeros(50))
    assert trace.run(early, 1, 50, zeros(50), zeros(50)).barriers == 1


def test_a_lane_misses_a_warp_wide_call() -> None:
    @cuda.jit
    def half(out):
        t = cuda.threadIdx.x
        if t < 16:
            cuda.syncwarp()
        else:
            cuda.syncthreads()
        out[t] = 1

    with pytest.raises(trace.BarrierError, match=r"All lanes that the mask names must make the same call"):
        trace.run(half, 1, 32, zeros(32))


@cuda.jit
def shuffled(x, out, mask, value, distance):
    out[cuda.threadIdx.x] = cuda.shfl_down_sync(mask, value, distance)


@cuda.jit
def value_third(x, out, mask, distance, value):
    out[cuda.threadIdx.x] = cuda.shfl_xor_sync(mask, distance, value + cuda.threadIdx.x)


@pytest.mark.parametrize(
    "kernel, mask, value, distance, words",
    [
        (value_third, -1, 16, 1, "The lanes of a warp pass different distances to a shuffle, such as 32"),
        (value_third, -1, 16, -1, "The lanes of a warp pass different distances to a shuffle, such as -1"),
        (shuffled, -1, 16, np.float32(1.5), "1.5 is not a distance between lanes, which is an int"),
        (shuffled, 1.5, 16, 1, "1.5 is not a mask of lanes, which is an int"),
        (shuffled, 2, 16, 1, "The mask 0x00000002 does not name the lane that passes it"),
    ],
)
def test_arguments_of_a_shuffle_in_another_order(kernel: Any, mask: Any, value: Any, distance: Any, words: str) -> None:
    with pytest.raises(trace.UnsupportedError) as caught:
        trace.run(kernel, 1, 32, zeros(32), zeros(32), mask, value, distance)
    assert str(caught.value).startswith(f"{words} (line ")
    assert str(caught.value).endswith(
        "The mask is the first argument, the value the second, and the distance the third."
    )


def test_a_distance_that_all_lanes_share_may_be_too_far() -> None:
    """A known mistake, whose value tells it: each lane receives its own."""
    out = zeros(32)
    trace.run(shuffled, 1, 32, zeros(32), out, -1, 16, 32)
    assert set(out) == {16}


@cuda.jit
def bare_start(x, out):
    for i in range(cuda.threadIdx, x.size, 32):
        out[i] = x[i]


@cuda.jit
def bare_index(x, out):
    out[cuda.threadIdx] = 1


@cuda.jit
def bare_sum(x, out):
    out[np.int32(1) + cuda.threadIdx] = 1


@cuda.jit
def bare_comparison(x, out):
    if cuda.threadIdx == 0:
        out[0] = 1


@cuda.jit
def unpacked(x, out):
    i, j = cuda.threadIdx
    out[i] = j


@cuda.jit
def another_letter(x, out):
    out[cuda.threadIdx.w] = 1


@pytest.mark.parametrize("kernel", [bare_start, bare_index, bare_sum, bare_comparison, unpacked, another_letter])
def test_thread_index_is_three_numbers(kernel: Any) -> None:
    with pytest.raises(
        trace.UnsupportedError, match=r"^cuda\.threadIdx is three numbers \(line \d+: .*\)\. Write cuda"
    ):
        trace.run(kernel, 1, 32, zeros(64), zeros(64))


@cuda.jit
def grid_of_what(x, out):
    out[cuda.grid()] = 1


@cuda.jit
def added_to_no_place(x, out):
    cuda.atomic.add(out, x[0])


@cuda.jit
def barrier_number(x, out):
    cuda.syncthreads(1)


@pytest.mark.parametrize(
    "kernel, call",
    [
        (grid_of_what, "cuda.grid(dimensions)"),
        (added_to_no_place, "cuda.atomic.add(array, index, value)"),
        (barrier_number, "cuda.syncthreads()"),
    ],
)
def test_wrong_number_of_arguments(kernel: Any, call: str) -> None:
    with pytest.raises(trace.UnsupportedError, match=rf"fit \(line \d+: .*\)\. The call is {re.escape(call)}\.$"):
        trace.run(kernel, 1, 32, zeros(32), zeros(32))


def test_lanes_that_the_mask_leaves_out_are_not_waited_for() -> None:
    @cuda.jit
    def half(out):
        t = cuda.threadIdx.x
        if t < 16:
            out[t] = cuda.shfl_sync(0xFFFF, t, 15)
        else:
            out[t] = -1

    out = zeros(32)
    trace.run(half, 1, 32, out)
    np.testing.assert_array_equal(out, [15] * 16 + [-1] * 16)


@cuda.jit
def spins(x):
    i = cuda.grid(1)
    while i < x.size:
        pass


@cuda.jit
def rewrites(x):
    i = cuda.grid(1)
    while i < x.size:
        x[i] = 1


def test_endless_loop_is_stopped_at_its_line() -> None:
    with pytest.raises(trace.EndlessKernelError) as caught:
        traced_run(spins, 1, 64, [zeros(10)], budget=Budget(seconds=0.3))
    line = spins.py_func.__code__.co_firstlineno
    assert "thread (0, 0, 0) of block (0, 0, 0)" in str(caught.value)
    assert re.search(rf"line ({line + 3}: while i < x.size|{line + 4}: pass)", str(caught.value))
    assert "0 of 64 threads had ended" in str(caught.value)
    assert "Does its loop come to an end for every thread?" in str(caught.value)


def test_endless_accesses_are_stopped_before_memory_is_full() -> None:
    with pytest.raises(trace.EndlessKernelError, match="does not end: thread"):
        traced_run(rewrites, 1, 64, [zeros(10)], budget=Budget(seconds=30, accesses=20_000))


def test_a_launch_that_is_too_large_is_not_called_endless() -> None:
    with pytest.raises(trace.EndlessKernelError, match=r"too large for the tracer: .* Take smaller arrays"):
        traced_run(kernels.copy, 10_000, 128, [zeros(1_280_000), zeros(1_280_000)], budget=Budget(all_seconds=0.4))


def test_a_launch_whose_threads_end_may_take_its_time() -> None:
    """A slow machine would refuse a right kernel otherwise."""

    @cuda.jit
    def counts(out):
        number = 0
        for step in range(40_000):
            number += step
        out[cuda.grid(1)] = number

    began, budget = time.thread_time(), Budget(seconds=0.1, all_seconds=60)
    traced_run(counts, 1, 128, [np.zeros(128, np.int64)], budget=budget)
    assert time.thread_time() - began > 2 * budget.seconds


def test_threads_that_go_round_a_barrier_for_ever() -> None:
    @cuda.jit
    def rounds(x):
        while True:
            cuda.syncthreads()
            x[cuda.grid(1)] += 1

    with pytest.raises(trace.EndlessKernelError, match=r"block \(0, 0, 0\) pass barrier after barrier.* none ends"):
        traced_run(rounds, 1, 64, [zeros(64)], budget=Budget(seconds=0.4))


class Slow:
    """Its end takes a while, and swallows exceptions."""

    def __del__(self) -> None:
        ends_s = time.monotonic() + 0.1
        while time.monotonic() < ends_s:
            pass


def test_an_interruption_that_is_swallowed_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python prints what is raised in a finalizer; a student would wonder about it. Others' are printed as ever."""
    told: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    monkeypatch.setattr(interruption, "_LOOK_EVERY_S", 0.01)
    engine = Engine((1, 1, 1), (1, 1, 1), Log())
    with pytest.raises(trace.EndlessKernelError), interruption.watched(engine, Budget(seconds=0.05)):
        for _ in range(5):
            Slow()
        while True:
            pass
    assert told == []
    assert sys.unraisablehook == told.append


def test_what_runs_afterwards_is_not_interrupted() -> None:
    """An interruption on its way must not hit the next cell."""
    for _ in range(3):
        with pytest.raises(trace.EndlessKernelError):
            traced_run(spins, 1, 1, [zeros(1)], budget=Budget(seconds=0.05))
        assert sum(range(200_000)) == 19_999_900_000
    assert trace.run(kernels.copy, 1, 64, zeros(64), zeros(64)).global_reads == 64
