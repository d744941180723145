"""`grader renumber`: another number for a chapter, wherever it stands."""

from __future__ import annotations

import click

from grader.cli.console import say, waiting
from grader.model.course import Course


@click.command("renumber")
@click.argument("chapter")
@click.argument("number", type=int)
@click.option(
    "--dry-run", is_flag=True, help="Change nothing; show the new names, and which files contain the old ones."
)
def command(chapter: str, number: int, dry_run: bool) -> None:
    """Give CHAPTER another NUMBER, in file names, links, prose, and built notebooks. No cell is run.

    If another chapter has this number, it moves up by one, and so do the chapters after it as far as needed.
    Commit first, and look at the diff afterwards. To insert a chapter, move the one in its place:

    \b
    Examples:
      grader renumber 03 4            3 is free for a new chapter; 4 becomes 5, and so on
      grader renumber 09_inference 9
    """
    from grader.authoring import renumbering

    course = Course.find()
    change = renumbering.plan(course, course.chapter(chapter), number)
    for old, new in sorted(change.names.items()):
        say(f"{old} → {new}")
    if dry_run:
        for path, lines in renumbering.mentions(course, change).items():
            say(f"{path}: {lines} line{'s' * (lines != 1)}")
        return
    graded = [old for old in change.names if (course.results / old).is_dir()]
    with waiting("Renumbering"):
        changed = renumbering.renumber(course, change)
    say(f"{len(changed)} files and folders changed or moved. Built notebooks kept their outputs.")
    for old in graded:
        say(
            f"{course.results / old}: results under the old name stay there; grade again for the new one.",
            style="yellow",
        )
