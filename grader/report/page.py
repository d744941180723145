"""The report as one HTML page: nothing outside it is loaded, nothing in it needs a script.

Puts together what the template shows; the numbers are `report.class_statistics`'s, the figures `report.plots`'s.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from grader.intake import ledger
from grader.model.course import Chapter, Course
from grader.model.notebooks import ChapterKey, Role
from grader.model.records import write_atomically
from grader.model.results import CellResult, SubmissionResult, Verdict
from grader.report import class_statistics
from grader.report.class_statistics import MARKS, CellNumbers, cell_of, graded, points, remark
from grader.report.plots import height_of, outcome_bars, score_histogram
from grader.report.rendering import rendered

FAULTS_SHOWN = 12
SIMILAR = "similar.html"
"""What `grader similar` writes beside the report."""
STUDENT_REPORT = "report.html"
"""What lies beside a student's feedback page."""


@dataclass(frozen=True)
class StudentRow:
    """One student in the class table."""

    result: SubmissionResult
    cells: tuple[CellResult | None, ...]
    feedback: str
    """Where the student's feedback page lies, seen from the report; empty when there is none."""
    report: str
    """Where the student's own report lies, likewise."""
    late: bool = False
    """Whether it was collected as late."""

    @property
    def percent(self) -> float:
        """Earned points, of a hundred."""
        return 100 * self.result.earned / self.result.possible if self.result.possible else 0.0

    @property
    def pending_percent(self) -> float:
        """Pending points, of a hundred."""
        return 100 * self.result.pending / self.result.possible if self.result.possible else 0.0

    @property
    def remark(self) -> str:
        """What a person should know besides."""
        return "; ".join(filter(None, ("late" if self.late else "", remark(self.result))))

    @property
    def losses(self) -> list[CellResult]:
        """The tests about which there is something to say."""
        return [cell for cell in self.result.cells if cell.verdict is not Verdict.PASSED]


@dataclass(frozen=True)
class Tile:
    """One number at the top of the page."""

    value: str
    label: str
    note: str = ""


def write_html(
    course: Course, chapter: Chapter, results: Sequence[SubmissionResult], key: ChapterKey, path: Path
) -> None:
    """Writes the report of a class.

    Args:
        course: where feedback pages are looked for, to be linked.
        chapter: the chapter.
        results: of all submissions, those that could not be read included.
        key: the chapter's cells, for its title.
        path: the page.

    Raises:
        CourseError: the disk is full or the folder not writable.
    """
    read = graded(results)
    tests = class_statistics.cell_numbers(results)
    late = {name for name, taken in ledger.load(course, chapter.name).items() if taken.late}
    rows = [_row(course, chapter, result, [test.grade_id for test in tests], path, late) for result in results]
    faults = class_statistics.common_faults(results)
    page = rendered(
        "report.html.j2",
        name=chapter.name,
        title=title_of(key),
        tiles=_tiles(results),
        unread=[result for result in results if result.problem is not None],
        tests=tests,
        rows=rows,
        marks=MARKS,
        seen=[verdict for verdict in Verdict if any(test.verdicts[verdict] for test in tests)],
        histogram=Markup(score_histogram(read, min(height_of(len(tests)), 4.2))) if read else "",
        histogram_title=_histogram_title(read),
        outcomes=Markup(outcome_bars(tests)) if tests else "",
        outcomes_title=_outcomes_title(tests),
        faults=faults[:FAULTS_SHOWN],
        more_faults=faults[FAULTS_SHOWN:],
        most=max((len(fault.students) for fault in faults), default=1),
        waiting=class_statistics.waiting(results),
        slow=class_statistics.slow_and_noisy(results) if read else [],
        look_at=[result for result in read if result.look_at],
        fixed=[result for result in read if result.repairs],
        devices=sorted({result.device for result in read}),
        isolations=sorted({result.isolation for result in read}),
        similar=SIMILAR if (path.parent / SIMILAR).is_file() else "",
    )
    write_atomically(path, page)


def _row(
    course: Course, chapter: Chapter, result: SubmissionResult, tests: list[str], path: Path, late: set[str]
) -> StudentRow:
    folder = course.feedback / result.student / chapter.name
    feedback, report = (_link(folder / name, path) for name in (f"{chapter.name}.html", STUDENT_REPORT))
    return StudentRow(result, tuple(cell_of(result, test) for test in tests), feedback, report, result.student in late)


def _link(target: Path, page: Path) -> str:
    """The address of a file, seen from a page; empty when it is not there."""
    return quote(os.path.relpath(target, page.parent)) if target.is_file() else ""


def title_of(key: ChapterKey) -> str:
    """The chapter's first heading; its name when it has none."""
    for cell in key.cells:
        if cell.role is Role.PROSE:
            for line in cell.source.splitlines():
                if line.startswith("# "):
                    return line[2:].strip()
    return key.name


def _tiles(results: Sequence[SubmissionResult]) -> list[Tile]:
    """The class in five figures."""
    read = graded(results)
    unread = len(results) - len(read)
    tiles = [Tile(str(len(read)), "graded", f"{unread} could not be graded" if unread else "every submission")]
    if not read:
        return tiles
    totals, possible = [result.earned for result in read], max(result.possible for result in read)
    pending = [result for result in read if result.pending]
    full = sum(result.earned + result.pending == result.possible for result in read)
    wall = [result.usage.wall_seconds for result in read]
    cpu = statistics.median(result.usage.cpu_seconds for result in read)
    memory = max(result.usage.peak_memory_mb for result in read)
    return [
        *tiles,
        Tile(
            points(statistics.median(totals)),
            f"median, of {points(possible)} points",
            f"mean {points(statistics.fmean(totals))}",
        ),
        Tile(str(full), "lost no point", f"{sum(not total for total in totals)} earned none"),
        Tile(points(sum(result.pending for result in read)), "points pending", f"of {len(pending)} students"),
        Tile(f"{statistics.median(wall):.1f} s", "per submission", f"{cpu:.1f} CPU-s, at most {memory:.0f} MB"),
    ]


def _histogram_title(read: Sequence[SubmissionResult]) -> str:
    if not read:
        return ""
    median = statistics.median(result.earned for result in read)
    return f"Half the class has {points(median)} points or more"


def _outcomes_title(tests: Sequence[CellNumbers]) -> str:
    """The finding: what is hardest, of the tests that most of the class has a verdict on."""
    most = max((test.decided for test in tests), default=0)
    rated = [test for test in tests if test.pass_rate is not None and 2 * test.decided > most]
    if not rated:
        return "No test is decided yet"
    hardest = min(rated, key=lambda test: (test.pass_rate, test.mean_share))
    if hardest.pass_rate == 1.0:
        return "Everybody passed everything"
    count = hardest.verdicts[Verdict.PASSED]
    return f"{hardest.exercise} is the hardest: {count} of {hardest.decided} have all its points"
