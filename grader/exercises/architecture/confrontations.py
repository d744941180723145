"""How the exercises on GPU architecture are checked on the GPU."""

from __future__ import annotations

from typing import Any

from gpulab import check
from grader.exercises.architecture import offloading, rates, warps
from grader.exercises.confront import Confrontation, Unusable

FASTER = 1.05
"""A rate that exceeds a peak by less than that comes from rounded clocks."""
LEAST_SHARE = 0.5
"""Of a peak that is reached. Published: multiply-adds 0.62 to 0.98 at the clock that was recorded with them, copies
0.66 to 0.95 (gpu-benches, V100 to H200)."""


def _limit(
    answer: Any, reached: float, what: str, least: float, faster: float = FASTER, slips: dict[float, str] | None = None
) -> None:
    """Refuses a limit that the GPU exceeded by more than `faster`, and one of which it did not reach `least`."""
    check.within(answer, reached, what, factor=1 / least, mistakes=slips)
    if float(answer) < reached:
        check.within(answer, reached, what, factor=faster, mistakes=slips)


def _positive(*values: float) -> None:
    """Raises Unusable unless all are: no clock, rate or time is 0."""
    if not all(0 < value < float("inf") for value in values):
        raise Unusable(f"not all of these are above 0 and finite: {values}")


def peaks(answer: Any, readings: Any) -> None:
    """The peaks of this GPU, at the clock that it had, against a multiply-add kernel and a copy."""
    row, tflops, gbs = readings["row"], readings["tflops"], readings["gbs"]
    _positive(*row.values(), tflops, gbs)
    found = answer(dict(row))
    what = f"fp32_tflops of this GPU, {row}; a kernel of multiply-adds reached {tflops:.3g}"
    fma = {tflops / 2: "A multiply-add is two operations: multiply and add."}
    _limit(found["fp32_tflops"], tflops, what, LEAST_SHARE, slips=fma)
    what = f"bandwidth_gbs of this GPU, {row}; a copy reached {gbs:.4g}"
    bits = {gbs * 8: "The bus is counted in bits, bandwidth in bytes: divide by 8."}
    _limit(found["bandwidth_gbs"], gbs, what, LEAST_SHARE, slips=bits)


def driver_says(answer: Any, readings: Any) -> None:
    """The driver's number of blocks on an SM, for each kernel and block size."""
    sm, parts = readings["sm"], readings["parts"]
    _positive(*sm.values(), parts)
    told = [blocks * -(-block["threads"] // sm["warp_size"]) for block, blocks in readings["cases"]]
    if not told or max(told) > sm["max_warps"] or min(told) < 0 or len(set(told)) < 3:
        raise Unusable(f"the driver counts {sorted(set(told))} warps on an SM with {sm['max_warps']} places")
    for (block, blocks), active in zip(readings["cases"], told, strict=True):
        # Each part of an SM hands out its own registers: the rests of two parts do not add up to a warp's share.
        per_warp = -(-block["registers_per_thread"] * sm["warp_size"] // sm["register_unit"]) * sm["register_unit"]
        here = sm | {"registers": parts * (sm["registers"] // parts // per_warp) * per_warp}
        what = f"{block} on this GPU, whose SM has {here}: the driver allows {blocks} of these blocks on it at a time"
        check.close(answer(dict(block), dict(here)), active / sm["max_warps"], what, rtol=1e-6)


SAME_COST = 0.1
"""Relative difference of two branches of the same length."""
SERIAL = 1.25
"""What a warp pays over the sum of its branches, or the other way round: it also has to come together again."""


def clocked(answer: Any, readings: Any) -> None:
    """Cycles by the SM's own counter, for warps whose lanes take different branches."""
    costs = list(readings["costs"])
    _positive(*costs, *(cycles for _, _, cycles in readings["patterns"]))
    if abs(costs[1] - costs[3]) > SAME_COST * costs[1] or costs[0] > 0.5 * costs[1]:
        raise Unusable(f"branches of {warps.STEPS} steps cost {costs} cycles")
    costs[3] = costs[1]
    for name, branches, cycles in readings["patterns"]:
        what = f"{name}, {len(branches)} threads, branches that cost {costs} cycles; the GPU's clock counted {cycles}"
        check.within(answer(list(branches), dict(enumerate(costs))), cycles, what, factor=SERIAL)


SLOPE = 2.5
"""Away from the ridge by this factor, on either side, one of the two roofs decides alone."""
REACHED = 0.6
"""Of the roof, there. Published: 0.91 to 1 (H200, L40, A100, A40; gpu-benches)."""
NEAR_THE_RIDGE = 0.4
"""Of the roof, elsewhere: both roofs count there, and the power of both. Published: 0.67 to 0.88."""


def swept(answer: Any, readings: Any) -> None:
    """TFLOPS by intensity: no point lies above the roof of the highest rates, and away from the ridge it is near."""
    points = readings["points"]
    _positive(*(value for point in points for value in point))
    peak = max(tflops for _, tflops in points)
    gbs = max(1000 * tflops / intensity for intensity, tflops in points)
    ridge = 1000 * peak / gbs
    away = [intensity for intensity, _ in points if not ridge / SLOPE < intensity < ridge * SLOPE]
    if len({intensity < ridge for intensity in away}) < 2:
        raise Unusable(f"no roofline: no slope, or no flat part, around {ridge:.3g} FLOP/byte")
    for intensity, tflops in points:
        reached = f"this GPU, which came to {peak:.4g} TFLOPS and {gbs:.4g} GB/s"
        what = f"{intensity:g} FLOP/byte on {reached}; a kernel of that intensity did {tflops:.4g} TFLOPS"
        _limit(answer(intensity, peak, gbs), tflops, what, REACHED if intensity in away else NEAR_THE_RIDGE)


BOUND = {"vector": 0.5, "thin": 0.3}
"""Share of the memory's rate that a product comes to, at least: with a vector, and of two thin matrices."""
READS_FASTER = 1.2
"""The memory may serve one kernel faster than another. Published: reading over copying 0.87 to 1.14 (gpu-benches)."""


def products(answer: Any, readings: Any) -> None:
    """FLOPs that the GPU did for every byte that its memory could have moved, in products that memory limits."""
    gbs, size = readings["gbs"], readings["bytes_per_element"]
    _positive(gbs, size, *(tflops for *_, tflops in readings["products"]))
    for m, n, k, tflops in readings["products"]:
        per_byte = 1000 * tflops / gbs
        done = f"this GPU did {tflops:.3g} TFLOPS, and its memory moves {gbs:.4g} GB/s"
        what = f"({m}×{k}) times ({k}×{n}), {size} bytes per element: {done}"
        half = {per_byte / 2: "A multiplication and an addition are 2 FLOPs."}
        least = BOUND["vector" if 1 in (m, n) else "thin"]
        _limit(answer(m, n, k, size), per_byte, what, least, faster=READS_FASTER, slips=half)


IN_FLIGHT = 1.35
"""Requests in flight by Little's law over those that there were, or the other way round: warps do not all start and
end together, and some SMs are farther from a memory controller than others. Published: 0.95 to 1.25 (gpu-benches, V100
to H100: reads by 1 to 8 warps per SM, with the latency of a pointer chase)."""


def waiting(answer: Any, readings: Any) -> None:
    """Warps that waited for memory, against the bandwidth that they had and the latency that they saw."""
    sms, size = readings["sm_count"], readings["request_bytes"]
    _positive(sms, size, *(value for flight in readings["flights"] for value in flight))
    for there, requests, latency_ns, gbs in readings["flights"]:
        each = f"{there} warps on each of this GPU's {sms} SMs, with {requests} × {size} bytes in flight per warp"
        what = f"{each}, waited {latency_ns:.4g} ns for a read and had {gbs:.4g} GB/s; warps with one request each"
        check.within(answer(latency_ns, gbs, size, sms), there * requests, what, factor=IN_FLIGHT)


CLEAR = 0.7
"""Of the time that a job took: what its stations take by themselves is not below that, and not above its inverse."""


def jobs_done(answer: Any, readings: Any) -> None:
    """Whole jobs, timed on this machine, against a CPU that is clearly faster, and one that is clearly slower."""
    order = ("bytes_in", "bytes_out", "flops", "link_gbs", "cpu_gflops", "gpu_gflops", "launch_us")
    for name, job, seconds in readings["jobs"]:
        _positive(job["flops"], job["link_gbs"], job["gpu_gflops"], job["launch_us"], seconds)
        for on_cpu in (CLEAR * seconds, seconds / CLEAR):
            given = job | {"cpu_gflops": job["flops"] / on_cpu / 1e9}
            shown = ", ".join(f"{word} {given[word]:.4g}" for word in order)
            times = (
                f"this machine's GPU took {1e3 * seconds:.4g} ms, and a CPU of this rate takes {1e3 * on_cpu:.4g} ms"
            )
            check.equal(answer(*(given[word] for word in order)), seconds < on_cpu, f"{name} ({shown}): {times}")


def crossed(answer: Any, readings: Any) -> None:
    """Times of this machine's CPU and GPU, in the order in which they were taken."""
    sizes, cpu, gpu = (readings[name] for name in ("sizes", "cpu_seconds", "gpu_seconds"))
    _positive(*cpu, *gpu)
    rows = list(zip(sizes, cpu, gpu, strict=True))
    lost = max((size for size, here, there in rows if there >= here), default=0)
    expected = min((size for size in sizes if size > lost), default=None)
    shown = "; ".join(f"{size}: {here:.3g}, {there:.3g}" for size, here, there in rows)
    what = f"matrix products timed on this machine (size: CPU seconds, GPU seconds), {shown}"
    check.equal(answer(list(sizes), list(cpu), list(gpu)), expected, what)


CONFRONTATIONS = [
    Confrontation(
        "peak_rates",
        "The peaks of this GPU's row are compared with the rates that a kernel of multiply-adds and a copy reached.",
        rates.peak,
        peaks,
    ),
    Confrontation(
        "occupancy",
        "Occupancies are compared with the driver's `cuOccupancyMaxActiveBlocksPerMultiprocessor` for 20 compiled "
        "kernels in blocks of four sizes, with the registers and the shared memory that the driver reports.",
        warps.occupancies,
        driver_says,
    ),
    Confrontation(
        "divergent_cycles",
        "Cycles are compared with those that the SM's own clock counted for warps whose lanes take different branches.",
        warps.divergence,
        clocked,
    ),
    Confrontation(
        "attainable_tflops",
        "Rates are compared with those of a kernel whose arithmetic intensity varies from 1/4 to 512 FLOP per byte.",
        rates.roofline,
        swept,
    ),
    Confrontation(
        "matmul_intensity",
        "Intensities are compared with the FLOPs per byte of memory traffic that memory-bound products reached.",
        rates.products,
        products,
    ),
    Confrontation(
        "warps_to_hide",
        "Numbers of warps are compared with those of a kernel whose warps wait for their reads, with its latency and "
        "rate.",
        warps.flights,
        waiting,
    ),
    Confrontation(
        "offload_pays",
        "Verdicts are compared with the times of five jobs, given the rates of link, launches and arithmetic timed "
        "alone.",
        offloading.stations,
        jobs_done,
    ),
    Confrontation(
        "crossover",
        "The size is compared with the times of matrix products on this machine's CPU, and on its GPU with both "
        "copies.",
        offloading.crossing,
        crossed,
    ),
]

ON_DEVICE: dict[str, tuple[str, str]] = {}

NONE = {"WORKERS": "a menu of words about processes, threads and coroutines, which run on the CPU."}
