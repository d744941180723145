"""Reads what Nsight Systems and Nsight Compute print: rows with our names and units, of the course's own kernels.

Running the tools, and writing the reports, is up to `nsight`.
"""

from __future__ import annotations

import csv
import io
import re

from grader.dev.prove import counts
from grader.model.course import CourseError

REPORTS = {
    "kernel": ("cuda_gpu_kern_sum", "Name", "Instances"),
    "copy": ("cuda_gpu_mem_time_sum", "Operation", "Count"),
    "call": ("cuda_api_sum", "Name", "Num Calls"),
}
"""What we call it → the report of `nsys stats`, and its columns for the name and the number of calls."""
ROWS = 10
"""Of a report, those with the most time."""

SHARES = {
    "gpu__time_duration.sum": "duration_ns",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "compute_percent",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "memory_percent",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy_percent",
    "launch__registers_per_thread": "registers_per_thread",
}
"""Nsight Compute's names (Kernel Profiling Guide, "Metrics Reference") → ours; beside those of `counts`."""


def summary(what: str, text: str) -> list[dict[str, object]]:
    """The rows of one report of `nsys stats --format csv`: the longest first, at most `ROWS`.

    Args:
        what: a key of `REPORTS`.
        text: all that the tool has printed; lines before the table are skipped. Without a table there are no rows.

    Raises:
        CourseError: the table has other columns than it had when this was written.
    """
    _, name, calls = REPORTS[what]
    start = text.find("Time (%),")
    if start < 0:
        return []
    table = text[start:].partition("\n\n")[0]
    try:
        rows = sorted(csv.DictReader(io.StringIO(table)), key=lambda row: -float(row["Total Time (ns)"]))
        return [
            {
                "what": what,
                "name": _short(row[name]),
                "calls": int(row[calls]),
                "total_us": float(row["Total Time (ns)"]) / 1e3,
                "median_us": float(row["Med (ns)"]) / 1e3,
            }
            for row in rows[:ROWS]
        ]
    except (KeyError, TypeError, ValueError) as error:
        told = f"{REPORTS[what][0]} has other columns than it had ({error})"
        raise CourseError("nsys", told, "Fix grader/dev/prove/nsight_tables.py.") from None


def counted(text: str) -> list[dict[str, object]]:
    """The rows of `ncu --csv --page raw`: a kernel's time, shares of the peak, occupancy, sectors and turns.

    Raises:
        CourseError: there is no table, or not the metrics that were asked for.
    """
    start = text.find('"ID"')
    if start < 0:
        raise CourseError("ncu", "printed no table", "Run it by hand: ncu python3 -m grader.dev.prove.kernels")
    traffic = counts.parse(text)
    units, *rows = list(csv.DictReader(io.StringIO(text[start:]))) or [{}]
    if units.get("gpu__time_duration.sum") not in ("ns", "nsecond"):
        raise CourseError("ncu", "gives no duration in nanoseconds", "Is it older than 2022.1?")
    found: list[dict[str, object]] = []
    for row in rows:
        kernel = _short(row["Kernel Name"])
        if kernel in traffic:
            values = {ours: _number(row.get(theirs)) for theirs, ours in SHARES.items()}
            ratios = {name.replace(" a ", "_per_").replace(" ", "_"): value
                      for name, value in counts.ratios(traffic[kernel]).items()}  # fmt: skip
            found.append({"kernel": kernel, "duration_us": values.pop("duration_ns") / 1e3, **values, **ratios})
    return found


def kernel_names() -> list[str]:
    """What the course's own kernels are called in their source."""
    from grader.dev.prove import kernels

    return [kernel.py_func.__name__ for kernel in kernels.KERNELS]


def _short(name: str) -> str:
    """Ours as in the source; of others the name without arguments, and nothing that a table cannot hold."""
    own = next((kernel for kernel in kernel_names() if kernel in name), None)
    return own or re.sub(r"[^\w .:\[\]-]+", " ", name.partition("(")[0]).strip()[:60]


def _number(text: str | None) -> float:
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        raise CourseError(
            "ncu", f"gives {text!r} where a number was asked for", "Is the GPU older than Volta?"
        ) from None
