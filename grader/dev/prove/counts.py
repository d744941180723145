"""The tracer's counts next to Nsight Compute's, for kernels whose traffic is known by hand."""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.dev.prove.rows import NotHere
from grader.model.course import CourseError

SECONDS = 240
TOLERANCE = 0.01
"""Of a count per request: one warp in a hundred, which edges and prefetching may account for."""
WAVEFRONTS = 0.25
"""Of the turns of shared memory, which the profiler counts as wavefronts: kernels without a conflict may show some more
of them than requests, never fewer. The smallest real conflict doubles the turns of its request. Our own bar."""
METRICS = {
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": "load_requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": "load_sectors",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": "store_requests",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": "store_sectors",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": "shared_load_turns",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": "shared_store_turns",
    "smsp__inst_executed_op_shared_ld.sum": "shared_loads",
    "smsp__inst_executed_op_shared_st.sum": "shared_stores",
}
"""Nsight Compute's names (Kernel Profiling Guide, "Metrics Reference") → ours."""


@dataclass(frozen=True)
class ComparedCount:
    """One number of one kernel, by both."""

    kernel: str
    what: str
    traced: float
    profiled: float

    @property
    def agrees(self) -> bool:
        """Whether they say the same."""
        more = WAVEFRONTS if self.what.startswith("turns") else TOLERANCE
        return (1 - TOLERANCE) * self.traced <= self.profiled <= (1 + more) * self.traced

    def sentence(self) -> str:
        """What is wrong."""
        return f"{self.kernel}: {self.what}: the tracer says {self.traced:.4g}, Nsight Compute {self.profiled:.4g}"


def compared() -> list[ComparedCount]:
    """Sectors per request and turns of shared memory per request, of every kernel of `kernels`.

    Raises:
        CourseError: Nsight Compute is not there, or may not read the counters.
    """
    profiled = profile()
    found = []
    for name, traced in trace().items():
        if name not in profiled:
            raise CourseError(
                "ncu", f"said nothing of {name}", "Run it by hand: ncu python3 -m grader.dev.prove.kernels"
            )
        for what, value in traced.items():
            found.append(ComparedCount(name, what, value, ratios(profiled[name])[what]))
    return found


def ratios(counts: dict[str, float]) -> dict[str, float]:
    """Counts of a kernel as what is compared: independent of how large the matrix was."""

    def a(request: str, of: str) -> float:
        return counts[of] / counts[request] if counts.get(request) else 0.0

    return {
        "sectors per load": a("load_requests", "load_sectors"),
        "sectors per store": a("store_requests", "store_sectors"),
        "turns per shared load": a("shared_loads", "shared_load_turns"),
        "turns per shared store": a("shared_stores", "shared_store_turns"),
    }


def trace(side: int = 64) -> dict[str, dict[str, float]]:
    """The tracer's counts, on a small matrix."""
    from gpulab.trace import run
    from grader.dev.prove import kernels

    found = {}
    for kernel in kernels.KERNELS:
        blocks = side // kernels.TILE
        traced = run(kernel, (blocks, blocks), (kernels.TILE, kernels.TILE), *kernels.arguments(side))
        found[kernel.py_func.__name__] = ratios(_counts(traced))
    return found


def _counts(traced: Any) -> dict[str, float]:
    counts = dict.fromkeys(METRICS.values(), 0.0)
    for line in traced.lines:
        if line.space == "global":
            counts[f"{line.kind}_requests"] += line.requests
            counts[f"{line.kind}_sectors"] += line.requests * line.sectors_per_request
        else:
            counts[f"shared_{line.kind}s"] += line.requests
            counts[f"shared_{line.kind}_turns"] += line.requests * line.bank_conflict_degree
    return counts


PLACES = ("usr/local/cuda*/bin/ncu", "opt/nvidia/nsight-compute/*/ncu")
"""Where Nsight Compute lies when it is not on PATH: with the toolkit, or by itself."""


def profile() -> dict[str, dict[str, float]]:
    """Nsight Compute's counts of the same kernels, run on the GPU.

    Raises:
        NotHere: it is not installed.
        CourseError: it may not read the counters, or fails.
    """
    program = shutil.which("ncu") or next(
        (str(path) for place in PLACES for path in sorted(Path("/").glob(place), reverse=True)), None
    )
    if program is None:
        raise NotHere("ncu", "Nsight Compute is not installed", "Install it with the CUDA toolkit, or leave it be.")
    command = [program, "--csv", "--page", "raw", "--clock-control", "none", "--metrics", ",".join(METRICS)]
    command += [sys.executable, "-m", "grader.dev.prove.kernels"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise CourseError("ncu", f"not done after {SECONDS} s", "Run it by hand.") from None
    if done.returncode != 0:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "==ERROR==" in line or "Error" in line]
        refused = "allow it for all users (NVreg_RestrictProfilingToAdminUsers=0), or run as root"
        raise CourseError("ncu", (said or ["failed without a word"])[0].strip(), f"If counters are refused, {refused}.")
    return parse(done.stdout)


def parse(text: str) -> dict[str, dict[str, float]]:
    """Kernel → our name of a metric → value, from what `ncu --csv --page raw` prints."""
    start = text.find('"ID"')
    if start < 0:
        raise CourseError("ncu", "printed no table", "Run it by hand: ncu python3 -m grader.dev.prove.kernels")
    rows = list(csv.DictReader(io.StringIO(text[start:])))
    found: dict[str, dict[str, float]] = {}
    for row in rows[1:]:  # the first holds the units
        name = next((known for known in _names() if known in row["Kernel Name"]), None)
        if name:
            found[name] = {
                ours: float((row.get(theirs) or "0").replace(",", "") or 0) for theirs, ours in METRICS.items()
            }
    return found


def _names() -> list[str]:
    from grader.dev.prove import kernels

    return [kernel.py_func.__name__ for kernel in kernels.KERNELS]
