"""`grader bench`: this grader against stock nbgrader on the same submissions."""

from __future__ import annotations

from pathlib import Path

import click

from grader.commands.console import out, progress_bar, say
from grader.course import Course


@click.command("bench")
@click.argument("chapter")
@click.option("--submissions", type=click.IntRange(1), default=8, show_default=True, help="How many to grade.")
@click.option("--json", "file", type=click.Path(path_type=Path, dir_okay=False), help="Also write the figures there.")
def command(chapter: str, submissions: int, file: Path | None) -> None:
    """Grade the same submissions of CHAPTER with `nbgrader autograde` and with `grader autograde`, and compare.

    \b
    Example:
      grader bench 01_gpu_architecture --json bench.json
    """
    from grader import bench

    course = Course.find()
    with progress_bar() as progress:
        task = progress.add_task("", total=None)
        outcome = bench.compare(
            course,
            course.chapter(chapter),
            submissions,
            on_progress=lambda text: progress.update(task, description=f"Measuring: {text}"),
        )
    out().print(bench.table(outcome))
    if file:
        bench.write_json(outcome, file)
        say(str(file))
