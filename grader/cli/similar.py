"""`grader similar`: pairs of submissions that share more than the chapter gives."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.console import complain, out, say, waiting
from grader.model.course import Course, CourseError

MOST_LISTED = 20


@click.command("similar")
@click.argument("chapter")
@click.argument("submissions", type=click.Path(path_type=Path), required=False)
@click.option(
    "--least",
    type=click.IntRange(1, 100),
    default=60,
    show_default=True,
    help="Percent of an exercise, or of everything, that a pair must share to be listed.",
)
def command(chapter: str, submissions: Path | None, least: int) -> None:
    """List pairs of CHAPTER's SUBMISSIONS (default: work/submitted) that share more than the chapter gives.

    Renamed variables, another layout, other comments and reordered functions do not hide anything. The chapter's own
    code is left out, and so is what a tenth of the class (and more than ten students) has written in the same way.
    Short answers are no evidence: a pair must share about forty tokens in a row or in pieces. Writes a page that shows
    both side by side, work/reports/<chapter>/similar.html. Runs nothing of the submissions.

    \b
    Examples:
      grader similar 01
      grader similar 01 ~/Downloads/submissions --least 40
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from grader.intake.discovery import find_submissions
    from grader.model.notebooks import load_key
    from grader.model.records import make_folder
    from grader.report import similar_page
    from grader.report.page import SIMILAR
    from grader.similarity import compare

    course = Course.find()
    chosen = course.chapter(chapter)
    folder = submissions or course.submitted
    if submissions is None and not folder.exists():
        raise CourseError(folder, "not there", 'Collect submissions with "grader collect", or name their folder.')
    key = load_key(chosen)
    with waiting("Comparing the submissions"):
        documents, unread = compare.read_class(find_submissions(folder, chosen.name), key)
        base = compare.given(key)
        pairs = compare.similar_pairs(documents, base, least)
        page = make_folder(course.reports(chosen.name)) / SIMILAR
        similar_page.write(pairs, base, key, len(documents), unread, page)
    for line in unread:
        complain(line, style="yellow")
    for document in documents:
        if document.cut:
            complain(f"{document.student}: too long to be compared as a whole; the rest is left out.", style="yellow")
    if pairs:
        table = Table("", "", "%", "of", box=box.SIMPLE_HEAD, pad_edge=False)
        for pair in pairs[:MOST_LISTED]:
            names = [one.exercise or "their own cells" for one in pair.exercises]
            if len(names) > 3:
                names = [*names[:2], f"and {len(names) - 2} more"]
            what = ", ".join(names) or "everything together"
            percent = f"{pair.percent:.0f}"
            table.add_row(Text(pair.first.student), Text(pair.second.student), percent, Text(what, overflow="fold"))
        out().print(table)
    more = f", the first {MOST_LISTED} of them above" if len(pairs) > MOST_LISTED else ""
    told = f"{len(documents)} submission{'s' * (len(documents) != 1)} compared"
    if len(documents) < 2:
        told += ": a comparison needs two"
    say(f"{told}; {len(pairs)} pair{'s' * (len(pairs) != 1)} with {least}% or more in common{more}.")
    say(str(page))
