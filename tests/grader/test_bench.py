"""The benchmark sees what a command's children use, and whether the tools agree on the grades."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console

from grader import bench
from grader.bench import Figure, Outcome
from grader.course import CourseError

WORK = """
import subprocess, sys
work = "import time; held = bytearray(100_000_000)\\nwhile time.process_time() < 0.4: pass"
subprocess.run([sys.executable, "-c", work], check=True)
"""


def test_time_and_memory_of_children_count(tmp_path: Path) -> None:
    wall, cpu, memory = bench._measure([sys.executable, "-c", WORK], tmp_path)
    assert 0.4 <= cpu <= wall + 0.5
    assert 100 < memory < 200


def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"ended with 3 \(out of luck\)"):
        bench._measure([sys.executable, "-c", "print('out of luck'); raise SystemExit(3)"], tmp_path)


def outcome(**points: float) -> Outcome:
    ours = Figure("grader autograde, 1 slot", 2.0, 1.5, 150.0, points)
    theirs = Figure("nbgrader autograde", 8.0, 6.0, 800.0, {"anna": 3.0, "bela": 1.5})
    return Outcome("01_small", 2, (theirs, ours), "a machine, 2 cores", {"Python": "3.11"}, "2026-01-01")


def test_tools_must_agree_on_the_points() -> None:
    assert outcome(anna=3.0, bela=1.5).agreeing == 2
    assert outcome(anna=3.0, bela=1.0).agreeing == 1
    assert outcome(anna=3.0).agreeing == 1


def test_figures_are_a_submission_and_name_the_machine(tmp_path: Path) -> None:
    screen = io.StringIO()
    Console(file=screen, width=120).print(bench.table(outcome(anna=3.0, bela=1.5)))
    shown = screen.getvalue()
    for words in ("4.00", "1.00", "0.75", "150", "4.0 ×", "a machine, 2 cores", "Python 3.11", "2 of 2"):
        assert words in shown
    bench.write_json(outcome(anna=3.0, bela=1.5), tmp_path / "bench.json")
    assert json.loads((tmp_path / "bench.json").read_text())["figures"][1]["peak_memory_mb"] == 150.0
