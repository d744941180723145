"""Shows what the benchmark measured: tables for the terminal, and everything as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table
from rich.text import Text

from grader.dev.bench.handed_back import HandedBack
from grader.dev.bench.promises import BUSY_LOAD, Target
from grader.dev.bench.run import BenchResult, ClassUsage, Growth, median_memory_mb
from grader.model.records import cannot_write


def targets(outcome: BenchResult) -> list[Target]:
    """The promises about speed and memory, with what this run says of them."""
    stock, ours, breakdown = outcome.stock, outcome.ours, outcome.breakdown
    cpu = (ours.cpu_seconds / ours.submissions) / (stock.cpu_seconds / stock.submissions)
    limit = breakdown.limit_seconds(ours.submissions)
    found = [
        Target("throughput, all in", _ratio(stock, ours), 12, True, "×"),
        Target("throughput, each further submission", stock.each_seconds / ours.each_seconds, 18, True, "×"),
        Target("the same without demonstrations", outcome.bare.each_seconds / ours.each_seconds, 25, True, "×"),
        Target("CPU time, of nbgrader's", cpu, 0.1, False),
        Target("shortest possible time ÷ time, once ready", limit / breakdown.grading_seconds, 0.85, True),
        Target("share of the cores at work, once ready", breakdown.at_work, 0.95, True),
    ]
    if breakdown.submission_memory_mb:
        largest = max(breakdown.submission_memory_mb)
        found.append(Target("memory of a submission, largest", largest, 120, False, " MB"))
    return found


def tables(outcome: BenchResult) -> list[Table]:
    """Both tools side by side, the promises, and where our time goes."""
    return [_side_by_side(outcome), _promises(outcome), _where_it_goes(outcome)]


def growth_table(found: Sequence[Growth]) -> Table:
    """Classes of several sizes, one a row."""
    shown = Table(title=f"{found[0].chapter}: large classes", title_justify="left")
    for heading in (
        "submissions",
        "s in all",
        "s each, first tenth",
        "s each, last tenth",
        "last ÷ first",
        "driver, MB",
    ):
        shown.add_column(heading, justify="right")
    for one in found:
        shown.add_row(
            f"{one.submissions}",
            f"{one.wall_seconds:.0f}",
            f"{one.first_seconds:.3f}",
            f"{one.last_seconds:.3f}",
            _judged(f"{one.ratio:.2f}", one.ratio <= 1.2),
            _judged(f"{one.driver_peak_mb:.0f}", one.driver_peak_mb < 500),
        )
    shown.caption = (
        f"{found[0].machine}. Wanted: last ÷ first at most 1.2, the driver below 500 MB.{_busy(found[0].load)}"
    )
    return shown


def write_json(found: BenchResult | HandedBack | Sequence[Growth], path: Path) -> None:
    """Writes everything that was measured.

    Raises:
        CourseError: the file cannot be written.
    """
    if isinstance(found, BenchResult):
        promises = [{**asdict(target), "met": target.met} for target in targets(found)]
        data: object = {**asdict(found), "agreeing": found.agreeing, "targets": promises}
    elif isinstance(found, HandedBack):
        data = {**asdict(found), "wall_ratio": found.wall_ratio, "cpu_ratio": found.cpu_ratio}
    else:
        data = [{**asdict(one), "ratio": one.ratio} for one in found]
    try:
        path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise cannot_write(path, error) from None


def _ratio(stock: ClassUsage, ours: ClassUsage) -> float:
    return (stock.wall_seconds / stock.submissions) / (ours.wall_seconds / ours.submissions)


def _side_by_side(outcome: BenchResult) -> Table:
    shown = Table(title=f"{outcome.chapter}: {outcome.ours.submissions} submissions", title_justify="left")
    headings = (
        "",
        "submissions",
        "s in all",
        "s per submission",
        "s each further",
        "CPU s per submission",
        "largest process, MB",
    )
    for heading in headings:
        shown.add_column(heading, justify="right" if heading else "left", no_wrap=not heading)
    for figure in (outcome.stock, outcome.bare, outcome.ours):
        shown.add_row(
            figure.tool,
            f"{figure.submissions}",
            f"{figure.wall_seconds:.1f}",
            f"{figure.wall_seconds / figure.submissions:.2f}",
            f"{figure.each_seconds:.2f}",
            f"{figure.cpu_seconds / figure.submissions:.2f}",
            f"{figure.largest_process_mb:.0f}",
        )
    packages = ", ".join(f"{name} {number}" for name, number in outcome.versions.items())
    sampled = ""
    if outcome.stock.submissions < outcome.ours.submissions:
        sampled = f" nbgrader graded {outcome.stock.submissions} of the {outcome.ours.submissions} only."
    shown.caption = (
        f"{outcome.machine}; {packages}. Same points for {outcome.agreeing} of {outcome.stock.submissions}."
        f"{sampled} grader does not run the chapter's demonstrations where they are as released."
        f"{_busy(outcome.load)}"
    )
    return shown


def _promises(outcome: BenchResult) -> Table:
    shown = Table("", "measured", "wanted", title="Promises", title_justify="left")
    for target in targets(outcome):
        digits = ".0f" if target.unit == " MB" else (".1f" if target.unit else ".3f")
        shown.add_row(
            target.what,
            _judged(f"{target.measured:{digits}}{target.unit}", target.met),
            f"{'≥' if target.at_least else '≤'} {target.wanted:g}{target.unit}",
        )
    if memory := outcome.breakdown.submission_memory_mb:
        typical = median_memory_mb(outcome.breakdown)
        shown.caption = (
            f"A typical submission takes {typical:.0f} MB, the largest of the {len(memory)} {max(memory):.0f} MB."
        )
    return shown


def _where_it_goes(outcome: BenchResult) -> Table:
    """Core-seconds: what the cores did in the wall time of the run, and how long they did nothing."""
    breakdown = outcome.breakdown
    capacity = breakdown.cores * breakdown.wall_seconds
    shown = Table("", "core-s", "%", title="Where the time of grader autograde goes", title_justify="left")
    for column in shown.columns[1:]:
        column.justify = "right"
    rows = {**breakdown.cpu_seconds, "idle cores": breakdown.idle_seconds}
    rows["the kernel, other programs"] = max(capacity - sum(rows.values()), 0.0)
    for what, seconds in rows.items():
        shown.add_row(what, f"{seconds:.1f}", f"{100 * seconds / capacity:.0f}")
    shown.add_section()
    shown.add_row(f"{breakdown.cores} cores × {breakdown.wall_seconds:.1f} s", f"{capacity:.1f}", "100")
    shown.caption = (
        f"Ready after {breakdown.ready_seconds:.1f} s: Python, gradebook and fork server. "
        f"A submission takes {breakdown.submission_cpu_seconds:.2f} CPU s with its forks and its recording, "
        f"the longest {breakdown.longest_seconds:.1f} s."
    )
    return shown


def _judged(text: str, good: bool) -> Text:
    return Text(f"{'✓' if good else '✗'} {text}", style="green" if good else "red")


def _busy(load: float) -> str:
    if load <= BUSY_LOAD:
        return ""
    return f" The machine was busy with something else (load {load:.1f}): these are not the figures of a quiet one."
