"""Readings of warps: how many the driver lets live on an SM, what a branch costs them, how many wait for memory."""

from __future__ import annotations

from typing import Any

from grader.exercises.architecture.unguarded_launches import launcher

FEW, LITTLE = 4, 4
LIVE_NUMBERS = (FEW, 22, 28, 30, 35, 37, 44, 53, 61, 70, 90, 120)
"""How many each thread keeps in registers: few of them fill whole units."""
SHARED_BYTES = (1900, 4360, 6676, 8200, 9000, 13700, 20000, 30000)
"""Of a block: on each generation, some lie so that rounding up to whole units costs a block."""
BLOCK_THREADS = (32, 100, 256, 1000)
KERNEL_CU = r"""
extern "C" __global__ void kernel_LIVE_BYTES(const float* x, float* y, int n) {
    __shared__ float tile[BYTES / 4];
    float v[LIVE], first = x[threadIdx.x];
    if (threadIdx.x < BYTES / 4)
        tile[threadIdx.x] = first;
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < LIVE; ++k)
        v[k] = first * k;
    #pragma unroll 1
    for (int i = 0; i < n; ++i) {  // every number is used again, so each stays in a register
        #pragma unroll
        for (int k = 0; k < LIVE; ++k)
            v[k] = fmaf(v[k], v[(k + 1) % LIVE], tile[0]);
    }
    float sum = 0;
    #pragma unroll
    for (int k = 0; k < LIVE; ++k)
        sum += v[k];
    y[threadIdx.x] = sum;
}
"""

DIVERGE_CU = r"""
extern "C" __global__ void diverge(const int* branch, const int* steps, float* out, long long* cycles) {
    int t = threadIdx.x, b = branch[t], mine = steps[b];
    unsigned lanes = __activemask();
    float v = t;
    __syncwarp(lanes);
    long long first = clock64();
    if (b == 0)
        for (int i = 0; i < mine; ++i) v = fmaf(v, 0.5f, 1.0f);  // each needs the one before: the warp pays its latency
    else if (b == 1)
        for (int i = 0; i < mine; ++i) v = fmaf(v, 0.25f, 2.0f);
    else if (b == 2)
        for (int i = 0; i < mine; ++i) v = fmaf(v, 0.125f, 3.0f);
    else
        for (int i = 0; i < mine; ++i) v = fmaf(v, 0.0625f, 4.0f);
    __syncwarp(lanes);
    long long last = clock64();
    out[t] = v;
    if (t % 32 == 0)
        cycles[t / 32] = last - first;
}
"""
STEPS = (500, 1500, 1000, 1500)
"""Of each branch: 1 and 3 cost the same."""
PATTERNS = {
    "two branches in turn": [1, 3] * 16,
    "three branches in turn": [0, 1, 2] * 10 + [0, 1],
    "two warps, one branch in each": [0] * 32 + [1] * 32,
    "a full warp and a short one": [2] * 32 + [1] * 8,
    "one thread of the first warp on another branch": [3] + [0] * 127,
    "one thread of every warp on another branch": ([3] + [0] * 31) * 4,
    "three warps, and a short one that agrees": [0, 2] * 48 + [1] * 16,
}

FLIGHT_CU = r"""
extern "C" __global__ void flight(const unsigned* lines, unsigned mask, int steps, unsigned* out, long long* ns) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    unsigned place = warp * 2654435761u;
    long long first, last;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(first));
    for (int i = 0; i < steps; ++i) {
        unsigned sum = 0;  // of zeros, which the compiler cannot know
        #pragma unroll
        for (int k = 0; k < REQUESTS; ++k)
            sum += __ldcg(lines + (unsigned long long)(((place >> 8) + k * 7919u) & mask) * 32 + lane);
        place = place * 1664525u + 1013904223u + sum;  // the next read waits for these
    }
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(last));
    if (lane == 0)
        ns[warp] = last - first;
    out[blockIdx.x * blockDim.x + threadIdx.x] = place;
}
"""
REQUEST_BYTES = 32 * 4
FLIGHTS = ((4, 1), (8, 1), (16, 1), (16, 8))
"""Warps on each SM, and requests that each has in flight."""


def kernels() -> dict[str, str]:
    """Names and CUDA C++ of twenty kernels that differ in registers and in shared memory."""
    sizes = [(live, LITTLE) for live in LIVE_NUMBERS] + [(FEW, nbytes) for nbytes in SHARED_BYTES]
    return {
        f"kernel_{live}_{nbytes}": KERNEL_CU.replace("LIVE", str(live)).replace("BYTES", str(nbytes))
        for live, nbytes in sizes
    }


def places(major: int) -> dict[str, int]:
    """What an SM has, as the driver tells it, and the units in which it hands it out.

    The units are those of `cuda_occupancy.h`, which comes with the CUDA runtime.

    Args:
        major: of the compute capability.
    """
    from grader.exercises.on_gpu import attribute

    warp_size = attribute("WARP_SIZE")
    return {
        "max_warps": attribute("MAX_THREADS_PER_MULTIPROCESSOR") // warp_size,
        "max_blocks": attribute("MAX_BLOCKS_PER_MULTIPROCESSOR"),
        "registers": attribute("MAX_REGISTERS_PER_MULTIPROCESSOR"),
        "shared_bytes": attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
        "warp_size": warp_size,
        "register_unit": 256,
        "shared_unit": 128 if major >= 8 else 256,
    }


def occupancies() -> dict[str, Any]:
    """What `cuOccupancyMaxActiveBlocksPerMultiprocessor` says of twenty compiled kernels in blocks of four sizes."""
    import torch
    from cuda.bindings import driver
    from cuda.core import Device

    from gpulab.cuda_cpp import gpu_kernel
    from grader.exercises.on_gpu import attribute

    def checked(error: Any, *value: Any) -> Any:
        if error != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"the driver says {error.name} of a kernel's attributes")
        return value[0] if value else None

    name_of, ordinal = driver.CUfunction_attribute, torch.cuda.current_device()
    Device(ordinal).set_current()
    reserved, cases = attribute("RESERVED_SHARED_MEMORY_PER_BLOCK"), []
    for name, source in kernels().items():
        kernel = gpu_kernel(source, name)
        # All that an SM can have of shared memory, not what the driver would choose for this kernel.
        carveout = name_of.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
        checked(*driver.cuKernelSetAttribute(carveout, 100, kernel.handle, ordinal))
        registers, shared = (
            int(checked(*driver.cuKernelGetAttribute(one, kernel.handle, ordinal)))
            for one in (name_of.CU_FUNC_ATTRIBUTE_NUM_REGS, name_of.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
        )
        for threads in BLOCK_THREADS:
            block = {"threads": threads, "registers_per_thread": registers, "shared_bytes": shared + reserved}
            cases.append([block, kernel.occupancy.max_active_blocks_per_multiprocessor(threads, 0)])
    major, minor = attribute("COMPUTE_CAPABILITY_MAJOR"), attribute("COMPUTE_CAPABILITY_MINOR")
    return {"sm": places(major), "parts": parts_of_an_sm(major, minor), "cases": cases}


def parts_of_an_sm(major: int, minor: int) -> int:
    """How many schedulers an SM has, each with registers of its own (`cuda_occupancy.h`)."""
    return 2 if (major, minor) == (6, 0) else 4


def divergence(rounds: int = 5) -> dict[str, Any]:
    """Cycles that each branch costs a warp alone, and those of the warps in `PATTERNS`, by the SM's own counter."""
    import torch

    from gpulab import device

    steps = torch.tensor(STEPS, dtype=torch.int32, device=device())
    start = launcher(DIVERGE_CU, "diverge")

    def clocked(branches: list[int]) -> int:
        branch = torch.tensor(branches, dtype=torch.int32, device=device())
        out, cycles = torch.empty(len(branches), device=device()), torch.zeros(4, dtype=torch.int64, device=device())
        found = []
        for _ in range(rounds):  # the least: the first also fetches the instructions
            start(1, len(branches), branch, steps, out, cycles)
            found.append(int(cycles.sum()))
        return min(found)

    costs = [clocked([branch] * 32) for branch in range(len(STEPS))]
    return {"costs": costs, "patterns": [[name, branches, clocked(branches)] for name, branches in PATTERNS.items()]}


def flights(log2_lines: int = 21, steps: int = 2000) -> dict[str, Any]:
    """For some warps on each SM that wait for their reads: how long a read takes them, and GB/s of all of them.

    Args:
        log2_lines: of the 128-byte lines that they read from.
        steps: reads, one after another, of each warp.
    """
    import numpy as np
    import torch

    from gpulab import device
    from grader.exercises.on_gpu import attribute, median_ms

    sms = attribute("MULTIPROCESSOR_COUNT")
    lines = torch.zeros(32 * 2**log2_lines, dtype=torch.int32, device=device())
    found = []
    for warps, requests in FLIGHTS:
        start = launcher(FLIGHT_CU.replace("REQUESTS", str(requests)), "flight")
        out = torch.empty(sms * warps * 32, dtype=torch.int32, device=device())
        ns = torch.zeros(sms * warps, dtype=torch.int64, device=device())
        arguments = lines, np.uint32(2**log2_lines - 1), np.int32(steps), out, ns
        ms = median_ms(lambda: start(sms, 32 * warps, *arguments), rounds=10)  # noqa: B023 - called at once
        latency_ns = float(ns.double().mean()) / steps
        found.append([warps, requests, latency_ns, sms * warps * requests * steps * REQUEST_BYTES / ms / 1e6])
    return {"sm_count": sms, "request_bytes": REQUEST_BYTES, "flights": found}
