"""`grader report`: the class table, CSV and HTML of what was graded so far."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.console import complain, out, progress_bar, say, waiting
from grader.model.course import Chapter, Course, CourseError

if TYPE_CHECKING:
    from grader.model.notebooks import ChapterKey
    from grader.model.results import SubmissionResult


@click.command("report")
@click.argument("chapter")
@click.option(
    "--fill",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Moodle's grading worksheet or Canvas' gradebook export; a copy of it with the grades is written.",
)
@click.option(
    "--column", help="Beginning of the name of Canvas' column for the chapter; default: the chapter's name or title."
)
def command(chapter: str, fill: Path | None, column: str | None) -> None:
    """Write CHAPTER's report again from existing results, without grading.

    Writes report.html and grades.csv, and for submissions that "grader collect" took from Moodle or Canvas also
    moodle.csv and canvas.csv, ready to be imported. Points come from the gradebook, including those given by hand.
    Each student gets a report of their own, work/feedback/<student>/<chapter>/report.html, with points, verdicts,
    messages, and their place in the class. It names no other student.

    \b
    Examples:
      grader report 01_gpu_architecture
      grader report 01 --fill ~/Downloads/Grades-GPU-01.csv
    """
    from grader.model.notebooks import load_key
    from grader.model.records import load_results
    from grader.report import class_table as report

    course = Course.find()
    chosen = course.chapter(chapter)
    results = load_results(course, chosen.name)
    if not results:
        raise CourseError(
            course.results / chosen.name, "no results yet", f'Run "grader autograde {chosen.name}" first.'
        )
    key = load_key(chosen)
    table, page = write(course, chosen, results, key)
    with waiting("Writing the platforms' tables"):
        tables = for_platforms(course, chosen, results, key)
    out().print(report.table(results))
    for path in (table, page, *tables):
        say(str(path))
    if fill:
        _fill(course, chosen, results, fill, [column] if column else [chosen.name, _title(key)])


def write(
    course: Course,
    chapter: Chapter,
    results: list[SubmissionResult],
    key: ChapterKey,
    only: Collection[str] | None = None,
) -> tuple[Path, Path]:
    """Paths of the CSV table and the HTML page, written together with a report for each student, or for `only` some.

    Raises:
        CourseError: the disk is full or the folder not writable.
    """
    from grader.model.records import cannot_write, make_folder
    from grader.report import class_table as report
    from grader.report import student_page

    folder = make_folder(course.reports(chapter.name))
    table, page = folder / "grades.csv", folder / "report.html"
    try:
        # Before the class's page, which links to them.
        with progress_bar() as progress:
            count = sum(one.problem is None and (only is None or one.student in only) for one in results)
            task = progress.add_task("Writing reports", total=count)
            student_page.write_all(course, chapter, results, key, only, on_progress=lambda: progress.advance(task))
        report.write_csv(results, table)
        report.write_html(course, chapter, results, key, page)
    except OSError as error:
        raise cannot_write(Path(error.filename or folder), error) from None
    return table, page


def for_platforms(course: Course, chapter: Chapter, results: list[SubmissionResult], key: ChapterKey) -> list[Path]:
    """Paths of the tables for Moodle and Canvas, written for those whose submissions came from there.

    Raises:
        CourseError: the disk is full or the folder not writable, or the gradebook cannot be used.
    """
    from grader.gradebook import gradebook
    from grader.intake import ledger
    from grader.model.records import make_folder, write_atomically
    from grader.report import lms

    taken = ledger.load(course, chapter.name)
    if not taken:
        return []
    grades = lms.grades_of(results, gradebook.recorded(course, chapter))
    folder = make_folder(course.reports(chapter.name))
    texts = {
        "moodle.csv": lms.moodle_text(grades, taken),
        "canvas.csv": lms.canvas_text(grades, taken, _title(key)),
    }
    for name, text in texts.items():
        if text is not None:
            write_atomically(folder / name, text)
    return [folder / name for name, text in texts.items() if text is not None]


def _fill(course: Course, chapter: Chapter, results: list[SubmissionResult], path: Path, titles: list[str]) -> None:
    """Writes a copy of the platform's table with the grades, and says what did not fit."""
    from grader.gradebook import gradebook
    from grader.intake import ledger, roster
    from grader.model.records import write_atomically
    from grader.report import lms

    recorded = gradebook.recorded(course, chapter)
    grades = lms.grades_of(results, recorded)
    filled = lms.filled(roster.read(path), grades, ledger.load(course, chapter.name), titles)
    target = course.reports(chapter.name) / path.name
    write_atomically(target, filled.text)
    say(f"{target}: {len(filled.matched)} grades filled in")
    if filled.scaled_to:
        complain(f"Scaled to the {filled.scaled_to:g} points that the table asks for.", style="yellow")
    for people, what in (
        (filled.nowhere, "graded, but not in the table"),
        (filled.ungraded, "in the table, but nothing of theirs is graded"),
        ([one.student for one in grades if one.pending], "with points pending, which are not counted yet"),
        (lms.by_hand(results, recorded), "with points that were given by hand"),
    ):
        if people:
            more = f", and {len(people) - 8} more" if len(people) > 8 else ""
            complain(f"{len(people)} {what}: {', '.join(people[:8])}{more}", style="yellow")


def _title(key: ChapterKey) -> str:
    """What the chapter is called."""
    from grader.report.page import title_of

    return title_of(key)
