"""Small reports of Nsight Systems and Nsight Compute about the course's own kernels, for readers without a GPU.

Both tools look at `kernels`, run as a program. What they print becomes two short tables in `data/machines/<gpu>/`, each
with its device, tool, command and day; a tool that is missing or refused leaves none, and says why. Whether the
counters agree with the tracer's is up to `counts`.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.dev.prove import counts
from grader.dev.prove import nsight_tables as tables
from grader.dev.prove.rows import NotHere
from grader.model.course import CourseError
from grader.model.notebook_io import write

SECONDS = 240
PROGRAM = ("-m", "grader.dev.prove.kernels")
PLACES = {
    "nsys": ("usr/local/cuda*/bin/nsys", "opt/nvidia/nsight-systems/*/bin/nsys"),
    "ncu": ("usr/local/cuda*/bin/ncu", "opt/nvidia/nsight-compute/*/ncu"),
}
"""Where a tool lies when it is not on PATH, below `/`."""
FILES = {"nsys": "nsys_summary.csv", "ncu": "ncu_kernels.csv"}
LARGEST_BYTES = 8_000
"""Of a report: it is committed."""


@dataclass(frozen=True)
class NsightReport:
    """What came of one tool."""

    tool: str
    file: str = ""
    """The report's name, beside the machine's others; empty when there is none."""
    why_not: str = ""
    """Why there is none, and what would help."""
    installed: bool = True
    """Whether the tool is there at all."""


def profile_kernels(folder: Path, on: Mapping[str, str]) -> list[NsightReport]:
    """Runs both tools and writes what they say into the folder. An earlier report stays where a tool fails now.

    Args:
        folder: `data/machines/<gpu>`; made when there is something to write.
        on: `device`, `driver` and `day`, for the head of each file.
    """
    found = []
    for tool, look in (("nsys", systems), ("ncu", compute)):
        try:
            command, rows = look()
            text = _table(rows, {**on, "tool": _version(tool), "command": command})
            if len(text.encode()) > LARGEST_BYTES:
                raise CourseError(tool, f"said more than {LARGEST_BYTES} bytes", "Is it the course's kernels it saw?")
            write(folder / FILES[tool], text.encode())
            found.append(NsightReport(tool, FILES[tool]))
        except CourseError as error:
            found.append(NsightReport(tool, why_not=str(error), installed=not isinstance(error, NotHere)))
    return found


def systems() -> tuple[str, list[dict[str, object]]]:
    """The command, and what Nsight Systems saw: kernels, copies and calls to CUDA, each with its time.

    Raises:
        CourseError: it is not there, or cannot look.
    """
    program, rows = _program("nsys"), []
    options = ("--trace=cuda", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true")
    with tempfile.TemporaryDirectory(prefix="gpulab-nsys-") as name:
        seen = Path(name) / "kernels.nsys-rep"
        _run("nsys", [program, "profile", *options, f"--output={seen.with_suffix('')}", sys.executable, *PROGRAM])
        if not seen.exists():
            raise CourseError(
                "nsys", "wrote no report", "Run it by hand: nsys profile python3 -m grader.dev.prove.kernels"
            )
        for what, (report, _, _) in tables.REPORTS.items():
            command = [program, "stats", "--report", report, "--format", "csv", "--force-export=true", str(seen)]
            rows += tables.summary(what, _run("nsys", command))
    lacking = [kernel for kernel in tables.kernel_names() if kernel not in {row["name"] for row in rows}]
    if lacking:
        raise CourseError("nsys", f"saw nothing of {', '.join(lacking)}", "Run it by hand, with --trace=cuda.")
    return f"nsys profile {' '.join(options)} python3 {' '.join(PROGRAM)}", rows


def compute() -> tuple[str, list[dict[str, object]]]:
    """The command, and what Nsight Compute counted of each kernel.

    Raises:
        CourseError: it is not there, or may not read the counters.
    """
    options = ("--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none")
    metrics = ",".join((*tables.SHARES, *counts.METRICS))
    said = _run("ncu", [_program("ncu"), *options, "--metrics", metrics, sys.executable, *PROGRAM])
    rows = tables.counted(said)
    lacking = [kernel for kernel in tables.kernel_names() if kernel not in {row["kernel"] for row in rows}]
    if lacking:
        raise CourseError("ncu", f"saw nothing of {', '.join(lacking)}", "Run it by hand, on one kernel.")
    return f"ncu {' '.join(options)} --metrics … python3 {' '.join(PROGRAM)}", rows


def _program(tool: str) -> str:
    if found := shutil.which(tool):
        return found
    for pattern in PLACES[tool]:
        for path in sorted(Path("/").glob(pattern), reverse=True):  # the newest
            return str(path)
    name = {"nsys": "Nsight Systems", "ncu": "Nsight Compute"}[tool]
    raise NotHere(tool, f"{name} is not installed", "It comes with the CUDA toolkit, or by itself from NVIDIA.")


def _run(tool: str, command: Sequence[str]) -> str:
    """What the tool printed.

    Raises:
        CourseError: it failed, was refused, or was not done in time.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise CourseError(tool, f"not done after {SECONDS} s", "Run it by hand.") from None
    except OSError as error:
        raise CourseError(tool, f"cannot be started ({error.strerror})", "Is it built for this machine?") from None
    said = [line.strip() for line in (done.stdout + "\n" + done.stderr).splitlines() if line.strip()]
    if any("ERR_NVGPUCTRPERM" in line for line in said):  # it may still end with 0
        remedy = "Allow it for all (NVreg_RestrictProfilingToAdminUsers=0), run as root, or --cap-add=SYS_ADMIN."
        raise CourseError(tool, "may not read the GPU's counters (ERR_NVGPUCTRPERM)", remedy)
    if done.returncode != 0:
        told = [line for line in said if re.search(r"error|fail|denied|unsupported", line, re.IGNORECASE)]
        last = (told or said[-1:] or ["without a word"])[0]
        raise CourseError(tool, f"ended with {done.returncode}: {last[:160]}", "Run it by hand.")
    return done.stdout


def _version(tool: str) -> str:
    """What the tool calls itself, with its version."""
    lines = [line.strip() for line in _run(tool, [_program(tool), "--version"]).splitlines()]
    return " ".join(line for line in lines if re.search(r"nsight|version", line, re.IGNORECASE))[:120] or tool


def _table(rows: Sequence[Mapping[str, object]], head: Mapping[str, str]) -> str:
    """The file: where it is from as comments, then the rows."""
    text = io.StringIO()
    text.write("# Written by grader prove, not by hand.\n")
    for name in ("device", "driver", "tool", "command", "day"):
        text.write(f"# {name}: {' '.join(head[name].split())}\n")
    table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    table.writeheader()
    for row in rows:
        table.writerow({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()})
    return text.getvalue()
