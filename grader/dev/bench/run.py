"""The benchmark: the same submissions through stock `nbgrader autograde` and through `grader autograde`, in one run.

Whole commands are measured from outside (`measurement`), in copies of the course (`bench_course`), so nothing of
either is left out. The run's accounts show where our own time goes. `report` shows the result.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from grader.dev.bench import bench_course
from grader.dev.bench.measurement import CommandUsage, measure
from grader.gradebook import gradebook
from grader.model.course import Chapter, Course
from grader.model.records import Records, load_results
from grader.model.results import SubmissionResult


@dataclass(frozen=True)
class ClassUsage:
    """What one command used for a class."""

    tool: str
    submissions: int
    wall_seconds: float
    """Of the command, its start included."""
    cpu_seconds: float
    """User and system time of the command and all that it started."""
    each_seconds: float
    """Wall seconds from one recorded submission to the next, on average: without start and end."""
    largest_process_mb: float
    """Largest resident set of any one process, MB = 1e6 bytes."""
    scores: dict[str, float]
    """Points by student, as the gradebook has them."""


@dataclass(frozen=True)
class Breakdown:
    """Where the time of `grader autograde` went, from the run's own accounts."""

    cores: int
    wall_seconds: float
    ready_seconds: float
    """From the start of the command until gradebook and fork server were ready."""
    cpu_seconds: dict[str, float]
    """By what for; of all processes together."""
    longest_seconds: float
    """Of one submission."""
    submission_cpu_seconds: float
    """Of the average submission: its own processes, forking them, and recording it."""
    idle_seconds: float
    """Core-seconds in which the cores had nothing to do, neither for the run nor for the kernel or another program."""
    idle_once_ready: float
    """The same without the time in which all was made ready."""
    submission_memory_mb: tuple[float, ...]
    """Peak of each submission's control group: what it takes beyond the fork server. Empty without control groups."""

    @property
    def grading_seconds(self) -> float:
        """What was measured once all was ready."""
        return self.wall_seconds - self.ready_seconds

    @property
    def at_work(self) -> float:
        """Share of the cores' time, once all was ready, in which they had something to do."""
        return 1 - self.idle_once_ready / (self.cores * self.grading_seconds)

    def limit_seconds(self, submissions: int) -> float:
        """The shortest time in which these cores could do it: no core ever waits, and no submission is cut in two."""
        return max(submissions * self.submission_cpu_seconds / self.cores, self.longest_seconds)


@dataclass(frozen=True)
class BenchResult:
    """The benchmark's numbers, with what is needed to read them."""

    chapter: str
    stock: ClassUsage
    bare: ClassUsage
    """nbgrader's, where the cells of the chapter's demonstrations were empty: grader does not run them either."""
    ours: ClassUsage
    breakdown: Breakdown
    machine: str
    load: float
    """Other work on the machine when it began: processes that wanted to run, of the last minute."""
    versions: dict[str, str]
    date: str

    @property
    def agreeing(self) -> int:
        """Of the submissions that nbgrader graded, how many got the same points each time."""
        points, bare = self.ours.scores, self.bare.scores
        return sum(
            abs(points.get(student, -1) - stock) < 1e-9 and abs(bare.get(student, -1) - stock) < 1e-9
            for student, stock in self.stock.scores.items()
        )


def compare(
    course: Course,
    chapter: Chapter,
    submissions: int,
    most: int | None = None,
    on_progress: Callable[[str], None] = lambda text: None,
) -> BenchResult:
    """What grading this many honest submissions costs with each tool.

    Args:
        course: where the chapter, built and released, and its answer bank are.
        chapter: the chapter.
        submissions: how many; beyond the bundled ones they are copies.
        most: how many of them nbgrader grades, the first ones; all when left out.
        on_progress: told what is running.

    Raises:
        CourseError: the chapter is not ready, or a command failed.
    """
    load, sampled = os.getloadavg()[0], min(most or submissions, submissions)
    with tempfile.TemporaryDirectory(prefix="gpulab-bench-") as name:
        on_progress("warming the file cache")
        warm = bench_course.copy(course, chapter, Path(name) / "warm", 1)
        measure(_autograde(chapter), warm.root)
        on_progress(f"grader autograde, {submissions} submissions")
        own = bench_course.copy(course, chapter, Path(name) / "ours", submissions)
        ours = measure(_autograde(chapter), own.root)
        breakdown = _breakdown(own, chapter, ours)
        command = [sys.executable, "-m", "nbgrader", "autograde", chapter.name]

        def theirs(tool: str, demonstrations: bool) -> ClassUsage:
            on_progress(f"{tool}, {sampled} submissions")
            copied = bench_course.copy(course, chapter, Path(name) / tool, sampled, demonstrations)
            return _figure(tool, copied, chapter, measure(command, copied.root))

        stock = theirs("nbgrader autograde", True)
        bare = theirs("nbgrader, no demonstrations", False)
        figure = _figure("grader autograde", own, chapter, ours)
    return BenchResult(chapter.name, stock, bare, figure, breakdown, machine(), load, versions(), today())


def _autograde(chapter: Chapter) -> list[str]:
    return [sys.executable, "-m", "grader", "autograde", chapter.name, "--no-pages"]


def _figure(tool: str, course: Course, chapter: Chapter, used: CommandUsage) -> ClassUsage:
    """What a command used, with what it recorded."""
    scores = gradebook.recorded(course, chapter)
    times = bench_course.recorded_at(course, chapter)
    each = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else used.wall_seconds
    return ClassUsage(
        tool,
        len(scores),
        used.wall_seconds,
        used.cpu_seconds,
        each,
        used.largest_process_mb,
        dict(sorted(scores.items())),
    )


def _breakdown(course: Course, chapter: Chapter, used: CommandUsage) -> Breakdown:
    """Where the time of the run in this copy of the course went."""
    results = load_results(course, chapter.name)
    accounts = Records.of(course, chapter.name).batch()["accounts"]
    wall, cpu = accounts["wall_seconds"], accounts["cpu_seconds"]
    sessions = sum(result.usage.cpu_seconds for result in results)
    imports = cpu.get("imports", 0.0)
    forks = max(cpu["parent"] - imports, 0.0)
    spent = {
        "the submissions' own processes": sessions,
        "fork server: imports": imports,
        "fork server: forks": forks,
        "driver: Python and its imports": cpu["start"],
        "driver: making the gradebook ready": cpu["gradebook"],
        "driver: recording": cpu["record"],
    }
    rest = cpu["driver"] - cpu["start"] - cpu["gradebook"] - cpu["record"]
    ready = wall["start"] + max(wall["gradebook"], wall.get("warm-up", 0.0))
    spent["driver: reading, talking to the processes"] = max(rest, 0.0)
    return Breakdown(
        cores=len(os.sched_getaffinity(0)),
        wall_seconds=used.wall_seconds,
        ready_seconds=ready,
        cpu_seconds=spent,
        longest_seconds=max(result.usage.wall_seconds for result in results),
        submission_cpu_seconds=(sessions + forks + cpu["record"] + max(rest, 0.0)) / len(results),
        idle_seconds=used.idle_seconds(),
        idle_once_ready=used.idle_seconds(ready),
        submission_memory_mb=_memory(results),
    )


def _memory(results: list[SubmissionResult]) -> tuple[float, ...]:
    """Peak memory of each submission, where control groups tell it."""
    from grader.sandbox import cgroups

    return tuple(result.usage.peak_memory_mb for result in results) if cgroups.parents() else ()


@dataclass(frozen=True)
class Growth:
    """Whether a large class takes longer a submission than a small one."""

    chapter: str
    submissions: int
    wall_seconds: float
    first_seconds: float
    """Wall seconds a submission, over the first tenth of the class."""
    last_seconds: float
    driver_peak_mb: float
    """Largest resident set of the driver, MB = 1e6 bytes."""
    machine: str
    load: float
    date: str

    @property
    def ratio(self) -> float:
        """How much longer a submission takes at the end."""
        return self.last_seconds / self.first_seconds


def grow(
    course: Course, chapter: Chapter, submissions: int, on_progress: Callable[[str], None] = lambda text: None
) -> Growth:
    """What a class of so many different submissions costs, at its beginning and at its end.

    Raises:
        CourseError: the chapter is not ready, or the command failed.
    """
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="gpulab-bench-") as name:
        on_progress(f"making {submissions} submissions")
        copied = bench_course.copy(course, chapter, Path(name) / "class", submissions)
        on_progress(f"grader autograde, {submissions} submissions")
        used = measure(_autograde(chapter), copied.root)
        first, last = bench_course.first_and_last(bench_course.recorded_at(copied, chapter))
    return Growth(chapter.name, submissions, used.wall_seconds, first, last, used.own_peak_mb, machine(), load, today())


def median_memory_mb(breakdown: Breakdown) -> float:
    """Of a typical submission."""
    return statistics.median(breakdown.submission_memory_mb)


def machine() -> str:
    """The processor and how many cores of it may be used."""
    model = platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line for line in lines if line.startswith("model name")).split(":", 1)[1].strip()
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def versions() -> dict[str, str]:
    """Python and the packages that the numbers depend on."""
    packages = ("nbgrader", "torch", "ipykernel")
    return {"Python": platform.python_version()} | {name: version(name) for name in packages}


def today() -> str:
    """The date, in UTC."""
    return datetime.now(UTC).date().isoformat()
