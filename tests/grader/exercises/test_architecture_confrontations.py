"""Chapter 01 against readings: which answers they refuse, and that they can be taken."""

from __future__ import annotations

from typing import Any

from confronted import findings, sentences
from courses import ROOT

from gpulab import table
from grader.authoring.myst import read_source
from grader.dev.gpu_rows import met
from grader.exercises.architecture import confrontations, offloading, warps

NAMED = {one.exercise: one for one in confrontations.CONFRONTATIONS}


def found(exercise: str, plausible: Any, broken: Any, passing: dict[str, str] | None = None) -> list[str]:
    return findings(NAMED[exercise], "01", plausible, broken, passing)


def test_every_exercise_says_how_it_meets_the_gpu() -> None:
    assert len(met(read_source(ROOT / "solutions" / "01_gpu_architecture.md"))) == 10
    assert sentences(confrontations.CONFRONTATIONS) == []


# --------------------------------------------------------------------------------------------------------- peak rates


def at_peak(gpu: str, mhz: float, tflops: float, gbs: float) -> dict[str, Any]:
    (row,) = [row for row in table("gpus") if row["gpu"] == gpu]
    columns = ("sm_count", "fp32_lanes_per_sm", "memory_bus_bits", "memory_gbps_per_pin")
    return {"row": {name: row[name] for name in columns} | {"boost_mhz": mhz}, "tflops": tflops, "gbs": gbs}


# gpu-benches at 1c36d509, gpu-roofline at its highest intensity, with the clock recorded there, and gpu-stream, scale.
AT_PEAK = {
    "H200, published": at_peak("H200", 1980, 42.4, 3165),
    "A100 40GB, published": at_peak("A100 40GB", 1410, 19.05, 1390),
    "L4 at its power limit": at_peak("L4", 1230, 17.4, 268),
    "T4 at its power limit": at_peak("T4", 870, 4.3, 235),
    "V100, published copy": at_peak("V100", 1380, 13.7, 804),
    "RTX 4090": at_peak("RTX 4090", 2745, 86.1, 921),
    "RTX 3060": at_peak("RTX 3060", 1935, 13.4, 331),
    "B200": at_peak("B200", 1920, 70.5, 6600),
    "a laptop's RTX 4060": at_peak("RTX 4060 Laptop", 2100, 12.6, 232),
}


def test_peak_rates() -> None:
    good = AT_PEAK["RTX 4090"]
    broken = {
        "no clock of the memory": good | {"row": good["row"] | {"memory_gbps_per_pin": 0}},
        "a clock in kHz": good | {"row": good["row"] | {"boost_mhz": 2_745_000}},
        "lanes of another generation": good | {"row": good["row"] | {"fp32_lanes_per_sm": 64}},
        "a copy that stayed in the cache": good | {"gbs": 3900},
        "a copy that another program slowed down": good | {"gbs": 210},
        "times of launches": good | {"tflops": 4100},
    }
    binary = (
        "binary giga",
        "a mega of 2**20",
        "from mega to tera by 1024 twice",
        "from megabytes to gigabytes by 1024",
    )
    passing = dict.fromkeys(binary, "a copy reaches 66 to 95% of the peak, so 7% cannot be told from the spread")
    names = ("looks the bandwidth up where a row has it", "looks both up where a row has them")
    names += ("the tensor cores' rate where a row has one",)
    passing |= dict.fromkeys(names, "a row of readings holds counts only")
    assert found("peak_rates", AT_PEAK, broken, passing) == []


# ---------------------------------------------------------------------------------------------------------- divergence


def in_cycles(cost_of_a_step: float, around: int, together: float = 1.0) -> dict[str, Any]:
    """Cycles as a GPU would count them: so many for a step, so many for each branch and for coming together again."""
    costs = [round(cost_of_a_step * steps) + around for steps in warps.STEPS]
    patterns = []
    for name, branches in warps.PATTERNS.items():
        parts = [set(branches[at : at + 32]) for at in range(0, len(branches), 32)]
        cycles = sum(costs[branch] * (together if len(part) > 1 else 1) for part in parts for branch in part)
        patterns.append([name, branches, round(cycles) + 9 * len(parts)])
    return {"costs": costs, "patterns": patterns}


def test_divergent_cycles() -> None:
    plausible = {
        "four cycles for a multiply-add": in_cycles(4.1, 40),
        "eight, in a loop that is not unrolled": in_cycles(8.3, 60),
        "branches that take a little longer together": in_cycles(4.5, 35, together=1.15),
        "branches that overlap a little": in_cycles(4.5, 35, together=0.88),
    }
    good = plausible["four cycles for a multiply-add"]
    broken = {
        "no counter": good | {"costs": [0, 0, 0, 0]},
        "branches that became one": good | {"costs": [6000, 6000, 6000, 6000]},
        "a branch left out by the compiler": good | {"costs": [2000, 6000, 4000, 12]},
        "interrupted": good | {"patterns": [[name, part, 9 * cycles] for name, part, cycles in good["patterns"]]},
        "branches at the same time": in_cycles(4.1, 40, together=0.5),
    }
    passing = {
        "warps of 32 whatever is asked": "a GPU has no others",
        "a float": "cycles are compared within a tolerance, whatever their type",
        "a short warp filled with branch 0": "branch 0 is the shortest, and lies within the tolerance",
        "eats its argument": "what it returns is right; that the argument changed is for the rest of the test",
        "the last thread of each warp is missing": "no measured warp has a branch that its last thread alone takes",
        "a cycle for the check": "one cycle more or less lies within the tolerance",
        "the costs as a list": "the measured branches are numbered from 0",
        "a branch of 0 cycles costs one": "every measured branch takes time",
    }
    assert found("divergent_cycles", plausible, broken, passing) == []


# ------------------------------------------------------------------------------------------------------------ roofline


def sweep(peak: float, gbs: float, at_the_ridge: float = 0.85) -> dict[str, Any]:
    points = []
    for power in range(-2, 10):
        compute, memory = peak, 2.0**power * gbs / 1000
        softened = min(compute, memory) * (1 - (1 - at_the_ridge) * min(compute / memory, memory / compute))
        points.append([2.0**power, softened])
    return {"points": points}


# gpu-benches at 1c36d509, gpu-roofline: some of its points.
PUBLISHED = {
    "H200": [[0.25, 0.940], [0.5, 1.890], [1.25, 4.724], [4.25, 15.874], [16.25, 35.812], [102.25, 42.442]],
    "A100 40GB": [[0.25, 0.343], [0.5, 0.684], [1.25, 1.704], [32.25, 17.863], [64.25, 18.711], [128.25, 19.05]],
    "L40, throttled where memory and arithmetic are both busy": [
        [0.25, 0.211], [1.25, 1.056], [4.25, 3.59], [16.25, 13.718], [32.25, 26.509], [64.25, 32.855], [128.25, 39.046],
    ],
    "A40": [[0.25, 0.170], [1.25, 0.849], [4.25, 2.886], [16.25, 10.989], [32.25, 20.328], [102.25, 23.192]],
}  # fmt: skip


def test_attainable_tflops() -> None:
    plausible = {name: {"points": points} for name, points in PUBLISHED.items()} | {
        "T4": sweep(4.4, 240), "RTX 4090": sweep(84, 930), "L4 at its power limit": sweep(17, 262, 0.42),
        "B200": sweep(70, 6900), "a laptop GPU": sweep(11, 230, 0.55),
    }  # fmt: skip
    good = plausible["RTX 4090"]["points"]
    broken = {
        "zero": {"points": [[intensity, 0.0] for intensity, _ in good]},
        "no flat part": {"points": good[:5]},
        "no slope": {"points": [[intensity, 84.0] for intensity, _ in good[6:]]},
        "interrupted": {
            "points": [[one, value / (10 if place == 1 else 1)] for place, (one, value) in enumerate(good)]
        },
        "throttled in the middle of the flat part": {"points": [*good, [1024.0, 30.0]]},
    }
    passing = {
        "rounds to six decimals": "no kernel is as slow as a millionth of a TFLOPS",
        "rounds to two decimals": "that is within the tolerance",
    }
    assert found("attainable_tflops", plausible, broken, passing) == []


# ----------------------------------------------------------------------------------------------------- matrix products


def multiplied(gbs: float, row: float, column: float, thin: float, side: int = 16384) -> dict[str, Any]:
    """Products that move the least bytes at these shares of the memory's rate."""
    shapes = [(1, side, side, row), (side, 1, side, column), (side, side, 8, thin)]
    done = [[m, n, k, share * gbs * 2 * m * n * k / (4000 * (m * k + k * n + m * n))] for m, n, k, share in shapes]
    return {"gbs": gbs, "bytes_per_element": 4, "products": done}


def test_matmul_intensity() -> None:
    plausible = {
        "H200": multiplied(4230, 0.93, 0.97, 0.72),
        "A100, whose reads are faster than its copies": multiplied(1730, 1.08, 1.02, 0.66),
        "RTX 4090": multiplied(925, 0.98, 0.99, 0.9),
        "T4": multiplied(240, 0.9, 0.95, 0.6, side=8192),
        "B200": multiplied(6900, 0.74, 0.84, 0.45),
        "a laptop GPU": multiplied(230, 0.97, 0.98, 0.8, side=8192),
    }
    good = plausible["H200"]
    broken = {
        "zero": good | {"gbs": 0.0},
        "a copy that stayed in the cache": good | {"gbs": 12_000},
        "a copy that another program slowed down": good | {"gbs": 900},
        "times of launches": good | {"products": [[*shape, 700.0] for *shape, _ in good["products"]]},
    }
    names = ("four bytes whatever is given", "four bytes for the output")
    passing = dict.fromkeys(names, "the products that are timed here are in float32")
    passing["an output of one row is one number"] = "no product that is timed here has a side of 1"
    assert found("matmul_intensity", plausible, broken, passing) == []


# --------------------------------------------------------------------------------------------------------- Little's law


def in_flight(sms: int, latency_ns: float, most_gbs: float, lost: float = 0.95) -> dict[str, Any]:
    """Warps that wait as long as a read takes, or as long as the memory needs for all of their requests."""
    flights = []
    for there, requests in warps.FLIGHTS:
        nbytes = there * requests * sms * 128
        waited = max(latency_ns, nbytes / most_gbs)
        flights.append([there, requests, waited, lost * nbytes / waited])
    return {"sm_count": sms, "request_bytes": 128, "flights": flights}


# gpu-benches at 1c36d509: gpu-stream, read, by 8 warps on each SM, each with 32 doubles in flight, and the latency of
# gpu-latency from memory. One comparison less exact than ours: the latency is that of an idle memory.
def published(sms: int, cycles: float, mhz: float, gbs: dict[int, float]) -> dict[str, Any]:
    flights = [[there, 1, 1000 * cycles / mhz, rate] for there, rate in gbs.items()]
    return {"sm_count": sms, "request_bytes": 256, "flights": flights}


def test_warps_to_hide() -> None:
    plausible = {
        "V100, published": published(80, 437, 1380, {4: 262, 8: 490}),
        "A100 80GB, published": published(108, 571.8, 1410, {4: 325, 8: 619}),
        "H100 PCIe, published": published(114, 658.4, 1755, {4: 368, 8: 702}),
        "T4": in_flight(40, 600, 245),
        "RTX 4090": in_flight(128, 540, 930, lost=0.85),
        "H200": in_flight(132, 680, 4100, lost=0.8),
        "B200": in_flight(148, 800, 6900, lost=0.82),
        "a laptop GPU": in_flight(24, 520, 230),
    }
    good = plausible["H200"]
    broken = {
        "zero": good | {"sm_count": 0},
        "a timer that stands still": good | {"flights": [[*one[:2], 0.0, one[3]] for one in good["flights"]]},
        "reads that did not wait": good | {"flights": [[*one[:2], 90.0, one[3]] for one in good["flights"]]},
        "half of the SMs were another's": good | {"flights": [[*one[:3], one[3] / 2] for one in good["flights"]]},
    }
    rounding = "a part of a warp lies within the spread of measured latencies"
    rounded = ("floor for ceiling", "floor division of whole numbers only", "to the nearest", "floor plus one")
    rounded += ("adds a half and rounds, to even",)
    forgiven = (
        "almost a warp added", "a thousandth of a warp forgiven", "whole GB per second", "whole nanoseconds",
        "whole bytes in flight",
    )  # fmt: skip
    passing = dict.fromkeys((*rounded, *forgiven), rounding)
    passing["requests in whole sectors"] = "the measured requests are whole sectors"
    passing["at least one warp for each scheduler"] = "every measured GPU needs more warps"
    passing["not rounded at all"] = "warps are compared within a tolerance, whatever their type"
    assert found("warps_to_hide", plausible, broken, passing) == []


# ---------------------------------------------------------------------------------------------------------- offloading


def jobs(
    inward: float, outward: float, gflops: float, launch_us: float, call_us: float = 10, slower: float = 1.0
) -> dict[str, Any]:
    """Five jobs as a machine would do them: `call_us` for each copy besides, and `slower` when all steps follow."""
    made = {"copy in": (1, 0, 1e7, inward), "copy out": (0, 1, 1e7, outward), "compute": (0, 0, gflops * 1e7, inward)}
    made |= {"copy in and out": (1, 1, 1e7, 2 / (1 / inward + 1 / outward)), "launch": (0, 0, 1e7, inward)}
    found = []
    for name, (goes, comes, flops, link) in made.items():
        given = {"bytes_in": 64e6 * goes, "bytes_out": 64e6 * comes, "flops": flops, "link_gbs": link}
        given |= {"gpu_gflops": gflops, "launch_us": launch_us}
        copies = goes * (0.064 / inward + call_us * 1e-6) + comes * (0.064 / outward + call_us * 1e-6)
        found.append([name, given, slower * (copies + launch_us * 1e-6 + flops / gflops / 1e9)])
    return {"jobs": found}


# Links: data/README.md's transfers, NVIDIA's bandwidthTest and nvbandwidth, as published (V100 PCIe, A100 PCIe with
# slower reads than writes, A100 SXM, a process on the wrong socket).
def test_offload_pays() -> None:
    plausible = {
        "V100 PCIe": jobs(12.4, 13.1, 13_500, 9),
        "A100 PCIe, slower inward": jobs(17.3, 24.6, 18_800, 8),
        "A100 SXM": jobs(25.7, 25.8, 18_900, 7, slower=1.2),
        "the other CPU socket": jobs(3.8, 2.5, 9_300, 14, slower=0.85),
        "H200": jobs(55, 54, 58_000, 8, call_us=15),
        "a laptop GPU under WSL": jobs(11, 12, 11_000, 60, call_us=40),
        "GH200, by NVLink": jobs(380, 290, 58_000, 9, call_us=8),
    }
    good = plausible["H200"]["jobs"]
    broken = {
        "zero": {"jobs": [[name, job, 0.0] for name, job, _ in good]},
        "no link": {"jobs": [[name, job | {"link_gbs": 0.0}, seconds] for name, job, seconds in good]},
        "another program had the link": {"jobs": [[name, job, seconds * 3] for name, job, seconds in good]},
        "nobody waited for the GPU": {"jobs": [[name, job, 5e-6] for name, job, _ in good]},
    }
    passing = {
        "a tie counts as a win": "no two measured times are equal",
        "only if it is 1% faster": "the CPUs that jobs are compared with are 30% faster or slower",
        "GB of 2**30 bytes": "7% less time for the link is within what a whole job takes in addition to its stations",
    }
    overlaps = ("copies out while it computes", "launches while it copies in", "launches while it computes")
    passing |= dict.fromkeys(overlaps, "no measured job is decided by such an overlap")
    assert found("offload_pays", plausible, broken, passing) == []


def test_crossover() -> None:
    def timed(cpu: list[float], gpu: list[float]) -> dict[str, Any]:
        place = {size: at for at, size in enumerate(sorted(offloading.SIZES))}
        order = [place[size] for size in offloading.SIZES]
        microseconds = [[times[at] * 1e-6 for at in order] for times in (cpu, gpu)]
        return {"sizes": list(offloading.SIZES), "cpu_seconds": microseconds[0], "gpu_seconds": microseconds[1]}

    plausible = {  # for 32, 64, … 2048
        "a server": timed([3, 6, 22, 130, 700, 2900, 15_000], [60, 62, 75, 120, 330, 1300, 5200]),
        "a laptop": timed([4, 9, 40, 310, 2400, 19_000, 160_000], [95, 98, 110, 180, 520, 1900, 7400]),
        # From 128 on, the CPU's library uses all cores.
        "64 cores, and an old GPU": timed([4, 9, 30, 40, 110, 500, 3000], [90, 92, 100, 200, 700, 2600, 10_400]),
        "a core that slept at first": timed(
            [300, 9, 40, 310, 2400, 19_000, 160_000], [95, 98, 110, 180, 520, 1900, 7400]
        ),
    }
    broken = {
        "zero": timed([0] * 7, [0] * 7),
        "nobody waited for the GPU": timed([3, 6, 22, 130, 700, 2900, 15_000], [0] * 7),
    }
    passing = {
        "a tie counts as a win": "no two measured times are equal",
        "a tie after a win counts as a win": "no two measured times are equal",
        "a ratio rounded to five places": "no two measured times are that near",
        "times rounded to microseconds": "the measured times differ by more",
        "takes a size of 0 for none": "nothing is measured for a size of 0",
        "nothing where there is no loss": "on every machine the CPU wins at the smallest size",
        "looks at the next size only": "measured curves cross once",
        "the size after the first loss": "measured curves cross once",
        "leaves out the largest size": "on every machine the GPU wins at the largest size",
        "walks past the smallest size": "on every machine the CPU wins at the smallest size",
    }
    assert found("crossover", plausible, broken, passing) == []
