"""Tiles and waves as this GPU has them: blocks of which each fills a multiprocessor, timed and counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpulab import check
from grader.exercises.confront import Unusable

WAVE_CU = r"""
extern "C" __global__ void __launch_bounds__(1024, 1)
wave(long long cycles, const float* seeds, float* sink, unsigned* sm) {
    float kept[48];  // 48 registers for each of 1,024 threads: no second block fits on the multiprocessor
    for (int i = 0; i < 48; i++)
        kept[i] = seeds[i];
    long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
    float sum = 0.0f;
    for (int i = 0; i < 48; i++)
        sum = fmaf(sum, kept[i], kept[i]);
    if (sum > 0.0f)
        sink[threadIdx.x] = sum;
    if (threadIdx.x == 0)
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm[blockIdx.x]));
}
"""
CYCLES = 2_000_000
"""That a block waits: some 1 ms, hundreds of launches long: what a launch adds must not count against three waves."""
COVER_CU = r"""
extern "C" __global__ void cover(int m, int n, int tile_m, int tile_n, unsigned* counts) {
    int row = blockIdx.y * tile_m, column = blockIdx.x * tile_n;
    if (row >= m || column >= n)
        return;
    if (threadIdx.x == 0)
        atomicAdd(&counts[0], 1u);
    for (int at = threadIdx.x; at < tile_m * tile_n; at += blockDim.x) {
        atomicAdd(&counts[1], 1u);
        if (row + at / tile_n < m && column + at % tile_n < n)
            atomicAdd(&counts[2], 1u);
    }
}
"""
SHAPES = ((10, 11, 3, 2), (64, 96, 32, 16), (100, 70, 16, 32), (33, 8, 4, 8))
"""m, n of a result, and the rows and columns of its tiles."""
UNEVEN = 0.2
"""How far from a whole number of waves a time may be."""


def waves() -> dict[str, Any]:
    """Multiprocessors by the driver, times of numbers of blocks around whole waves, and tiles that blocks covered."""
    import torch

    from gpulab import cuda_cpp

    kernel = cuda_cpp.gpu_kernel(WAVE_CU, "wave")
    count = int(torch.cuda.get_device_properties(0).multi_processor_count)
    numbers = sorted({count // 2, count - 1, count, count + 1, 2 * count - 1, 2 * count, 2 * count + 1, 3 * count})
    runs = [[tiles, *timed(kernel, tiles)] for tiles in numbers if tiles]
    return {"sm_count": count, "runs": runs, "covered": [covered(*shape) for shape in SHAPES]}


def timed(kernel: Any, tiles: int) -> tuple[float, int]:
    """Milliseconds of so many blocks of `wave`, and the multiprocessors that they ran on."""
    import torch
    from cuda.core import Device, LaunchConfig, launch

    from grader.exercises import on_gpu

    seeds, sink = torch.zeros(48, device="cuda"), torch.zeros(1024, device="cuda")
    sm = torch.zeros(tiles, dtype=torch.int32, device="cuda")
    stream, shape = Device(torch.cuda.current_device()).default_stream, LaunchConfig(grid=tiles, block=1024)
    given = np.int64(CYCLES), seeds.data_ptr(), sink.data_ptr(), sm.data_ptr()
    ms = on_gpu.median_ms(lambda: launch(stream, shape, kernel, *given), rounds=9)
    return ms, len(set(sm.tolist()))


def covered(m: int, n: int, tile_m: int, tile_n: int) -> dict[str, int]:
    """Tiles of a result that blocks found there, the elements they went through, and those inside the result."""
    from gpulab import cuda_cpp

    grid = (n // tile_n + 2, m // tile_m + 2)  # more than enough: the blocks themselves see which are needed
    (counts,) = cuda_cpp.run(COVER_CU, "cover", grid, 32, m, n, tile_m, tile_n, np.zeros(3, np.uint32))
    shape = {"m": m, "n": n, "tile_m": tile_m, "tile_n": tile_n}
    return shape | dict(zip(("tiles", "computed", "inside"), map(int, counts), strict=True))


def check_quantization(answer: Any, readings: Any) -> None:
    """`quantization` counts tiles as the blocks did, and waves as the clock did."""
    count = readings["sm_count"]
    one_ms = _wave_ms(readings)
    for tiles, ms, _ in readings["runs"]:
        what = f"{tiles} tiles on the {count} SMs of this GPU, which took {ms:.4g} ms, where {count} took {one_ms:.4g}"
        found = answer(tiles, 1, 1, 1, count)
        check.equal(found["waves"], round(ms / one_ms), f"{what}: waves")
        share = tiles * one_ms / (count * ms)
        check.close(found["wave_efficiency"], share, f"{what}: wave_efficiency", rtol=2 * UNEVEN)
    for one in readings["covered"]:
        shape = [one[name] for name in ("m", "n", "tile_m", "tile_n")]
        if not one["inside"] == one["m"] * one["n"] <= one["computed"]:
            raise Unusable(f"tiles of {shape} had {one['inside']} elements inside the result, of {one['computed']}")
        what = "{} × {} in tiles of {} × {}".format(*shape)
        what = f"{what}, for which this GPU ran {one['tiles']} blocks with {one['computed']} elements"
        found = answer(*shape, count)
        check.equal(found["tiles"], one["tiles"], f"{what}: tiles")
        check.close(found["tile_efficiency"], one["inside"] / one["computed"], f"{what}: tile_efficiency", rtol=1e-6)


def _wave_ms(readings: Any) -> float:
    """Milliseconds of one full wave.

    Raises:
        Unusable: a time is no multiple of it, or two blocks shared a multiprocessor.
    """
    full = next((run for run in readings["runs"] if run[0] == readings["sm_count"]), None)
    if full is None or not full[1] > 0:
        raise Unusable("there is no time of a full wave")
    for tiles, ms, used in readings["runs"]:
        if used != min(tiles, readings["sm_count"]):
            raise Unusable(f"{tiles} blocks ran on {used} multiprocessors: they shared one, or waited for one")
        turns = ms / full[1]
        if round(turns) < 1 or abs(turns - round(turns)) > UNEVEN:
            raise Unusable(f"{tiles} blocks took {turns:.3g} times as long as a full wave, no whole number")
    return float(full[1])
