"""Runs the whole suite many times, alone and next to busy neighbors, and lists every test that is not always green.

    python tests/steady.py [--runs 10] [--neighbors 0 --neighbors 2] [pytest's arguments]

Each run is what `make tests` runs, in full and without its second try. Results are kept by commit under work/steady,
so that runs can be made in pieces: one that is there is not made again. Exits with 1 when a test failed in any run.
"""

from __future__ import annotations

import argparse
import collections
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.dev.noise import busy  # noqa: E402 - from the folder above

PARTS = {
    "side-by-side": ("-m", "not alone", "--numprocesses", "3", "--dist", "loadfile", "--no-loadscope-reorder"),
    "alone": ("-m", "alone"),
}
"""As in the Makefile's `tests`."""


@dataclass(frozen=True)
class Run:
    """One run of one part of the suite."""

    part: str
    neighbors: int
    number: int

    def path(self, folder: Path) -> Path:
        """Where its results are kept."""
        return folder / f"{self.part}-{self.neighbors}-neighbors-{self.number:02}.xml"


def planned(runs: int, neighbors: Sequence[int]) -> list[Run]:
    """All runs, so that every load has been tried once before any is tried twice."""
    return [Run(part, count, number) for number in range(1, runs + 1) for count in neighbors for part in PARTS]


def make(run: Run, folder: Path, arguments: Sequence[str]) -> None:
    """Runs a part of the suite and keeps its results; what it prints goes into a file beside them.

    Raises:
        RuntimeError: pytest ended without results.
    """
    path = run.path(folder)
    unfinished = path.with_suffix(".unfinished")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={unfinished}"]
    command += ["--timeout", "400", *PARTS[run.part], *(arguments or ["tests"])]
    with busy(run.neighbors), path.with_suffix(".log").open("w") as log:
        subprocess.run(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, check=False)
    if not unfinished.exists():
        raise RuntimeError(f"pytest wrote no results; see {path.with_suffix('.log')}")
    unfinished.rename(path)


def failed(path: Path) -> dict[str, bool]:
    """Test → whether it failed in this run; skipped ones are left out."""
    found = {}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("skipped") is None:
            name = f"{case.get('classname')}::{case.get('name')}"
            found[name] = case.find("failure") is not None or case.find("error") is not None
    return found


def unsteady(runs: Iterable[Run], folder: Path) -> list[str]:
    """One line for each test that was red in some run: how often, of how many, at which load."""
    times: dict[str, dict[int, list[bool]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    for run in runs:
        if run.path(folder).exists():
            for test, red in failed(run.path(folder)).items():
                times[test][run.neighbors].append(red)
    return [
        f"{test}: failed " + ", ".join(f"{sum(reds)} of {len(reds)} with {n} neighbors" for n, reds in loads.items())
        for test, loads in sorted(times.items())
        if any(red for reds in loads.values() for red in reds)
    ]


def main() -> int:
    """Makes the runs that are missing, and lists what they found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10, help="at each load")
    parser.add_argument(
        "--neighbors", type=int, action="append", help="processes that keep a core busy; default 0 and 2"
    )
    options, arguments = parser.parse_known_args()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    folder = ROOT / "work" / "steady" / commit.stdout.strip()
    folder.mkdir(parents=True, exist_ok=True)
    runs = planned(options.runs, options.neighbors or [0, 2])
    for number, run in enumerate(runs, 1):
        if not run.path(folder).exists():
            print(f"{number}/{len(runs)}: {run.part}, {run.neighbors} neighbors", flush=True)
            make(run, folder, arguments)
    lines = unsteady(runs, folder)
    print("\n".join(lines) or f"All tests were green in all of {options.runs} runs at each load.")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
