"""Readings of rates: multiply-adds, copies, a sweep over arithmetic intensity, and products that memory limits."""

from __future__ import annotations

from typing import Any

from grader.exercises.architecture.unguarded_launches import launcher

FMA_CU = r"""
extern "C" __global__ void multiply_add(float start, int steps, float* out, long long* cycles, long long* ns) {
    float x = start * threadIdx.x, y = start, u = start + threadIdx.x * start, v = start;
    long long first_cycle = clock64(), first_ns, last_ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(first_ns));
    #pragma unroll 1
    for (int i = 0; i < steps; ++i) {
        #pragma unroll
        for (int k = 0; k < 16; ++k) {  // 64 multiply-adds, each of two registers, so that they are read in time
            x = fmaf(y, x, y);
            u = fmaf(v, u, v);
            y = fmaf(x, y, x);
            v = fmaf(u, v, u);
        }
    }
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(last_ns));
    if (threadIdx.x == 0) {
        cycles[blockIdx.x] = clock64() - first_cycle;
        ns[blockIdx.x] = last_ns - first_ns;
    }
    out[(long long)blockIdx.x * blockDim.x + threadIdx.x] = x + y + u + v;
}
"""
FLOPS_OF_A_STEP = 2 * 64
THREADS = 256

SWEEP_CU = r"""
extern "C" __global__ void sweep(const float4* x, float4* y, int steps, float half, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 v = x[i];
        #pragma unroll 16
        for (int k = 0; k < steps; ++k) {
            v.x = fmaf(v.x, half, half);
            v.y = fmaf(v.y, half, half);
            v.z = fmaf(v.z, half, half);
            v.w = fmaf(v.w, half, half);
        }
        y[i] = v;
    }
}
"""


def multiply_adds(work_ms: float = 10.0) -> tuple[float, float]:
    """TFLOPS of a kernel that does nothing but multiply-adds, and the clock in MHz that the SMs had meanwhile."""
    import numpy as np
    import torch

    from gpulab import device
    from grader.exercises.on_gpu import attribute, median_ms

    blocks = 32 * attribute("MULTIPROCESSOR_COUNT")
    out = torch.empty(blocks * THREADS, device=device())
    cycles, ns = torch.zeros((2, blocks), dtype=torch.int64, device=device())
    start = launcher(FMA_CU, "multiply_add")

    def run(steps: int) -> float:
        return median_ms(lambda: start(blocks, THREADS, np.float32(0), np.int32(steps), out, cycles, ns), rounds=10)

    steps = max(1, int(64 * work_ms / run(64)))
    flops = blocks * THREADS * steps * FLOPS_OF_A_STEP
    ms = run(steps)
    return flops / ms / 1e9, 1000 * float(cycles.sum()) / max(float(ns.sum()), 1.0)


def copy_gbs(most_bytes: int = 2**29) -> float:
    """GB/s, read and written, of a copy that is far larger than any cache."""
    import torch

    from gpulab import device
    from grader.exercises.on_gpu import median_ms

    source = torch.zeros(most_bytes, dtype=torch.uint8, device=device())
    target = torch.empty_like(source)
    return 2 * most_bytes / median_ms(lambda: target.copy_(source)) / 1e6


def peak() -> dict[str, Any]:
    """This GPU as a row for `peak_rates`, with the clock that it had, and the rates that it came to."""
    from grader.exercises.on_gpu import attribute

    major, minor = attribute("COMPUTE_CAPABILITY_MAJOR"), attribute("COMPUTE_CAPABILITY_MINOR")
    tflops, mhz = multiply_adds()
    row = {
        "sm_count": attribute("MULTIPROCESSOR_COUNT"),
        "fp32_lanes_per_sm": fp32_lanes(major, minor),
        "boost_mhz": round(mhz, 1),
        "memory_bus_bits": attribute("GLOBAL_MEMORY_BUS_WIDTH"),
        "memory_gbps_per_pin": 2 * attribute("MEMORY_CLOCK_RATE") / 1e6,  # kHz, and two bits a cycle
    }
    return {"row": row, "tflops": tflops, "gbs": copy_gbs()}


def fp32_lanes(major: int, minor: int) -> int:
    """Multiply-adds of an SM per cycle (CUDA C++ Programming Guide, throughput of native arithmetic instructions)."""
    return 64 if (major, minor) in {(6, 0), (7, 0), (7, 2), (7, 5), (8, 0)} else 128


def roofline(quads: int = 2**24, most_steps: int = 2048) -> dict[str, Any]:
    """FLOP per byte and TFLOPS of a kernel that reads, does more and more with each number, and writes.

    Args:
        quads: how many times four float32 it reads, and writes.
        most_steps: multiply-adds on each number; the intensity is a quarter of it.
    """
    import numpy as np
    import torch

    from gpulab import device
    from grader.exercises.on_gpu import median_ms

    x = torch.zeros(4 * quads, device=device())
    y = torch.empty_like(x)
    start = launcher(SWEEP_CU, "sweep")
    points, steps = [], 1
    while steps <= most_steps:
        arguments = x, y, np.int32(steps), np.float32(0.5), np.int32(quads)
        ms = median_ms(lambda arguments=arguments: start(-(-quads // 256), 256, *arguments), rounds=10)  # type: ignore[misc]
        points.append([steps / 4, 8 * quads * steps / ms / 1e9])
        steps *= 2
    return {"points": points}


def products(side: int = 16384) -> dict[str, Any]:
    """TFLOPS of three products that memory limits, and the GB/s of a copy and of a sum.

    Args:
        side: of the largest matrix; halved where the memory is small.
    """
    import torch

    from gpulab import device
    from grader.exercises.on_gpu import median_ms

    if device().type == "cuda" and torch.cuda.get_device_properties(0).total_memory < 12e9:
        side //= 2
    square = torch.zeros((side, side), device=device())
    vector, narrow = torch.zeros(side, device=device()), torch.zeros((side, 8), device=device())
    target = torch.empty_like(square)
    nbytes = square.numel() * square.element_size()
    gbs = max(
        2 * nbytes / median_ms(lambda: target.copy_(square)) / 1e6, nbytes / median_ms(lambda: square.sum()) / 1e6
    )
    shapes = [
        (1, side, side, lambda: torch.mv(square.T, vector)),
        (side, 1, side, lambda: torch.mv(square, vector)),
        (side, side, 8, lambda: torch.mm(narrow, narrow.T, out=target)),
    ]
    found = [[m, n, k, 2 * m * n * k / median_ms(work) / 1e9] for m, n, k, work in shapes]
    return {"gbs": gbs, "bytes_per_element": square.element_size(), "products": found}
