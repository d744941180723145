"""The benchmark of a whole class: graded, recorded, with feedback pages and report, as an instructor has it.

Stock nbgrader needs two commands for that, `autograde` and `generate_feedback`. It grades a few of the same submissions
in the same run.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from grader.dev.bench import bench_course
from grader.dev.bench.measurement import CommandUsage, measure
from grader.dev.bench.promises import BUSY_LOAD, Target
from grader.dev.bench.run import machine, today, versions
from grader.model.course import Chapter, Course, CourseError

BAR_SUBMISSIONS, BAR_SECONDS, BAR_CORES = 200, 90.0, 2
"""A class of so many, all in, in so many seconds of wall time on so many cores; a larger one in proportion."""


@dataclass(frozen=True)
class HandedBack:
    """What a class cost until everything was there that an instructor hands back."""

    chapter: str
    submissions: int
    wall_seconds: float
    cpu_seconds: float
    """User and system time of the command and all that it started."""
    grading_wall_seconds: float
    """Of these, until the last submission was recorded; the rest are pages and report."""
    stock_submissions: int
    stock_wall_seconds: float
    """Of `nbgrader autograde` and `nbgrader generate_feedback` together."""
    stock_cpu_seconds: float
    stock_feedback_cpu_seconds: float
    """Of these, `nbgrader generate_feedback`."""
    cores: int
    machine: str
    load: float
    """Other work on the machine when it began: processes that wanted to run, of the last minute."""
    load_after: float
    versions: dict[str, str]
    date: str

    @property
    def wall_ratio(self) -> float:
        """Stock nbgrader's wall seconds per submission, in ours."""
        return self.stock_wall_seconds / self.stock_submissions / (self.wall_seconds / self.submissions)

    @property
    def cpu_ratio(self) -> float:
        """Stock nbgrader's processor seconds per submission, in ours."""
        return self.stock_cpu_seconds / self.stock_submissions / (self.cpu_seconds / self.submissions)

    @property
    def targets(self) -> list[Target]:
        """The promise; nothing is promised of small classes, where the start counts most, and of other machines."""
        if self.cores != BAR_CORES or self.submissions < BAR_SUBMISSIONS:
            return []
        wanted = BAR_SECONDS * self.submissions / BAR_SUBMISSIONS
        return [Target(f"{self.submissions} submissions, all in", self.wall_seconds, wanted, False, " s")]


def hand_back(
    course: Course, chapter: Chapter, submissions: int, stock: int, on_progress: Callable[[str], None]
) -> HandedBack:
    """What it costs to grade so many submissions and to write all that is handed back.

    Args:
        course: where the chapter, built and released, and its answer bank are.
        chapter: the chapter.
        submissions: how many; the honest kinds of the sample class in turn, no two alike.
        stock: how many of them nbgrader grades, the first ones.
        on_progress: told what is running.

    Raises:
        CourseError: the chapter is not ready, a command failed, or a page is missing.
    """
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="gpulab-bench-") as name:
        on_progress(f"grader autograde with pages, {submissions} submissions")
        own = bench_course.copy(course, chapter, Path(name) / "ours", submissions)
        started = time.time()
        ours = measure([sys.executable, "-m", "grader", "autograde", chapter.name], own.root)
        _insist_on_pages(own, chapter, submissions)
        graded_at = bench_course.recorded_at(own, chapter)[-1]
        on_progress(f"nbgrader autograde and generate_feedback, {stock} submissions")
        theirs = bench_course.copy(course, chapter, Path(name) / "stock", stock)
        graded, fed = [_nbgrader(step, theirs, chapter) for step in ("autograde", "generate_feedback")]
        _insist_on_pages(theirs, chapter, stock)
    return HandedBack(
        chapter.name,
        submissions,
        ours.wall_seconds,
        ours.cpu_seconds,
        graded_at - started,
        stock,
        graded.wall_seconds + fed.wall_seconds,
        graded.cpu_seconds + fed.cpu_seconds,
        fed.cpu_seconds,
        len(os.sched_getaffinity(0)),
        machine(),
        load,
        os.getloadavg()[0],
        versions(),
        today(),
    )


def _nbgrader(step: str, course: Course, chapter: Chapter) -> CommandUsage:
    return measure([sys.executable, "-m", "nbgrader", step, chapter.name], course.root)


def _insist_on_pages(course: Course, chapter: Chapter, submissions: int) -> None:
    pages = len(list(course.feedback.glob(f"*/{chapter.name}/{chapter.name}.html")))
    if pages != submissions:
        raise CourseError(course.feedback, f"holds {pages} feedback pages of {submissions}", "Fix that first.")


def table(found: HandedBack) -> Table:
    """Both tools side by side, with the promise."""
    shown = Table(title=f"{found.chapter}: graded, recorded, with feedback pages and report", title_justify="left")
    for heading in ("", "submissions", "s in all", "s per submission", "CPU s per submission"):
        shown.add_column(heading, justify="right" if heading else "left")
    stock = (found.stock_submissions, found.stock_wall_seconds, found.stock_cpu_seconds)
    ours = (found.submissions, found.wall_seconds, found.cpu_seconds)
    rows = {"nbgrader autograde, generate_feedback": stock, "grader autograde": ours}
    for tool, (count, wall, cpu) in rows.items():
        shown.add_row(tool, f"{count}", f"{wall:.1f}", f"{wall / count:.2f}", f"{cpu / count:.2f}")
    shown.add_row("ratio", "", "", f"{found.wall_ratio:.1f} ×", f"{found.cpu_ratio:.1f} ×")
    told = [
        f"{target.what}: {target.measured:.1f} s, wanted ≤ {target.wanted:g} s {'✓' if target.met else '✗'}."
        for target in found.targets
    ]
    told.append(f"Of our seconds, {found.wall_seconds - found.grading_wall_seconds:.1f} came after the last grading.")
    told.append(f"{found.machine}; load {found.load:.1f} when it began, {found.load_after:.1f} when it ended.")
    if max(found.load, found.load_after - found.cores) > BUSY_LOAD:
        told.append("The machine was busy with something else: these are not the figures of a quiet one.")
    shown.caption = " ".join(told)
    return shown
