"""The benchmark sees what a command's children use, whether the tools agree, and whether the promises are kept."""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console
from test_sample import course_with_bank

from grader.cli.main import main
from grader.dev.bench import bench_course, handed_back, report
from grader.dev.bench.measurement import measure
from grader.dev.bench.report import targets
from grader.dev.bench.run import BenchResult, Breakdown, ClassUsage, Growth
from grader.model.course import CourseError
from grader.model.notebooks import load_key
from grader.processes.accounts import Accounts, age_seconds, cpu_seconds_of
from grader.processes.fork_server import LIGHT_MODULES

pytestmark = pytest.mark.long

WORK = """
import subprocess, sys
work = "import time; held = bytearray(100_000_000)\\nwhile time.process_time() < 0.4: pass"
subprocess.run([sys.executable, "-c", work], check=True)
"""
STOCK = ClassUsage("nbgrader autograde", 2, 8.0, 6.0, 4.0, 800.0, {"anna": 3.0, "bela": 1.5})
BARE = ClassUsage("nbgrader, no demonstrations", 2, 6.0, 5.0, 3.0, 800.0, {"anna": 3.0, "bela": 1.5})
OURS = ClassUsage("grader autograde", 2, 2.0, 1.5, 0.2, 700.0, {"anna": 3.0, "bela": 1.5})
SPENT = {"the submissions' own processes": 0.8, "driver: recording": 0.1}
BREAKDOWN = Breakdown(
    cores=2,
    wall_seconds=2.0,
    ready_seconds=1.5,
    cpu_seconds=SPENT,
    longest_seconds=0.3,
    submission_cpu_seconds=0.45,
    idle_seconds=2.9,
    idle_once_ready=0.04,
    submission_memory_mb=(40.0, 60.0),
)
OUTCOME = BenchResult(
    "01_small", STOCK, BARE, OURS, BREAKDOWN, "a machine, 2 cores", 0.1, {"Python": "3.11"}, "2026-01-01"
)


def shown(*tables: object) -> str:
    screen = io.StringIO()
    Console(file=screen, width=150).print(*tables)
    return " ".join(screen.getvalue().split())


def test_time_and_memory_of_children_count(tmp_path: Path) -> None:
    held = bytearray(b"x" * 300_000_000)  # ours, not theirs
    used = measure([sys.executable, "-c", WORK], tmp_path)
    assert 0.4 <= used.cpu_seconds <= used.wall_seconds + 0.5
    assert 100 < used.largest_process_mb < 200
    assert 0 < used.own_peak_mb < 50
    assert len(held) == 300_000_000


@pytest.mark.alone
def test_idle_cores_are_seen_and_by_when(tmp_path: Path) -> None:
    """On one core, which the command lets wait first, and then keeps at work."""
    waits = "import time; time.sleep(1.5)\nwhile time.process_time() < 1.5: pass"
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        used = measure([sys.executable, "-c", waits], tmp_path)
    finally:
        os.sched_setaffinity(0, cores)
    first, last = used.idle_seconds() - used.idle_seconds(1.2), used.idle_seconds(1.8)
    assert first > 0.5
    assert last < 0.2 * (used.wall_seconds - 1.8)


def test_a_command_that_fails_is_no_measurement(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"ended with 3 \(out of luck\)"):
        measure([sys.executable, "-c", "print('out of luck'); raise SystemExit(3)"], tmp_path)


@pytest.mark.parametrize(
    ("scores", "agreeing"), [({"anna": 3.0, "bela": 1.5}, 2), ({"anna": 3.0, "bela": 1.0}, 1), ({"anna": 3.0}, 1)]
)
def test_tools_must_agree_on_the_points(scores: dict[str, float], agreeing: int) -> None:
    assert replace(OUTCOME, ours=replace(OURS, scores=scores)).agreeing == agreeing
    assert replace(OUTCOME, bare=replace(BARE, scores=scores)).agreeing == agreeing


def test_no_core_can_be_in_two_places() -> None:
    """The shortest possible time is that of all the work on all cores, or of the longest submission."""
    assert BREAKDOWN.limit_seconds(2) == pytest.approx(0.45)
    assert replace(BREAKDOWN, longest_seconds=3.0).limit_seconds(2) == 3.0


def test_promises_are_measured_against() -> None:
    found = {target.what: target for target in targets(OUTCOME)}
    assert found["throughput, all in"].measured == pytest.approx(4.0)
    assert found["throughput, each further submission"].measured == pytest.approx(20.0)
    assert found["the same without demonstrations"].measured == pytest.approx(15.0)
    assert found["CPU time, of nbgrader's"].measured == pytest.approx(0.25)
    assert found["shortest possible time ÷ time, once ready"].measured == pytest.approx(0.9)
    assert found["share of the cores at work, once ready"].measured == pytest.approx(0.96)  # of 1 core-second
    assert found["memory of a submission, largest"].measured == 60.0
    assert [target.met for target in found.values()] == [False, True, False, False, True, True, True]
    without_groups = replace(OUTCOME, breakdown=replace(BREAKDOWN, submission_memory_mb=()))
    assert len(targets(without_groups)) == 6  # nothing is made up where it cannot be measured


def test_a_sample_is_scaled_to_one_submission() -> None:
    """nbgrader may grade fewer of them; what is compared is a submission, and the table says so."""
    sampled = replace(OUTCOME, stock=replace(STOCK, submissions=1, scores={"anna": 3.0}))
    assert targets(sampled)[0].measured == pytest.approx(8.0)
    assert "nbgrader graded 1 of the 2 only" in shown(*report.tables(sampled))


def test_tables_name_the_machine_and_where_the_time_goes() -> None:
    text = shown(*report.tables(OUTCOME))
    for words in (
        "a machine, 2 cores",
        "Python 3.11",
        "Same points for 2 of 2",
        "2 cores × 2.0 s",
        "✗ 4.0×",
        "✓ 20.0×",
    ):
        assert words in text
    assert "idle cores │ 2.9 │ 72" in text  # of 4 core-seconds, of which 0.9 were used
    assert "the kernel, other programs │ 0.2 │ 5" in text
    assert "busy with something else" not in text
    assert "busy with something else (load 3.0)" in shown(*report.tables(replace(OUTCOME, load=3.0)))


def test_everything_is_written(tmp_path: Path) -> None:
    report.write_json(OUTCOME, tmp_path / "bench.json")
    written = json.loads((tmp_path / "bench.json").read_text())
    assert (written["stock"]["wall_seconds"], written["agreeing"]) == (8.0, 2)
    assert [target["met"] for target in written["targets"]] == [False, True, False, False, True, True, True]
    with pytest.raises(CourseError, match="nowhere"):
        report.write_json(OUTCOME, tmp_path / "nowhere" / "bench.json")


def test_growth_is_judged(tmp_path: Path) -> None:
    growth = Growth("01_small", 1000, 200.0, 0.2, 0.3, 100.0, "a machine, 2 cores", 0.0, "2026-01-01")
    text = shown(report.growth_table([growth, replace(growth, last_seconds=0.2)]))
    assert "✗ 1.50" in text and "✓ 1.00" in text and "✓ 100" in text
    report.write_json([growth], tmp_path / "growth.json")
    assert json.loads((tmp_path / "growth.json").read_text())[0]["ratio"] == pytest.approx(1.5)


def test_tenths_hold_whole_rounds_of_the_sample() -> None:
    """Kinds of submissions take differently long, and there are as many of each at both ends."""
    times = [0.0]
    for number in range(170):
        times.append(times[-1] + (1.0 + number % 8) * (1.5 if number >= 85 else 1.0))
    first, last = bench_course.first_and_last(times)
    assert last / first == pytest.approx(1.5)


def test_a_class_to_measure_has_no_two_alike(tmp_path: Path) -> None:
    course, chapter = course_with_bank(tmp_path)
    copied = bench_course.copy(course, chapter, tmp_path / "copy", 20)
    texts = [path.read_text() for path in copied.submitted.rglob("*.ipynb")]
    assert len(texts) == len(set(texts)) == 20
    assert bench_course.recorded_at(copied, chapter) == []


def test_demonstrations_are_left_out_on_request(tmp_path: Path) -> None:
    course, chapter = course_with_bank(tmp_path)

    def cells(demonstrations: bool) -> dict[str, str]:
        copied = bench_course.copy(course, chapter, tmp_path / f"copy {demonstrations}", 1, demonstrations)
        (path,) = copied.submitted.rglob("*.ipynb")
        return {cell["id"]: cell["source"] for cell in json.loads(path.read_text())["cells"]}

    whole, bare = cells(True), cells(False)
    demos = {cell.id for cell in load_key(chapter).cells if "demo" in cell.tags}
    assert demos and {name for name, source in whole.items() if source != bare[name]} == demos
    assert not any(bare[name] for name in demos)


def test_accounts_know_whose_time_it_was() -> None:
    accounts = Accounts()
    for _ in range(2):
        with accounts.on("sum"):
            sum(range(2_000_000))
    with accounts.on("nothing"):
        pass
    told = accounts.as_json()
    assert 0.01 < told["cpu_seconds"]["sum"] <= told["wall_seconds"]["sum"] + 0.01
    assert told["cpu_seconds"]["nothing"] < 0.01
    assert 0 < age_seconds() < 24 * 3600
    assert cpu_seconds_of(1 << 30) == 0


@pytest.mark.slow
def test_both_tools_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command as a person runs it, with a class of two."""
    course_with_bank(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPULAB_PRELOAD", " ".join(LIGHT_MODULES))  # all that this course uses
    ended = CliRunner().invoke(main, ["bench", "1", "--submissions", "2", "--json", "bench.json"])
    assert ended.exit_code == 0, ended.output
    written = json.loads((tmp_path / "bench.json").read_text())
    assert (written["agreeing"], written["ours"]["submissions"], written["stock"]["submissions"]) == (2, 2, 2)
    assert written["ours"]["cpu_seconds"] > 0 < written["breakdown"]["cpu_seconds"]["fork server: forks"]
    assert 0 < written["breakdown"]["ready_seconds"] < written["breakdown"]["wall_seconds"]


WHOLE = handed_back.HandedBack(
    "01_small", 200, 80.0, 100.0, 70.0, 4, 96.0, 90.0, 6.0, 2, "a machine, 2 cores", 0.1, 2.2, {}, "2026-01-01"
)


def test_a_whole_class_has_a_bar() -> None:
    """200 submissions in 90 s on two cores; on other machines nothing is promised."""
    assert (WHOLE.wall_ratio, WHOLE.cpu_ratio) == (pytest.approx(60.0), pytest.approx(45.0))
    (target,) = WHOLE.targets
    assert (target.wanted, target.met) == (pytest.approx(90.0), True)
    assert [one.met for one in replace(WHOLE, wall_seconds=91.0).targets] == [False]
    assert replace(WHOLE, cores=8).targets == replace(WHOLE, submissions=100).targets == []
    text = shown(handed_back.table(WHOLE))
    assert "80.0 s, wanted ≤ 90 s ✓" in text and "10.0 came after the last grading" in text
    assert "busy with something else" not in text
    assert "busy with something else" in shown(handed_back.table(replace(WHOLE, load=3.0)))


@pytest.mark.slow
def test_a_whole_class_is_measured_with_its_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course_with_bank(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPULAB_PRELOAD", " ".join(LIGHT_MODULES))
    ended = CliRunner().invoke(main, ["bench", "1", "--whole", "3", "--stock", "2", "--json", "bench.json"])
    assert ended.exit_code == 0, ended.output
    written = json.loads((tmp_path / "bench.json").read_text())
    assert (written["submissions"], written["stock_submissions"]) == (3, 2)
    assert 0 < written["grading_wall_seconds"] < written["wall_seconds"]
    assert 0 < written["stock_feedback_cpu_seconds"] < written["stock_cpu_seconds"]
