"""Races: every racing kernel is reported with its two lines, and no right one is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import racing_kernels
import trace_kernels as kernels
from numba import cuda, float32

from gpulab import trace

pytestmark = pytest.mark.usefixtures("only_the_tracer")


def floats(*shape: int) -> Any:
    return np.random.default_rng(7).random(shape, dtype=np.float32)


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def bins(count: int) -> Any:
    return np.random.default_rng(7).integers(0, 16, count).astype(np.int32)


RIGHT = {
    "copy": (kernels.copy, 2, 64, floats(100), zeros(100)),
    "saxpy": (kernels.saxpy, 8, 128, 2.0, floats(3000), floats(3000), zeros(3000)),
    "add_bias": (kernels.add_bias, (2, 3), (16, 16), floats(40, 30), floats(30), zeros(40, 30)),
    "scale_rows": (kernels.scale_rows_walking, 1, 64, floats(40, 30), floats(40), zeros(40, 30)),
    "transpose_naive": (kernels.transpose_naive, (2, 2), (32, 32), floats(40, 50), zeros(50, 40)),
    "transpose_padded": (kernels.transpose_padded, (2, 2), (32, 32), floats(40, 50), zeros(50, 40)),
    "block_reverse": (kernels.block_reverse, 3, 128, floats(300), zeros(300)),
    "moving_average": (kernels.moving_average, 3, 128, floats(300), 5, zeros(300)),
    "tree_total": (kernels.tree_total, 3, 128, floats(300), zeros(1)),
    "matmul_naive": (kernels.matmul_naive, (2, 2), (16, 16), floats(20, 30), floats(30, 25), zeros(20, 25)),
    "matmul_tiled": (kernels.matmul_tiled, (2, 2), (16, 16), floats(20, 30), floats(30, 25), zeros(20, 25)),
    "histogram": (kernels.histogram, 3, 64, bins(500), np.zeros(16, np.int32)),
    "histogram_global": (kernels.histogram_global, 8, 64, bins(500), np.zeros(16, np.int32)),
    "warp_total": (kernels.warp_total, 2, 64, floats(128), zeros(4)),
    "warp_total_shared": (kernels.warp_total_shared, 1, 32, floats(32), zeros(1)),
    "prefix_sum": (kernels.prefix_sum, 1, 64, floats(64), zeros(64)),
    "dynamic_shared": (kernels.dynamic_shared, 1, 64, floats(64), zeros(64)),
}
RACING = {
    "reverse": (racing_kernels.reverse_without_barrier, 1, 128, floats(128), zeros(128)),
    "tree": (racing_kernels.tree_without_barrier, 1, 128, floats(128), zeros(1)),
    "total": (racing_kernels.total_without_atomic, 1, 64, floats(64), zeros(1)),
    "total of many blocks": (racing_kernels.total_without_atomic, 64, 1, floats(64), zeros(1)),
    "matmul": (racing_kernels.matmul_one_barrier, (2, 2), (16, 16), floats(32, 32), floats(32, 32), zeros(32, 32)),
    "shift": (racing_kernels.shift_in_place, 1, 64, floats(64)),
    "shift of many blocks": (racing_kernels.shift_in_place, 64, 1, floats(64)),
    "blocks": (racing_kernels.last_block_wins, 4, 32, zeros(32)),
    "histogram": (racing_kernels.histogram_no_barrier, 1, 64, bins(64), np.zeros(64, np.int32)),
    "prefix sum": (racing_kernels.prefix_sum_one_buffer, 1, 64, floats(64), zeros(64)),
    "warp": (racing_kernels.warp_total_without_syncwarp, 1, 32, floats(32), zeros(1)),
    "shuffle": (racing_kernels.shuffle_is_no_fence, 1, 32, floats(32), zeros(32)),
}


def run(kernel: Any, grid: Any, block: Any, *arguments: Any) -> trace.Trace:
    shared = 512 if kernel is kernels.dynamic_shared else 0
    copies = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
    return trace.run(kernel, grid, block, *copies, shared_bytes=shared)


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_are_not_accused(name: str) -> None:
    result = run(*RIGHT[name])
    assert list(map(str, result.races)) == []
    assert list(map(str, result.unwritten)) == []


@pytest.mark.parametrize("name", RACING)
def test_racing_kernels_are_told(name: str) -> None:
    races = run(*RACING[name]).races
    assert races
    for race in races:
        assert race.first.verb in ("writes", "updates")
        assert (race.first.block, race.first.thread) != (race.second.block, race.second.thread)


def test_the_two_lines_that_clash_are_named() -> None:
    (race,) = run(*RACING["reverse"]).races
    assert (race.array, race.space, race.index) == ("tile", "shared", (0,))
    assert (race.first.source, race.second.source) == ("tile[t] = x[t]", "out[t] = tile[127 - t]")
    assert (race.first.thread, race.second.thread) == ((0, 0, 0), (127, 0, 0))
    assert race.lines == (race.first.line, race.first.line + 1)
    message = (
        f"race for tile[0] in shared memory: thread (0, 0, 0) of block (0, 0, 0) writes it in line {race.first.line}"
    )
    assert str(race).startswith(message)
    assert str(race).endswith("(out[t] = tile[127 - t]), no barrier between them")


def test_the_second_barrier_is_missed_where_the_next_tile_is_written() -> None:
    races = run(*RACING["matmul"]).races
    found = {(race.array, race.first.source, race.second.source) for race in races}
    assert found == {
        (f"tile_{name}", f"tile_{name}[ty, tx] = {name}[{index}]", "total += tile_a[ty, k] * tile_b[k, tx]")
        for name, index in (("a", "y, start + tx"), ("b", "start + ty, x"))
    }


def test_blocks_are_never_ordered() -> None:
    races = run(*RACING["blocks"]).races
    (race,) = races
    assert race.first.block != race.second.block
    assert str(race).endswith("nothing orders two blocks")


def test_two_dimensional_index_is_given() -> None:
    @cuda.jit
    def clash(out):
        tile = cuda.shared.array((4, 8), float32)
        t = cuda.threadIdx.x
        tile[2, t % 5] = t
        out[t] = 1

    (race,) = trace.run(clash, 1, 8, zeros(8)).races
    assert (race.index, race.first.thread, race.second.thread) == ((2, 0), (0, 0, 0), (5, 0, 0))


def test_views_of_one_array_are_one_memory() -> None:
    """Shifting by one through two arguments that overlap."""

    @cuda.jit
    def shift(source, target):
        i = cuda.grid(1)
        target[i] = source[i]

    x = floats(65)
    assert trace.run(shift, 1, 64, x[1:], x[:64]).races
    assert not trace.run(shift, 1, 64, x[1:].copy(), x[:64]).races


def test_atomics_do_not_race_with_each_other_but_with_plain_reads() -> None:
    @cuda.jit
    def peek(counter, out):
        cuda.atomic.add(counter, 0, 1)
        out[cuda.grid(1)] = counter[0]

    (race,) = trace.run(peek, 1, 32, np.zeros(1, np.int32), np.zeros(32, np.int32)).races
    assert (race.first.verb, race.second.verb) == ("updates", "reads")


def test_a_thread_does_not_race_with_itself() -> None:
    @cuda.jit
    def accumulate(out):
        for _ in range(3):
            out[cuda.grid(1)] += 1

    assert not trace.run(accumulate, 2, 32, zeros(64)).races


def test_reading_what_was_never_written_is_told() -> None:
    """The halo is missing: the neighbors of the first and the last thread were never loaded."""

    @cuda.jit
    def average(x, out):
        tile = cuda.shared.array(34, float32)
        t = cuda.threadIdx.x
        tile[t + 1] = x[t]
        cuda.syncthreads()
        out[t] = tile[t] + tile[t + 1] + tile[t + 2]

    out = zeros(32)
    result = trace.run(average, 1, 32, floats(32), out)
    assert [(read.array, read.index, read.reader.thread) for read in result.unwritten] == [
        ("tile", (0,), (0, 0, 0)),
        ("tile", (33,), (31, 0, 0)),
    ]
    assert str(result.unwritten[0]).startswith(
        "tile[0] was never written: thread (0, 0, 0) of block (0, 0, 0) reads it"
    )
    assert np.isnan(out[[0, 31]]).all()
    assert not result.races


def test_every_block_starts_with_fresh_shared_memory() -> None:
    @cuda.jit
    def leftovers(out):
        tile = cuda.shared.array(32, float32)
        if cuda.blockIdx.x == 0:
            tile[cuda.threadIdx.x] = 1
        cuda.syncthreads()
        out[cuda.grid(1)] = tile[cuda.threadIdx.x]

    out = zeros(64)
    assert trace.run(leftovers, 2, 32, out).unwritten
    assert np.isnan(out[32:]).all()
