"""`grader release`: executed notebooks to what students get."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from grader.cli.console import chapters_of, complain, progress_bar, say
from grader.model.course import Chapter, Course, CourseError


@click.command("release")
@click.argument("chapters", nargs=-1)
@click.option(
    "--check",
    is_flag=True,
    help="Change nothing; exit with 1 if a release is stale or contains an answer or a hidden test.",
)
@click.option(
    "--variants",
    "roster",
    metavar="ROSTER",
    type=click.Path(path_type=Path),
    help="Also write a notebook per student of this roster (CSV, or a text file with one name per line), in which the "
    "words of menus are codes that only this student has; default: everybody gets the same notebook.",
)
def command(chapters: tuple[str, ...], check: bool, roster: Path | None) -> None:
    """Make the student notebooks of CHAPTERS (default: all), and prove that no answer or hidden test is in them.

    With --variants, students get work/variants/<student>/<chapter>/<chapter>.ipynb instead, and from then on
    "grader autograde" reads the menus of these chapters by each student's codes. Keep work/variants.json: the
    codes come from the secret in it.

    \b
    Examples:
      grader release 01_gpu_architecture
      grader release 01 --variants class.csv
      grader release --check
    """
    if check and roster is not None:
        raise CourseError("--variants", "not possible with --check, which writes nothing", "Leave one of them out.")
    from grader.authoring import launcher, releasing

    findings: list[str] = []
    course = Course.find()
    chosen = chapters_of(course, chapters)
    with progress_bar() as progress:
        task = progress.add_task("", total=len(chosen))
        for chapter in chosen:
            progress.update(task, description=f"{'Checking' if check else 'Releasing'} {chapter.name}")
            if check:
                findings += map(str, releasing.check_release(chapter))
            else:
                changed = releasing.release(chapter)
                state = "released" if changed else "up to date"
                say(f"{chapter.release.relative_to(chapter.root)}: {state}, no answer and no hidden test in it")
            progress.advance(task)
    if check:
        findings += map(str, launcher.check(course))
    elif launcher.refresh(course):
        say("notebooks/README.ipynb: chapters, time and points brought up to date")
    if roster is not None:
        _write_variants(course, chosen, roster)
    for line in findings:
        complain(line)
    if findings:
        sys.exit(1)
    if check:
        say(f"{len(chosen)} chapter{'s' * (len(chosen) != 1)}: releases are clean and agree with the notebooks.")


def _write_variants(course: Course, chapters: Sequence[Chapter], roster: Path) -> None:
    """Writes the students' own notebooks of released chapters, and says for which exercises they have codes."""
    from grader.authoring import variant_notebooks
    from grader.intake.variants import people_in

    people = people_in(roster)
    with progress_bar() as progress:
        task = progress.add_task("", total=len(chapters))
        for chapter in chapters:
            progress.update(task, description=f"Writing variants of {chapter.name}")
            menus = variant_notebooks.write_variants(course, chapter, people)
            names = ", ".join(menu.exercise for menu in menus)
            students = f"{len(people)} student{'s' * (len(people) != 1)}"
            done = f"a variant for each of {students}, with codes for {names}" if menus else "no menu, so no variants"
            say(f"{chapter.name}: {done}")
            progress.advance(task)
