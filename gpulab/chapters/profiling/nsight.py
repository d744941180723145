"""Recorded reports of Nsight Systems and Nsight Compute, as `grader prove` has written them: read and printed.

They lie in `data/machines/<gpu>/`. Where nobody has recorded any, that is said; nothing is made up in their place.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from gpulab.tables import data_folder

NONE = (
    "No report has been recorded yet: it takes a GPU and {tool}. On such a machine `grader prove --only nsight` writes "
    "one, and this cell shows it."
)
SYSTEMS, COMPUTE = "nsys_summary", "ncu_kernels"
TOOLS = {SYSTEMS: "Nsight Systems", COMPUTE: "Nsight Compute"}


@dataclass(frozen=True)
class Recorded:
    """One report."""

    head: dict[str, str]
    """`device`, `driver`, `tool`, `command` and `day`."""
    rows: list[dict[str, str]]


def recorded(name: str, folder: Path | None = None) -> list[Recorded]:
    """All reports of this name, one a GPU, the latest first; an empty list where there is none.

    Args:
        name: `SYSTEMS` or `COMPUTE`.
        folder: where machines' folders lie; the course's own when left out.
    """
    paths = (folder or data_folder() / "machines").glob(f"*/{name}.csv")
    return sorted((_read(path) for path in paths), key=lambda one: one.head.get("day", ""), reverse=True)


def show_systems(folder: Path | None = None) -> None:
    """Prints what Nsight Systems saw: kernels, copies and calls to CUDA, each with its time."""
    found = _latest(SYSTEMS, folder)
    for row in found.rows if found else []:
        calls = f"{row['calls']:>3} ×"
        print(f"  {row['what']:7}{float(row['total_us']):10,.1f} µs  {calls}  {row['name']}")


def show_compute(folder: Path | None = None) -> None:
    """Prints what Nsight Compute counted of each kernel: shares of the peak, occupancy, sectors per request."""
    found = _latest(COMPUTE, folder)
    if not found:
        return
    print(f"  {'':24}{'time':>9}{'compute':>9}{'memory':>8}{'occupancy':>11}{'sectors per':>13}{'sectors per':>13}")
    print(f"  {'kernel':24}{'µs':>9}{'%':>9}{'%':>8}{'%':>11}{'load':>13}{'store':>13}")
    columns = {"duration_us": 9, "compute_percent": 9, "memory_percent": 8, "occupancy_percent": 11}
    columns |= {"sectors_per_load": 13, "sectors_per_store": 13}
    for row in found.rows:
        cells = "".join(f"{float(row[column]):{width}.1f}" for column, width in columns.items())
        print(f"  {row['kernel']:24}{cells}")


def _latest(name: str, folder: Path | None) -> Recorded | None:
    """The latest report, its origin printed; None, and that it is missing printed, when there is none."""
    found = recorded(name, folder)
    if not found:
        print(NONE.format(tool=TOOLS[name]))
        return None
    head = found[0].head
    print(f"Recorded on {head['device']}, {head['day']}, by {head['tool']}:")
    print(f"  {head['command']}")
    return found[0]


def _read(path: Path) -> Recorded:
    lines = path.read_text(encoding="utf-8").splitlines()
    notes = (line.removeprefix("# ").partition(": ") for line in lines if line.startswith("#"))
    head = {name: value for name, colon, value in notes if colon}
    return Recorded(head, list(csv.DictReader(line for line in lines if not line.startswith("#"))))
