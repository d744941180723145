"""`grader doctor`: what this machine has, and what to do about what it lacks."""

from __future__ import annotations

import sys

import click

from grader.cli.console import out, waiting
from grader.model.course import Course, CourseError

COLORS = {"good": "green", "fair": "yellow", "bad": "red"}


@click.command("doctor")
def command() -> None:
    """Look at this machine: Python, driver, GPUs, CUDA, kernel, sandbox, disk, gradebook. Exits with 1 if a row is red.

    \b
    Example:
      grader doctor
    """
    from rich.markup import escape
    from rich.table import Table

    from grader.dev.prove import smoke_checks
    from grader.machine import doctor

    try:
        course = Course.find()
    except CourseError:
        course = None
    with waiting("Looking at this machine"):
        rows = doctor.examine(course, [smoke_checks.inside])
    table = Table("", "what", "found", "what to do", title="This machine", title_justify="left")
    for row in rows:
        color = COLORS[row.state]
        mark = {"good": "✓", "fair": "–", "bad": "✗"}[row.state]
        table.add_row(f"[{color}]{mark}[/]", row.what, f"[{color}]{escape(row.found)}[/]", escape(row.remedy))
    out().print(table)
    if any(row.state == "bad" for row in rows):
        sys.exit(1)
