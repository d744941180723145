"""`grader bundle`: the archive that students get."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.console import chapters_of, say, waiting
from grader.model.course import Course


@click.command("bundle")
@click.argument("chapters", nargs=-1)
@click.option(
    "--into",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The archive; default work/gpulab-students.zip.",
)
def command(chapters: tuple[str, ...], into: Path | None) -> None:
    """Pack what students need for CHAPTERS (default: all that are released) into one archive.

    Notebooks, gpulab, data, how to install it, and a README; no solutions, answers, hidden tests or grader, which is
    looked for first. The same course gives the same bytes.

    \b
    Examples:
      grader bundle
      grader bundle 01 02 --into ~/course.zip
    """
    from grader.authoring import bundle as student_bundle

    course = Course.find()
    chosen = chapters_of(course, chapters)
    if not chapters:
        chosen = [chapter for chapter in chosen if chapter.release.is_file()]
    with waiting("Packing"):
        bundle = student_bundle.pack(course, chosen)
        target = into or course.work / "gpulab-students.zip"
        changed = student_bundle.save(bundle, target)
    size = f"{len(bundle.data) / 1e6:.1f} MB"
    state = "" if changed else ", as it was"
    say(f"{target}: {', '.join(bundle.chapters)}; {len(bundle.names)} files, {size}{state}. No answer is in it.")
