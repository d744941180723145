"""`grader release`: executed notebooks to what students get."""

from __future__ import annotations

import sys

import click

from grader.cli.console import chapters_of, complain, progress_bar, say
from grader.model.course import Course


@click.command("release")
@click.argument("chapters", nargs=-1)
@click.option(
    "--check",
    is_flag=True,
    help="Change nothing; exit with 1 if a release is stale or contains an answer or a hidden test.",
)
def command(chapters: tuple[str, ...], check: bool) -> None:
    """Make the student notebooks of CHAPTERS (default: all), and prove that no answer or hidden test is in them.

    \b
    Examples:
      grader release 01_gpu_architecture
      grader release --check
    """
    from grader.authoring import launcher, release

    findings: list[str] = []
    course = Course.find()
    chosen = chapters_of(course, chapters)
    with progress_bar() as progress:
        task = progress.add_task("", total=len(chosen))
        for chapter in chosen:
            progress.update(task, description=f"{'Checking' if check else 'Releasing'} {chapter.name}")
            if check:
                findings += map(str, release.check_release(chapter))
            else:
                changed = release.release(chapter)
                state = "released" if changed else "up to date"
                say(f"{chapter.release.relative_to(chapter.root)}: {state}, no answer and no hidden test in it")
            progress.advance(task)
    if check:
        findings += map(str, launcher.check(course))
    elif launcher.refresh(course):
        say("notebooks/README.ipynb: chapters, time and points brought up to date")
    for line in findings:
        complain(line)
    if findings:
        sys.exit(1)
    if check:
        say(f"{len(chosen)} chapter{'s' * (len(chosen) != 1)}: releases are clean and agree with the notebooks.")
