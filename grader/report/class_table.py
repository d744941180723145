"""A class's results for people and for spreadsheets: the table in the terminal and the CSV file.

The page is `report.page`'s, what is computed from results `report.class_statistics`'s.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from grader.model.records import write_atomically
from grader.model.results import SubmissionResult, Verdict
from grader.report.class_statistics import MARKS, cell_numbers, cell_of, exercises_of, graded, points, remark, test_ids
from grader.report.page import write_html
from grader.report.spreadsheet import csv_text

__all__ = ["table", "write_csv", "write_html"]

COLORS = {
    Verdict.PASSED: "green",
    Verdict.PARTIAL: "yellow",
    Verdict.FAILED: "red",
    Verdict.NOT_ATTEMPTED: "dim",
    Verdict.TIMED_OUT: "magenta",
    Verdict.CRASHED: "magenta",
    Verdict.NEEDS_GPU: "cyan",
    Verdict.HARNESS_ERROR: "bold red",
}
LONGEST_NAME = 18


def table(results: Sequence[SubmissionResult]) -> Table:
    """The class at a glance: a row a student, a column an exercise with one mark for each of its tests."""
    exercises, read = exercises_of(results), graded(results)
    chapter = results[0].chapter if results else "no results"
    shown = Table(
        title=f"{chapter}: {len(results)} submission{'s' * (len(results) != 1)}",
        caption=_legend(results, exercises),
        box=box.SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
        title_style="bold",
        caption_style="",
        caption_justify="left",
        show_footer=bool(read),
        expand=True,  # only then does the remark give way before the other columns do
    )
    shown.add_column("student", footer="all points, %", max_width=LONGEST_NAME, no_wrap=True, overflow="ellipsis")
    percents = _pass_percents(read)
    for number, name in enumerate(exercises, 1):
        shown.add_column(str(number), footer=percents[name], justify="center", no_wrap=True)
    totals = [result.earned for result in read]
    mean = f" ø {points(statistics.fmean(totals))}" if totals else ""
    shown.add_column(" points", footer=mean, justify="right", no_wrap=True)
    shown.add_column("pending", justify="right", no_wrap=True)
    shown.add_column(" remark", overflow="ellipsis", no_wrap=True, ratio=1)
    for result in results:
        row: list[Text] = [Text(result.student)]
        row += [_marks(result, name) for name in exercises]
        if result.problem is None:
            row.append(Text(f" {points(result.earned)}/{points(result.possible)}", style="bold"))
            row.append(Text(points(result.pending) if result.pending else "", style="cyan"))
        else:
            row += [Text("–", style="red"), Text("")]
        row.append(Text(f" {remark(result)}", style="red" if result.problem is not None else "dim"))
        shown.add_row(*row)
    return shown


def _marks(result: SubmissionResult, exercise: str) -> Text:
    """One character for each test of the exercise."""
    marks = Text()
    for cell in result.cells:
        if cell.exercise == exercise:
            marks.append(MARKS[cell.verdict], COLORS[cell.verdict])
    return marks


def _pass_percents(results: list[SubmissionResult]) -> dict[str, str]:
    """How many of a hundred have all points of an exercise's first test."""
    rates: dict[str, float | None] = {}
    for test in cell_numbers(results):
        rates.setdefault(test.exercise, test.pass_rate)
    return {name: "–" if rate is None else f"{100 * rate:.0f}" for name, rate in rates.items()}


def _legend(results: Sequence[SubmissionResult], exercises: list[str]) -> Text:
    """Which number is which exercise, and what the marks in the table mean."""
    seen = {cell.verdict for result in results for cell in result.cells}
    legend = Text("  ".join(f"{number}={name}" for number, name in enumerate(exercises, 1)), style="dim")
    legend.append("\n" if exercises else "")
    for verdict, mark in MARKS.items():
        if verdict in seen:
            legend.append(mark, COLORS[verdict])
            legend.append(f" {verdict.value}  ", "dim")
    return legend


def write_csv(results: Sequence[SubmissionResult], path: Path) -> None:
    """Writes one row a student: totals, points of every exercise, verdict of every test cell.

    Points that are not decided are left empty, never 0.

    Raises:
        CourseError: the disk is full or the folder not writable.
    """
    exercises, tests = exercises_of(results), test_ids(results)
    rows = [["student", "points", "possible", "pending", *exercises, *(f"{test} verdict" for test in tests), "problem"]]
    for result in results:
        read = result.problem is None
        row = [result.student]
        row += [_exact(result.earned), _exact(result.possible), _exact(result.pending)] if read else ["", "", ""]
        row += [_exercise_points(result, name) for name in exercises]
        row += [cell.verdict.value if (cell := cell_of(result, test)) else "" for test in tests]
        rows.append([*row, result.problem or ""])
    write_atomically(path, csv_text(rows).encode("utf-8", "replace").decode())


def _exercise_points(result: SubmissionResult, exercise: str) -> str:
    """The decided points of an exercise; empty when none are."""
    decided = [cell.earned for cell in result.cells if cell.exercise == exercise and not cell.verdict.pending]
    return _exact(sum(decided)) if decided else ""


def _exact(value: float) -> str:
    """A number as short as it can be without loss."""
    return f"{value:.0f}" if value == int(value) else repr(value)
