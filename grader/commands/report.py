"""`grader report`: the class table, CSV and HTML of what was graded so far."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.commands.console import out, say, waiting
from grader.course import Chapter, Course, CourseError

if TYPE_CHECKING:
    from grader.notebooks import ChapterKey
    from grader.results import SubmissionResult


@click.command("report")
@click.argument("chapter")
def command(chapter: str) -> None:
    """Write CHAPTER's report again, from the results that are there; grades nothing.

    \b
    Example:
      grader report 01_gpu_architecture
    """
    from grader import report
    from grader.notebooks import load_key
    from grader.records import load_results

    course = Course.find()
    chosen = course.chapter(chapter)
    results = load_results(course, chosen.name)
    if not results:
        raise CourseError(
            course.results / chosen.name, "no results yet", f'Run "grader autograde {chosen.name}" first.'
        )
    with waiting("Writing the report"):
        table, page = write(course, chosen, results, load_key(chosen))
    out().print(report.table(results))
    say(f"{table}\n{page}")


def write(course: Course, chapter: Chapter, results: list[SubmissionResult], key: ChapterKey) -> tuple[Path, Path]:
    """Paths of the CSV table and the HTML page, both written.

    Raises:
        CourseError: the disk is full or the folder not writable.
    """
    from grader import report
    from grader.records import cannot_write, make_folder

    folder = make_folder(course.reports(chapter.name))
    table, page = folder / "grades.csv", folder / "report.html"
    try:
        report.write_csv(results, table)
        report.write_html(course, chapter, results, key, page)
    except OSError as error:
        raise cannot_write(Path(error.filename or folder), error) from None
    return table, page
