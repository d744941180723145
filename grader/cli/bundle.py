"""`grader bundle`: what students get when there is no shared machine."""

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
@click.option(
    "--url",
    metavar="URL",
    help="Also write a folder for Colab, Kaggle and other hosts, which you publish at this address.",
)
def command(chapters: tuple[str, ...], into: Path | None, url: str | None) -> None:
    """Pack what students need for CHAPTERS (default: all that are released) into one archive.

    The archive holds the notebooks, gpulab, the data, a README and a script that installs everything. It holds no
    solutions, answers, hidden tests or grader: the command looks for them before it writes. The same course gives the
    same bytes.

    With --url, the folder "hosted" beside the archive is for students who install nothing: notebooks whose first cell
    installs a wheel from the URL, the wheel, and a page of links (index.html). Publish the folder at the URL. If it is
    a folder on GitHub, the page also opens each chapter in Colab and Kaggle.

    \b
    Examples:
      grader bundle
      grader bundle 01 02 --into ~/course.zip
      grader bundle --url https://www.example.edu/gpu-course
      grader bundle --url https://github.com/USER/REPOSITORY/tree/main/hosted
    """
    from grader.authoring import student_bundle
    from grader.model.notebook_io import write

    course = Course.find()
    chosen = chapters_of(course, chapters)
    if not chapters:
        chosen = [chapter for chapter in chosen if chapter.release.is_file()]
    target = into or course.work / student_bundle.ARCHIVE
    folder = target.parent / "hosted"
    with waiting("Packing"):
        bundle = student_bundle.pack(course, chosen)
        changed = student_bundle.save(bundle, target)
        files = student_bundle.pack_for_hosts(course, chosen, url) if url else {}
        for name, data in files.items():
            write(folder / name, data)
    size = f"{len(bundle.data) / 1e6:.1f} MB"
    state = "" if changed else ", as it was"
    say(f"{target}: {', '.join(bundle.chapters)}; {len(bundle.names)} files, {size}{state}. No answer is in it.")
    if files:
        say(f"{folder}: {len(files)} files. Publish them at {url}; students begin with index.html.")
