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
    "--whole",
    type=click.IntRange(1),
    help="Instead, grade a class of this size with feedback pages and report; nbgrader does the same for --stock of "
    "them, 2 when left out.",
)
@click.option(
    "--noise",
    type=click.IntRange(1),
    help="Instead, grade answers to the chapter's measuring exercises until there are this many gradings of each, and "
    "count wrong verdicts. What was graded before counts: the counts are kept in work/noise/, or the file of --json.",
)
@click.option(
    "--neighbors",
    type=click.IntRange(0),
    multiple=True,
    help="With --noise: number of busy processes at the same time; may be given several times. Default: none.",
)
@click.option(
    "--json", "file", type=click.Path(path_type=Path, dir_okay=False), help="Also write the numbers to this file."
)
def command(
    chapter: str,
    submissions: int,
    stock: int | None,
    scale: tuple[int, ...],
    whole: int | None,
    noise: int | None,
    neighbors: tuple[int, ...],
    file: Path | None,
) -> None:
    """Grade the same submissions of CHAPTER with `nbgrader autograde` and with `grader autograde`, and compare.

    \b
    Examples:
      grader bench 01_gpu_architecture --json bench.json
      grader bench 01 --scale 1000 --scale 5000
      grader bench 01 --whole 200 --stock 4
      grader bench 01 --noise 700 --neighbors 0 --neighbors 2 --neighbors 6
    """
    from grader.dev.bench import handed_back, report, run

    course = Course.find()
    chosen = course.chapter(chapter)
    if noise:
        _noise(chosen, noise, neighbors or (0,), file or course.work / "noise" / f"{chosen.name}.json")
        return
    with progress_bar() as progress:
        task = progress.add_task("", total=None)

        def tell(text: str) -> None:
            progress.update(task, description=f"Measuring: {text}")

        found: run.BenchResult | handed_back.HandedBack | list[run.Growth]
        if whole:
            found = handed_back.hand_back(course, chosen, whole, min(stock or 2, whole), tell)
        elif scale:
            found = [run.grow(course, chosen, size, tell) for size in scale]
        else:
            found = run.compare(course, chosen, submissions, stock, tell)
    if isinstance(found, handed_back.HandedBack):
        out().print(handed_back.table(found))
    elif isinstance(found, run.BenchResult):
        for table in report.tables(found):
            out().print(table)
    else:
        out().print(report.growth_table(found))
    if file:
        report.write_json(found, file)
        say(str(file))


def _noise(chapter: Chapter, times: int, neighbors: tuple[int, ...], file: Path) -> None:
    """Prints a line per exercise and number of neighbors; exits with 1 when a verdict was wrong."""
    from grader.dev import noise
    from grader.dev.noise_counts import Counts

    exercises, counts = noise.measuring(chapter), Counts(file)
    mistaken: list[str] = []
    for count in neighbors:
        with progress_bar() as progress:
            task = progress.add_task("", total=None)

            def tell(done: int, total: int, text: str) -> None:
                progress.update(task, completed=done, total=total, description=f"Grading {text}")  # noqa: B023 - called in this round only

            noise.graded(exercises, counts, times, count, tell)
        for name, (cell, answers) in exercises.items():
            total = counts.total(name, count, cell, answers)
            mistaken += total.mistaken
            say(
                f"{name}, {count} busy neighbors: {total.right} gradings of right answers, {total.wrong} of "
                f"wrong ones; {len(total.mistaken)} wrong verdicts, {total.pending} pending, {total.unnamed} mistakes "
                f"not named; {total.seconds:.0f} s, a right answer at most {total.longest_right_seconds:.1f} s"
            )
    say(str(file))
    for one in mistaken:
        complain(one)
    if mistaken:
        sys.exit(1)
