"""The command `grader`: its subcommands, and how it ends when something is wrong.

Exits with 0 when all is well, 1 when a check found something, 2 when a person has to fix something first, 130 when
interrupted. Every command lies in `grader.cli` and imports what it needs only when it runs.
"""

from __future__ import annotations

import atexit
import difflib
import gc
import os
from typing import Any

import click

from gpulab.doctor import hardware
from grader import __version__
from grader.cli import (
    autograde,
    bench,
    build,
    bundle,
    collect,
    doctor,
    prove,
    release,
    renumber,
    report,
    sample,
    similar,
    site,
    verify,
    watch,
)
from grader.cli.console import complain
from grader.model.course import CourseError
from grader.model.findings import Findings


class Commands(click.Group):
    """A group that prints a `CourseError` as what it is, one line for a person, and knows near misses."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; anything but a `CourseError` is a bug of ours and keeps its traceback."""
        try:
            return super().invoke(ctx)
        except CourseError as error:
            complain(str(error))
            ctx.exit(1 if isinstance(error, Findings) else 2)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command; suggests the nearest name for one that is not there."""
        near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
        if self.get_command(ctx, args[0]) is None and near:
            ctx.fail(f"No such command '{args[0]}'. Did you mean '{near[0]}'?")
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="grader")
def main() -> None:
    """Builds a chapter, releases it to students, and grades what comes back.

    \b
    The usual round, for chapter 01:
      grader build 01      solutions/01_….md → executed notebook
      grader release 01    → notebooks/, without answers and hidden tests
      grader verify 01     every answer of the answer bank gets its verdict
      grader bundle        the archive that students get
      grader site          the course as a web site
      grader collect FILE  Moodle's or Canvas' bulk download → work/submitted/
      grader autograde 01  work/submitted/ → gradebook, feedback, report
      grader similar 01    pairs of submissions that share more than the chapter gives

    "grader watch 01" grades while students work, and hands feedback back.
    """
    for name, value in hardware.PCI_ORDER.items():
        os.environ.setdefault(name, value)
    atexit.register(gc.freeze)  # else Python looks for garbage in all that was imported, which takes half a second


ALL = (
    *(build, release, verify, bundle, site, collect, autograde, watch, report, similar),
    *(sample, doctor, bench, prove, renumber),
)
for command in ALL:
    main.add_command(command.command)
