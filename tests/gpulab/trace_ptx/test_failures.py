"""What a launch says when a GPU would crash, hang, or overwrite other memory: the line, the array, the thread."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from gpulab import cuda_cpp
from gpulab.trace import BarrierError, EndlessKernelError, LaunchError, OutOfBoundsError, TraceError
from gpulab.trace.errors import UnsupportedError
from gpulab.trace.ptx.cpp import launch_source
from gpulab.trace.ptx.launch import Options

KERNELS = r"""
extern "C" __global__ void next(float* x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = x[i + 1];
}
extern "C" __global__ void before(float* x) {
    x[(int)threadIdx.x - 3] = 1.0f;
}
extern "C" __global__ void half_meets(float* x) {
    if (threadIdx.x < 16)
        __syncthreads();
    x[threadIdx.x] = 1.0f;
}
extern "C" __global__ void returns_first(float* x) {
    if (threadIdx.x == 40)
        return;
    __syncthreads();
    x[threadIdx.x] = 1.0f;
}
extern "C" __global__ void for_ever(volatile float* x) {
    while (x[0] == 0.0f) { }
}
extern "C" __global__ void vectors(float* x) {
    float4 four = *(float4*)(x + threadIdx.x);
    x[threadIdx.x] = four.x + four.y + four.z + four.w;
}
extern "C" __global__ void no_array(float* x) {
    float* nothing = (float*)(size_t)(4.0f * x[0]);
    nothing[threadIdx.x] = 1.0f;
}
extern "C" __global__ void tile_end(float* x) {
    __shared__ float tile[64];
    tile[threadIdx.x + 1] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[threadIdx.x];
}
extern "C" __global__ void too_large(float* x) {
    extern __shared__ float bytes[];
    bytes[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = bytes[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void stops(float* x) {
    if (threadIdx.x == 7)
        __trap();
    x[threadIdx.x] = 1.0f;
}
extern "C" __global__ void swapped(float* x) {
    float value = threadIdx.x + 1;
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(0xFFFFFFFF, distance, value);
    x[threadIdx.x] = value;
}
extern "C" __global__ void below_zero(float* x) {
    x[threadIdx.x] = __shfl_up_sync(0xFFFFFFFF, 1, threadIdx.x - 31);
}
extern "C" __global__ void too_far(float* x) {
    x[threadIdx.x] = __shfl_down_sync(0xFFFFFFFF, (float)threadIdx.x, 32);
}
extern "C" __global__ void mask_second(float* x) {
    x[threadIdx.x] = __shfl_xor_sync(threadIdx.x, 0xFFFFFFFF, 1);
}
extern "C" __global__ void any_lane(float* x) {
    x[threadIdx.x] = __shfl_sync(0xFFFFFFFF, (float)threadIdx.x, threadIdx.x + 33);
}
"""


def error_of(name: str, grid: int, block: int, elements: int = 64, **more: Any) -> TraceError:
    with pytest.raises(TraceError) as caught:
        launch_source(KERNELS, name, grid, block, [np.zeros(elements, np.float32)], **more)
    return caught.value


@pytest.mark.parametrize(
    ("name", "grid", "block", "kind", "line", "thread", "words"),
    [
        ("next", 2, 32, OutOfBoundsError, 4, (31, 0, 0), "x[64] is out of bounds: 'x' has 64 elements, 0 to 63. "
         "It was thread (31, 0, 0) of block (1, 0, 0), line 4: x[i] = x[i + 1]."),
        ("before", 1, 64, OutOfBoundsError, 7, (0, 0, 0), "x[-3] is out of bounds"),
        ("half_meets", 1, 32, BarrierError, 11, (0, 0, 0), "16 threads, such as (0, 0, 0), wait at __syncthreads() in "
         "line 11"),
        ("returns_first", 1, 64, BarrierError, 17, (0, 0, 0), "thread (40, 0, 0) has already returned"),
        ("vectors", 1, 16, OutOfBoundsError, 24, (1, 0, 0), "misaligned"),
        ("no_array", 1, 32, OutOfBoundsError, 29, (0, 0, 0), "writes memory through a null pointer"),
        ("tile_end", 1, 64, OutOfBoundsError, 33, (63, 0, 0), "tile[64] is out of bounds: shared array 'tile' has 64"),
        ("too_large", 1, 64, OutOfBoundsError, 39, (0, 0, 0), "the launch gives none"),
        ("stops", 1, 32, TraceError, 45, (7, 0, 0), "stopped itself with a trap"),
    ],
)  # fmt: skip
def test_the_line_and_the_thread_are_named(
    name: str, grid: int, block: int, kind: type, line: int, thread: object, words: str
) -> None:
    error = error_of(name, grid, block)
    assert type(error) is kind
    assert words in str(error)
    assert (error.line, error.thread) == (line, thread)


DISTANCE_THIRD = "The mask is the first argument, the value the second, and the distance the third."


@pytest.mark.parametrize(
    "kernel, words",
    [
        ("swapped", "The lanes of a warp pass different distances to a shuffle, such as 32."),
        ("below_zero", "The lanes of a warp pass different distances to a shuffle, such as -1."),
        ("mask_second", "The mask 0x00000000 does not name the lane that passes it."),
    ],
)
def test_arguments_of_a_shuffle_in_another_order(kernel: str, words: str) -> None:
    error = error_of(kernel, 1, 32)
    assert str(error).startswith(f"{words} {DISTANCE_THIRD} It was thread (")
    assert "sync(" in str(error)


def test_a_distance_that_all_lanes_share_may_be_too_far() -> None:
    """A known mistake, whose value tells it: each lane receives its own."""
    x = np.zeros(32, np.float32)
    launch_source(KERNELS, "too_far", 1, 32, [x])
    np.testing.assert_array_equal(x, np.arange(32))


def test_a_shuffle_from_a_lane_counts_it_modulo_32() -> None:
    x = np.zeros(32, np.float32)
    launch_source(KERNELS, "any_lane", 1, 32, [x])
    np.testing.assert_array_equal(x, (np.arange(32) + 1) % 32)


def test_an_endless_loop_is_given_up_with_its_line() -> None:
    error = error_of("for_ever", 1, 64, options=Options(seconds=0.2))
    assert isinstance(error, EndlessKernelError)
    assert error.line == 21
    assert "0 of 64 threads had ended" in str(error)


def test_more_shared_memory_than_a_block_has_is_refused() -> None:
    error = error_of("too_large", 1, 64, shared_bytes=50_000)
    assert isinstance(error, LaunchError)
    assert "50,000 bytes of shared memory" in str(error)
    assert "49,152" in str(error)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], r"takes 1 argument \(x\), the launch gives 0"),
        ([3], "Parameter 'x' has 8 bytes, the launch gives 4"),
        ([np.zeros((4, 4), np.float32).T[:2]], "'x' is not contiguous"),
        ([[1.0]], "'x' is a list"),
    ],
)
def test_arguments_that_do_not_fit(arguments: list[Any], words: str) -> None:
    with pytest.raises(LaunchError, match=words):
        launch_source(KERNELS, "next", 1, 1, arguments)


def test_a_kernel_of_another_name_is_missed() -> None:
    with pytest.raises(LaunchError, match=r"There is no kernel 'nxt' in the source\. Its kernels: next, before"):
        cuda_cpp.trace(KERNELS, "nxt", 1, 1, np.zeros(1, np.float32))


IN_ANOTHER_SPACE = r"""
extern "C" __device__ int __cudart_own[32];
extern "C" __global__ void named_as_another(const float* x, float* out) {
    __shared__ float tile[32];
    float own[4], v = 0.0f;
    own[threadIdx.x %% 4] = x[threadIdx.x];
    tile[threadIdx.x] = x[threadIdx.x];
    %s
    out[threadIdx.x] = v + own[(threadIdx.x + 1) %% 4] + tile[threadIdx.x];
}
"""
LOADED, STORED, UPDATED = (
    'asm volatile("ld.%s.f32 %%0, [%%1];" : "=f"(v) : "l"(%s) : "memory");',
    'asm volatile("st.%s.f32 [%%0], %%1;" :: "l"(%s), "f"(v) : "memory");',
    'asm volatile("red.%s.add.u32 [%%0], 1;" :: "l"(%s) : "memory");',
)


@pytest.mark.parametrize(
    ("made", "space", "what", "words"),
    [
        (LOADED, "const", "x", "reads 'x' as if it lay in constant memory (.const)"),
        (LOADED, "param", "x", "reads 'x' as if it lay in the memory of parameters (.param)"),
        (STORED, "const", "out", "writes 'out' as if it lay in constant memory (.const)"),
        (STORED, "param", "out", "writes 'out' as if it lay in the memory of parameters (.param)"),
        (UPDATED, "param", "out", "updates 'out' as if it lay in the memory of parameters (.param)"),
        (LOADED, "global", "own", "reads a thread's local memory as if it lay in global memory (.global)"),
        (STORED, "global", "own", "writes a thread's local memory as if it lay in global memory (.global)"),
        (STORED, "global", "tile", "writes shared memory as if it lay in global memory (.global)"),
    ],
)
def test_memory_is_accessed_as_what_it_is(made: str, space: str, what: str, words: str) -> None:
    """Constants and parameters are not counted, and a local address has no place of its own on the host."""
    source = IN_ANOTHER_SPACE % (made % (space, what))
    with pytest.raises(OutOfBoundsError, match=re.escape(words)):
        launch_source(source, "named_as_another", 1, 32, [np.zeros(32, np.float32), np.zeros(32, np.float32)])


def test_no_kernel_writes_to_what_is_named_like_a_table_of_the_compilers() -> None:
    """Such tables are not counted."""
    source = IN_ANOTHER_SPACE % "__cudart_own[threadIdx.x] = 1;"
    with pytest.raises(OutOfBoundsError, match="'__cudart_own', which is constant"):
        launch_source(source, "named_as_another", 1, 32, [np.zeros(32, np.float32), np.zeros(32, np.float32)])


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("ld.param.b64 %0, [beyond_param_0+4096];", "8 bytes from byte 4096 of 'beyond_param_0' on"),
        ("{ .param .b32 own; ld.param.b64 %0, [own+8]; }", "8 bytes from byte 8 of 'own"),
        ("{ .param .b32 own; st.param.b64 [own-8], %0; }", "8 bytes from byte -8 of 'own"),
        ("st.param.b64 [beyond_param_0], %0;", "a kernel's own parameters cannot be changed"),
        ("cp.async.ca.shared.global [%1], [%2], 256;", "'cp.async.ca.shared.global'"),
    ],
)
def test_ptx_that_no_compiler_writes_does_not_reach_this_process(statement: str, words: str) -> None:
    """Named parameters and asynchronous copies are accesses whose places are checked as the kernel is translated."""
    source = r"""
        extern "C" __global__ void beyond(const float* x) {
            __shared__ float tile[64];
            unsigned long long value = 0;
            unsigned to = __cvta_generic_to_shared(tile);
            asm volatile("STATEMENT" : "+l"(value) : "r"(to), "l"(x) : "memory");
        }
    """.replace("STATEMENT", statement)
    with pytest.raises(UnsupportedError, match=re.escape(words)):
        launch_source(source, "beyond", 1, 1, [np.zeros(64, np.float32)])
