"""`grader sample`: a class to try the grader on."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.console import say, waiting
from grader.model.course import Course


@click.command("sample")
@click.argument("chapter")
@click.option(
    "--into", type=click.Path(path_type=Path, file_okay=False), help="Folder for the class; default work/submitted."
)
def command(chapter: str, into: Path | None) -> None:
    """Make a class of sample submissions of CHAPTER from its answer bank: right, wrong, broken and hostile ones.

    \b
    Example:
      grader sample 01_gpu_architecture
    """
    from grader.dev import sample

    course = Course.find()
    chosen = course.chapter(chapter)
    folder = into or course.submitted
    with waiting("Making the sample class"):
        students = sample.make_class(course, chosen, folder)
    say(f"{folder}: {len(students)} submissions of {chosen.name}")
