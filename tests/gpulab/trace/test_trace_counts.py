"""Sectors, requests, elements and bank conflicts: every number here was worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import racing_kernels
import trace_kernels as kernels
from numba import cuda

from gpulab import trace
from gpulab.trace import LineCount, Trace

N = 1024


pytestmark = pytest.mark.usefixtures("only_the_tracer")


def floats(*shape: int) -> Any:
    return np.random.default_rng(7).random(shape, dtype=np.float32)


def line(result: Trace, kind: str, array: str) -> LineCount:
    (found,) = {
        count.expression: count for count in result.lines if (count.kind, count.array) == (kind, array)
    }.values()
    return found


def test_copy_touches_four_sectors_a_request() -> None:
    """32 lanes × 4 bytes = 128 bytes = 4 sectors."""
    x, out = floats(N), np.zeros(N, np.float32)
    result = trace.run(kernels.copy, 8, 128, x, out)
    np.testing.assert_array_equal(out, x)
    assert (result.global_reads, result.global_writes) == (N, N)
    assert (result.global_read_requests, result.global_write_requests) == (32, 32)
    assert (result.read_sectors_per_request, result.write_sectors_per_request) == (4, 4)
    assert {count.element_bytes for count in result.lines} == {4}
    assert (result.most_read_sectors, result.most_write_sectors) == (4, 4)
    assert (result.blocks, result.threads, result.barriers, result.shared_bytes) == (8, N, 0, 0)
    assert result.bank_conflict_degree == 0
    assert not result.races


@pytest.mark.parametrize(("step", "sectors"), [(1, 4), (2, 8), (3, 12), (4, 16), (8, 32), (32, 32)])
def test_strides(step: int, sectors: int) -> None:
    """32 lanes reach over 32 × step × 4 bytes; at a step of 8 each has a sector of its own."""
    result = trace.run(kernels.strided, 2, 64, floats(128 * step), np.zeros(128, np.float32), step)
    assert result.read_sectors_per_request == result.most_read_sectors == sectors
    assert result.write_sectors_per_request == 4
    assert result.sectors_per_request == (sectors + 4) / 2


@pytest.mark.parametrize("start", [1, 7, 8, 9, 33])
def test_misaligned_start_costs_a_sector(start: int) -> None:
    """Eight float32 to a sector: a start at a multiple of 8 costs nothing, any other one sector more."""
    x = floats(N + 64)[start : start + N]
    result = trace.run(kernels.copy, 8, 128, x, np.zeros(N, np.float32))
    assert result.read_sectors_per_request == (4 if start % 8 == 0 else 5)


def test_float64_moves_twice_the_bytes() -> None:
    result = trace.run(kernels.copy, 8, 128, floats(N).astype(float), np.zeros(N, np.float32))
    assert (result.read_sectors_per_request, result.write_sectors_per_request) == (8, 4)


def test_small_elements_share_sectors() -> None:
    """32 × 1 byte = 1 sector; 32 × 2 bytes = 2."""
    result = trace.run(kernels.copy, 2, 64, np.ones(128, np.uint8), np.ones(128, np.float16))
    assert (result.read_sectors_per_request, result.write_sectors_per_request) == (1, 2)


def test_broadcast_is_one_sector() -> None:
    """All lanes ask for the same element: one sector, 32 elements."""
    result = trace.run(kernels.broadcast, 2, 64, floats(4), np.zeros(128, np.float32))
    assert (result.global_reads, result.global_read_requests, result.read_sectors_per_request) == (128, 4, 1)


def test_partial_warps_and_guards() -> None:
    """Blocks of 40 are warps of 32 and 8: 4 sectors and 1. Of 50 elements the second block has 10."""
    result = trace.run(kernels.copy, 2, 40, floats(50), np.zeros(50, np.float32))
    assert result.threads == 80
    assert result.global_reads == 50
    # Elements 0–31, 32–39, 40–49: 4, 1 and 2 sectors (40–47 is the first, 48–49 the second).
    assert result.global_read_requests == 3
    assert result.read_sectors_per_request == 7 / 3


def test_two_dimensions_run_x_first() -> None:
    """A block of 16 × 16 has warps of two rows: 2 × 64 bytes = 2 × 2 sectors. The bias is read twice by each warp."""
    matrix, bias, out = floats(32, 48), floats(48), np.zeros((32, 48), np.float32)
    result = trace.run(kernels.add_bias, (3, 2), (16, 16), matrix, bias, out)
    np.testing.assert_array_equal(out, matrix + bias)
    assert line(result, "load", "matrix").sectors_per_request == 4
    assert line(result, "load", "bias").sectors_per_request == 2
    assert line(result, "load", "bias").elements == 32 * 48
    assert result.threads == 6 * 256


def test_third_dimension() -> None:
    @cuda.jit
    def cube(out):
        x, y, z = cuda.grid(3)
        out[z, y, x] = 100 * z + 10 * y + x

    out = np.zeros((4, 6, 8), np.int32)
    result = trace.run(cube, (2, 3, 2), (4, 2, 2), out)
    np.testing.assert_array_equal(out, [[[100 * z + 10 * y + x for x in range(8)] for y in range(6)] for z in range(4)])
    # A block of 16 threads is one warp: 4 elements (half a sector) in 2 rows of 2 planes.
    assert (result.global_write_requests, result.write_sectors_per_request) == (12, 4)


def test_walking_along_rows_is_the_worst_case() -> None:
    """Lanes stand in different rows, 256 bytes apart."""
    matrix, factors, out = floats(64, 64), floats(64), np.zeros((64, 64), np.float32)
    result = trace.run(kernels.scale_rows_walking, 2, 32, matrix, factors, out)
    assert line(result, "load", "matrix").sectors_per_request == 32
    assert result.write_sectors_per_request == 32
    # Read again in each of 64 turns, though the compiler of a GPU would keep it in a register.
    assert line(result, "load", "factors").elements == 64 * 64


def test_naive_transpose_stores_one_sector_a_lane() -> None:
    a, b = floats(64, 96), np.zeros((96, 64), np.float32)
    result = trace.run(kernels.transpose_naive, (3, 2), (32, 32), a, b)
    np.testing.assert_array_equal(b, a.T)
    assert (result.read_sectors_per_request, result.write_sectors_per_request) == (4, 32)


@pytest.mark.parametrize(
    ("kernel", "degree", "shared_bytes"),
    [(kernels.transpose_unpadded, 32, 32 * 32 * 4), (kernels.transpose_padded, 1, 32 * 33 * 4)],
)
def test_padding_removes_the_conflicts(kernel: Any, degree: int, shared_bytes: int) -> None:
    a, b = floats(64, 96), np.zeros((96, 64), np.float32)
    result = trace.run(kernel, (3, 2), (32, 32), a, b)
    np.testing.assert_array_equal(b, a.T)
    assert result.sectors_per_request == 4
    assert result.bank_conflict_degree == line(result, "load", "tile").bank_conflict_degree == degree
    assert line(result, "store", "tile").bank_conflict_degree == 1
    assert (result.shared_reads, result.shared_writes) == (64 * 96, 64 * 96)
    assert (result.shared_bytes, result.barriers) == (shared_bytes, 1)


def test_transpose_of_any_shape_stays_coalesced() -> None:
    """Rows of 45 and 70 elements start at any byte: five sectors at most."""
    a, b = floats(70, 45), np.zeros((45, 70), np.float32)
    result = trace.run(kernels.transpose_padded, (2, 3), (32, 32), a, b)
    np.testing.assert_array_equal(b, a.T)
    assert max(result.most_read_sectors, result.most_write_sectors) == 5
    assert result.bank_conflict_degree == 1


@pytest.mark.parametrize(("step", "degree"), [(1, 1), (2, 2), (3, 1), (4, 4), (16, 16), (31, 1), (32, 32), (33, 1)])
def test_bank_conflicts_of_strides(step: int, degree: int) -> None:
    """A stride shares banks by its greatest common divisor with 32."""
    assert trace.run(kernels.shared_stride, 1, 32, np.zeros(32, np.float32), step).bank_conflict_degree == degree


def test_same_word_is_no_conflict() -> None:
    """A step of 0: all lanes want word 0, which is served to all at once."""
    result = trace.run(kernels.shared_stride, 1, 32, np.zeros(32, np.float32), 0)
    assert line(result, "load", "words").bank_conflict_degree == 1


@pytest.mark.parametrize(("step", "degree"), [(1, 1), (2, 2), (4, 4), (16, 4), (0, 1)])
def test_doubles_are_served_in_halves(step: int, degree: int) -> None:
    """8 bytes: each half of the warp has 32 words for 32 banks, at a step of 1 one each. 16 · i mod 64 are 4 places."""
    x = np.arange(64.0)
    result = trace.run(kernels.shared_doubles, 1, 64, x, np.zeros(64), step)
    assert result.bank_conflict_degree == degree
    assert result.read_sectors_per_request == 8


def test_tiling_reads_exactly_a_sixteenth() -> None:
    a, b = floats(64, 64), floats(64, 64)
    naive, tiled = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    first = trace.run(kernels.matmul_naive, (4, 4), (16, 16), a, b, naive)
    second = trace.run(kernels.matmul_tiled, (4, 4), (16, 16), a, b, tiled)
    np.testing.assert_allclose(tiled, a @ b, rtol=1e-5)
    np.testing.assert_allclose(naive, a @ b, rtol=1e-5)
    assert first.global_reads == 2 * 64**3
    assert first.global_reads == 16 * second.global_reads
    # A warp is two rows of 16: of a, the same two elements for 16 lanes each; of b, 16 neighbors.
    assert line(first, "load", "a").sectors_per_request == 2
    assert line(first, "load", "b").sectors_per_request == 2
    assert second.read_sectors_per_request == 4
    assert second.shared_reads == 2 * 64**3
    assert second.bank_conflict_degree == 1
    assert second.barriers == 2 * 64 // 16


def test_tiling_of_any_shape() -> None:
    a, b, c = floats(33, 50), floats(50, 20), np.zeros((33, 20), np.float32)
    result = trace.run(kernels.matmul_tiled, (2, 3), (16, 16), a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    # Every element of a is read once for each of 2 blocks across, of b once for each of 3 blocks down.
    assert result.global_reads == 33 * 50 * 2 + 50 * 20 * 3


def test_tree_reduction() -> None:
    """Per block of 128: 7 steps, 127 additions, one atomic."""
    x, out = floats(1000), np.zeros(1, np.float32)
    result = trace.run(kernels.tree_total, 8, 128, x, out)
    np.testing.assert_allclose(out[0], x.sum(), rtol=1e-5)
    assert (result.global_reads, result.global_writes, result.global_atomics) == (1000, 0, 8)
    # 127 additions read two words each, and the last thread reads the sum.
    assert (result.shared_reads, result.shared_writes) == (8 * (2 * 127 + 1), 8 * (128 + 127))
    assert (result.barriers, result.bank_conflict_degree) == (8, 1)
    # Steps of 64 (2 warps), 32, 16, 8, 4, 2, 1.
    assert [count.requests for count in result.lines if "part[t + half]" in count.expression] == [8 * 8]


def test_moving_average_reads_its_halo_once() -> None:
    """128 + 2r elements for each block of 128."""
    x, out = floats(N), np.zeros(N, np.float32)
    result = trace.run(kernels.moving_average, 8, 128, x, 16, out)
    padded = np.pad(x.astype(float), 16, mode="edge")
    np.testing.assert_allclose(out, np.convolve(padded, np.ones(33) / 33, "valid"), rtol=1e-5)
    assert result.global_reads == 8 * (128 + 32)
    assert not result.unwritten


def test_grid_stride_loop_stays_coalesced() -> None:
    x, y, out = floats(3000), floats(3000), np.zeros(3000, np.float32)
    result = trace.run(kernels.saxpy, 8, 128, 2.0, x, y, out)
    np.testing.assert_allclose(out, 2 * x + y, rtol=1e-6)
    assert (result.global_reads, result.global_writes) == (6000, 3000)
    # 93 full warps and one of 24 lanes, three sectors.
    assert result.write_sectors_per_request == (93 * 4 + 3) / 94


def test_private_histograms_save_global_atomics() -> None:
    x = np.random.default_rng(7).integers(0, 10, 2000).astype(np.int32)
    out, direct = np.zeros(10, np.int32), np.zeros(10, np.int32)
    result = trace.run(kernels.histogram, 4, 128, x, out)
    naive = trace.run(kernels.histogram_global, 16, 128, x, direct)
    np.testing.assert_array_equal(out, np.bincount(x, minlength=10))
    np.testing.assert_array_equal(direct, out)
    assert (result.global_atomics, result.shared_atomics) == (4 * 10, 2000)
    assert (naive.global_atomics, naive.shared_atomics) == (2000, 0)


def test_a_barrier_separates_requests() -> None:
    """Each step is one request to a line of its own. Were turns counted from the start of the kernel, lane 1's first
    store would be put together with lane 0's, one barrier earlier."""
    result = trace.run(kernels.growing, 1, 32, np.zeros(33 * 32, np.float32))
    assert result.global_write_requests == 6
    assert result.global_writes == 1 + 2 + 4 + 8 + 16 + 32
    assert result.write_sectors_per_request == (1 + 1 + 1 + 1 + 2 + 4) / 6


def test_two_branches_are_two_requests() -> None:
    @cuda.jit
    def evens_and_odds(x, out):
        i = cuda.grid(1)
        if i % 2 == 0:
            out[i] = x[i]
        else:
            out[i] = x[i] + 1

    result = trace.run(evens_and_odds, 1, 32, floats(32), np.zeros(32, np.float32))
    assert (result.global_reads, result.global_read_requests, result.read_sectors_per_request) == (32, 2, 4)


def test_lanes_that_leave_a_loop_early_stay_in_step() -> None:
    """Lane t takes t + 1 turns: the first turn has 32 lanes, the last one lane."""

    @cuda.jit
    def triangle(x, out):
        t = cuda.threadIdx.x
        for turn in range(t + 1):
            out[t] += x[32 * turn + t]

    result = trace.run(triangle, 1, 32, floats(1024), np.zeros(32, np.float32))
    reads = line(result, "load", "x")
    assert (reads.elements, reads.requests) == (32 * 33 // 2, 32)
    # Turn k reads elements k to 31 of its own line: 4 sectors up to k = 7, then 3, 2 and 1.
    assert reads.sectors_per_request == 8 * (4 + 3 + 2 + 1) / 32


def test_helper_called_with_both_spaces_counts_for_each() -> None:
    @cuda.jit(device=True)
    def load(array, i):
        return array[i]

    @cuda.jit
    def both(x, out):
        tile = cuda.shared.array(32, np.float32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        cuda.syncthreads()
        out[t] = load(x, t) if t < 8 else load(tile, t)
        out[t] += load(x if t < 16 else tile, t)

    result = trace.run(both, 1, 32, floats(32), np.zeros(32, np.float32))
    loads = {
        (count.array, count.elements, count.requests) for count in result.lines if count.source == "return array[i]"
    }
    assert loads == {("x", 24, 2), ("tile", 40, 2)}
    assert result.bank_conflict_degree == 1


def test_lines_tell_what_each_expression_did() -> None:
    x, y, out = floats(64), floats(64), np.zeros(64, np.float32)
    result = trace.run(kernels.saxpy, 1, 64, 1.0, x, y, out)
    loads = [(count.expression, count.elements) for count in result.lines if count.kind == "load"]
    assert loads == [("x[i]", 64), ("y[i]", 64)]
    assert {count.source for count in result.lines} == {"out[i] = alpha * x[i] + y[i]"}
    worst = result.lines[0].worst
    assert worst.lanes == tuple(range(32))
    assert worst.indexes == tuple((lane,) for lane in range(32))
    assert worst.cost == 4
    shown = str(result).splitlines()
    assert shown[0] == "saxpy: 1 block of 64 threads"
    assert shown[1].endswith("out[i] = alpha * x[i] + y[i]  loads x: 64 elements, 2 requests, 4 sectors/request")


def test_summary_is_plain_and_complete() -> None:
    """It has to cross a process boundary."""
    out = np.zeros(128, np.float32)
    plain = trace.run(racing_kernels.reverse_without_barrier, 1, 128, floats(128), out).summary()
    assert plain["global_reads"] == 128
    assert plain["races"][0]["array"] == "tile"
    assert plain["races"][0]["message"].startswith("race for tile[")
    assert plain["unwritten"][0]["message"].startswith("tile[")
    only_plain(plain)


def only_plain(value: object) -> None:
    assert type(value) in (dict, list, str, int, float, bool, type(None)), repr(value)
    if isinstance(value, dict):
        assert all(type(key) is str for key in value)
        for item in value.values():
            only_plain(item)
    elif isinstance(value, list):
        for item in value:
            only_plain(item)


def test_counting_in_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long launches are counted some blocks at a time."""
    a, b = floats(32, 32), floats(32, 32)
    whole = trace.run(kernels.matmul_tiled, (2, 2), (16, 16), a, b, np.zeros((32, 32), np.float32))
    monkeypatch.setattr("gpulab.trace.python.execute._COUNTED_AT_ONCE", 1)
    monkeypatch.setattr("gpulab.trace.python.engine.ENTRIES_KEPT", 100)
    pieces = trace.run(kernels.matmul_tiled, (2, 2), (16, 16), a, b, np.zeros((32, 32), np.float32))
    assert pieces == whole
