"""`grader site`: the course as a static web site."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.console import progress_bar, say
from grader.model.course import Course


@click.command("site")
@click.option(
    "--output", type=click.Path(path_type=Path, file_okay=False), help="The folder to write; default work/site."
)
def command(output: Path | None) -> None:
    """Make a static web site of the course: chapters as students get them, with figures, and the documentation.

    No answer and no hidden test is in it: the finished pages are searched for every line of them.

    \b
    Examples:
      grader site
      python -m http.server --directory work/site/html
    """
    from grader.authoring.site import make_site

    course = Course.find()
    target = output or course.work / "site"
    with progress_bar() as progress:
        task = progress.add_task("", total=100)
        chapters = make_site(
            course,
            target,
            lambda share, text: progress.update(task, completed=round(100 * share), description=text),
        )
    say(f"{target / 'html' / 'index.html'}: {chapters} chapters, no answer and no hidden test in them")
