"""`grader bench`: this grader against stock nbgrader on the same submissions, and with large classes."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.console import out, progress_bar, say
from grader.model.course import Course


@click.command("bench")
@click.argument("chapter")
@click.option("--submissions", type=click.IntRange(2), default=40, show_default=True, help="How many to grade.")
@click.option("--stock", type=click.IntRange(2), help="How many of them nbgrader grades too; default: all.")
@click.option(
    "--scale",
    type=click.IntRange(80),
    multiple=True,
    help="Grade a class of this size instead, without nbgrader; may be given several times.",
)
@click.option("--json", "file", type=click.Path(path_type=Path, dir_okay=False), help="Also write the figures there.")
def command(chapter: str, submissions: int, stock: int | None, scale: tuple[int, ...], file: Path | None) -> None:
    """Grade the same submissions of CHAPTER with `nbgrader autograde` and with `grader autograde`, and compare.

    \b
    Examples:
      grader bench 01_gpu_architecture --json bench.json
      grader bench 01 --scale 1000 --scale 5000
    """
    from grader.dev.bench import report, run

    course = Course.find()
    chosen = course.chapter(chapter)
    with progress_bar() as progress:
        task = progress.add_task("", total=None)

        def tell(text: str) -> None:
            progress.update(task, description=f"Measuring: {text}")

        found = (
            [run.grow(course, chosen, size, tell) for size in scale]
            if scale
            else run.compare(course, chosen, submissions, stock, tell)
        )
    if isinstance(found, run.Outcome):
        for table in report.tables(found):
            out().print(table)
    else:
        out().print(report.growth_table(found))
    if file:
        report.write_json(found, file)
        say(str(file))
