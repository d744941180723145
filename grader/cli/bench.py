"""`grader bench`: this grader against stock nbgrader on the same submissions, and with large classes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from grader.cli.console import complain, out, progress_bar, say
from grader.model.course import Chapter, Course


@click.command("bench")
@click.argument("chapter")
@click.option(
    "--submissions", type=click.IntRange(2), default=40, show_default=True, help="How many submissions to grade."
)
@click.option("--stock", type=click.IntRange(2), help="How many of them nbgrader grades too; default: all.")
@click.option(
    "--scale",
    type=click.IntRange(80),
    multiple=True,
    help="Grade a class of this size instead, without nbgrader; may be given several times.",
)
@click.option(
    "--noise",
    type=click.IntRange(1),
    help="Instead, grade answers to the chapter's measuring exercises this many times, and count wrong verdicts.",
)
@click.option(
    "--neighbors",
    type=click.IntRange(0),
    multiple=True,
    help="With --noise: number of busy processes at the same time; may be given several times. Default: none.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="With --noise: the seed of the first grading."
)
@click.option(
    "--json", "file", type=click.Path(path_type=Path, dir_okay=False), help="Also write the numbers to this file."
)
def command(
    chapter: str,
    submissions: int,
    stock: int | None,
    scale: tuple[int, ...],
    noise: int | None,
    neighbors: tuple[int, ...],
    seed: int,
    file: Path | None,
) -> None:
    """Grade the same submissions of CHAPTER with `nbgrader autograde` and with `grader autograde`, and compare.

    \b
    Examples:
      grader bench 01_gpu_architecture --json bench.json
      grader bench 01 --scale 1000 --scale 5000
      grader bench 01 --noise 700 --neighbors 0 --neighbors 2 --neighbors 6
    """
    from grader.dev.bench import report, run

    course = Course.find()
    chosen = course.chapter(chapter)
    if noise:
        _noise(chosen, noise, neighbors or (0,), seed)
        return
    with progress_bar() as progress:
        task = progress.add_task("", total=None)

        def tell(text: str) -> None:
            progress.update(task, description=f"Measuring: {text}")

        found = (
            [run.grow(course, chosen, size, tell) for size in scale]
            if scale
            else run.compare(course, chosen, submissions, stock, tell)
        )
    if isinstance(found, run.BenchResult):
        for table in report.tables(found):
            out().print(table)
    else:
        out().print(report.growth_table(found))
    if file:
        report.write_json(found, file)
        say(str(file))


def _noise(chapter: Chapter, times: int, neighbors: tuple[int, ...], seed: int) -> None:
    """Prints a line per exercise and number of neighbors; exits with 1 when a verdict was wrong."""
    from grader.dev import noise

    mistaken: list[str] = []
    for number, count in enumerate(neighbors):
        with progress_bar() as progress:
            task = progress.add_task("", total=None)

            def tell(done: int, total: int, text: str) -> None:
                progress.update(task, completed=done, total=total, description=f"Grading {text}")  # noqa: B023 - called in this round only

            tallies = noise.graded(chapter, times, count, seed + number * times, tell)
        for tally in tallies:
            mistaken += tally.mistaken
            say(
                f"{tally.exercise}, {count} busy neighbors: {tally.right} gradings of right answers, {tally.wrong} of "
                f"wrong ones; {len(tally.mistaken)} wrong verdicts, {tally.pending} pending, {tally.unnamed} mistakes "
                f"not named; {tally.seconds:.0f} s"
            )
    for one in mistaken:
        complain(one)
    if mistaken:
        sys.exit(1)
