"""`grader build`: sources to executed notebooks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from grader.cli.console import chapters_of, complain, progress_bar, say
from grader.model.course import Course

if TYPE_CHECKING:
    from rich.progress import TaskID


@click.command("build")
@click.argument("chapters", nargs=-1)
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if a notebook does not match its source.")
@click.option("--execute", is_flag=True, help="Run all cells again, even if nothing has changed since the last run.")
def command(chapters: tuple[str, ...], check: bool, execute: bool) -> None:
    """Make the executed notebooks of CHAPTERS (default: all) from their sources.

    \b
    Examples:
      grader build 01_gpu_architecture
      grader build --check
    """
    from grader.authoring import building, direct_shares
    from grader.model.notebooks import read_own

    findings: list[str] = []
    chosen = chapters_of(Course.find(), chapters)
    with progress_bar() as progress:
        task = progress.add_task("", total=len(chosen))
        for chapter in chosen:
            progress.update(task, description=f"{'Checking' if check else 'Building'} {chapter.name}")
            if check:
                findings += map(str, building.check_build(chapter))
            else:
                cells = progress.add_task("cells", total=None)

                def tell(done: int, total: int, cells: TaskID = cells) -> None:
                    progress.update(cells, completed=done, total=total)

                changed = building.build(chapter, execute=True if execute else None, on_cell=tell)
                progress.remove_task(cells)
                say(f"{chapter.solution.relative_to(chapter.root)}: {'built' if changed else 'up to date'}")
                say(f"  {direct_shares.told(read_own(chapter.solution, ''))}")
            progress.advance(task)
    for line in findings:
        complain(line)
    if findings:
        sys.exit(1)
    if check:
        say(f"{len(chosen)} chapter{'s' * (len(chosen) != 1)}: sources and notebooks agree.")
