"""`grader collect`: what Moodle or Canvas gives as a bulk download, into the folder of submissions."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.console import complain, out, say, waiting
from grader.model.course import Course

if TYPE_CHECKING:
    from rich.table import Table

    from grader.intake.decisions import Decision

STYLES = {"taken": "green", "replaced": "yellow", "there already": "dim", "skipped": "red"}


@click.command("collect")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--chapter", help="Take notebooks of this chapter only; default: recognized by the cells.")
@click.option(
    "--from",
    "platform",
    type=click.Choice(["moodle", "canvas", "folder"]),
    help="Whose naming scheme the files follow; default: recognized by the names.",
)
@click.option(
    "--due", metavar="TIME", help='When it was due: "2026-11-20" or "2026-11-20 18:00"; late submissions are listed.'
)
@click.option(
    "--late",
    type=click.Choice(["take", "skip"]),
    default="take",
    show_default=True,
    help="What to do with late submissions.",
)
@click.option(
    "--roster",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Moodle's grading worksheet, Canvas' gradebook export or another CSV: only these students are taken.",
)
@click.option("--dry-run", is_flag=True, help="Show what would happen to every file; change nothing.")
def command(
    file: Path,
    chapter: str | None,
    platform: str | None,
    due: str | None,
    late: str,
    roster: Path | None,
    dry_run: bool,
) -> None:
    """Take the submissions in FILE: Moodle's or Canvas' bulk download, any zip of notebooks, or a folder.

    They go to work/submitted/<student>/<chapter>/. Nothing is overwritten: if a student has several notebooks, the
    newest counts, and the one that it replaces is moved to work/replaced/. Every file that is not taken is listed
    with the reason.

    \b
    Examples:
      grader collect ~/Downloads/GPU-Chapter_01-4711.zip --due "2026-11-20 18:00"
      grader collect submissions.zip --roster Grades.csv --dry-run
      grader collect ~/Downloads/notebooks --chapter 01
    """
    from grader.intake import collect, disk
    from grader.intake import roster as rosters
    from grader.intake.names import Platform
    from grader.intake.sources import opened
    from grader.intake.times import when_due

    course = Course.find()
    wishes = collect.Wishes(
        chapter=course.chapter(chapter).name if chapter else None,
        platform={"moodle": Platform.MOODLE, "canvas": Platform.CANVAS, "folder": Platform.FOLDER, None: None}[
            platform
        ],
        due=when_due(due) if due else None,
        skip_late=late == "skip",
        roster=rosters.read(roster) if roster else None,
    )
    with opened(file) as source:
        with waiting("Looking through the submissions"):
            decisions = collect.plan(course, source, file.resolve().stem, wishes)
        if not dry_run:
            decisions = disk.carry_out(course, source, decisions)
    out().print(_table(decisions))
    states = Counter(one.state.value for one in decisions)
    told = ", ".join(f"{states[state]} {state}" for state in STYLES if states[state])
    say(f"{'Would be: ' if dry_run else ''}{told or 'No files in it'}.")
    _advise(course, decisions, due, dry_run)
    if not any(one.taken for one in decisions):
        complain(f"{file}: nothing in it that could be taken.")
        sys.exit(1)


def _advise(course: Course, decisions: Sequence[Decision], due: str | None, dry_run: bool) -> None:
    """What to do next, and what could not be told."""
    taken = [one for one in decisions if one.taken]
    unknown = sum(one.taken is not None and one.taken.late is None for one in taken)
    if due and unknown:
        complain(
            f"When {unknown} of them came is not known: all files of such a download are as old as the download. "
            "Give Moodle's grading worksheet with --roster.",
            style="yellow",
        )
    if any(one.state.value == "replaced" for one in taken) and not dry_run:
        say(f"Earlier ones: {course.work / 'replaced'}")
    for chapter in sorted({one.chapter for one in taken}):
        if not dry_run:
            say(f'Next: "grader autograde {chapter}"')


def _short(one: Decision) -> str:
    """The file's path without what Moodle puts before it, where that only repeats the student's name."""
    return re.sub(r"^.*_assignsubmission_[a-z]+[_/]*", "", one.file) if one.student else one.file


def _table(decisions: Sequence[Decision]) -> Table:
    """A line for every file."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    several = len({one.chapter for one in decisions if one.chapter}) > 1
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("student", overflow="fold")
    if several:
        table.add_column("chapter", no_wrap=True)
    table.add_column("file", overflow="fold")
    table.add_column("handed in", no_wrap=True)
    table.add_column("why, and what else", overflow="fold")
    for one in decisions:
        when = one.taken.when if one.taken else None
        row = [Text(one.state.value, style=STYLES[one.state.value]), Text(one.student)]
        row += [Text(one.chapter)] if several else []
        row += [Text(_short(one), style="dim"), Text(f"{when.astimezone():%Y-%m-%d %H:%M}" if when else "")]
        table.add_row(*row, Text(one.why))
    return table
