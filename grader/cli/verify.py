"""`grader verify`: the gate, over the answer bank or a part of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from grader.cli.console import chapters_of, complain, progress_bar, say
from grader.machine import hardware
from grader.model.course import Course


def jobs_here() -> int:
    """Without a GPU one more than cores: one of them waits, for ranks or for a limit. A GPU has memory for few."""
    return 2 if hardware.device_name() != "cpu" else min(os.cpu_count() or 1, 8) + 1


@click.command("verify")
@click.argument("names", nargs=-1, metavar="[CHAPTERS] [EXERCISES]")
@click.option("--answers", type=click.Path(path_type=Path, file_okay=False), help="Another answer bank.")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=jobs_here,
    show_default="one more than cores; 2 with a GPU",
    help="Answers judged at a time.",
)
@click.option("--seed", type=click.IntRange(0), help="Draw the hidden inputs of an earlier run again.")
@click.option(
    "--sample",
    type=click.IntRange(1, 100),
    default=100,
    metavar="PERCENT",
    help="Grade only this share of each exercise's wrong answers, drawn afresh each time.",
)
@click.option("--show", is_flag=True, help="Grade nothing: print every answer's whole text.")
def command(names: tuple[str, ...], answers: Path | None, jobs: int, seed: int | None, sample: int, show: bool) -> None:
    """Check that CHAPTERS (default: all) grade right: right answers pass, blank, wrong and hostile ones do not.

    With EXERCISES, the answers to these alone. A chapter begins with a digit, an exercise does not.

    \b
    Examples:
      grader verify 01_gpu_architecture
      grader verify 01 peak_rates occupancy
      grader verify peak_rates --show
      grader verify --sample 30
      grader verify --answers ~/private/answers
    """
    from grader.authoring import bank, verify, visible_score

    course = Course.find()
    chosen = chapters_of(course, tuple(name for name in names if name[:1].isdigit()))
    exercises = tuple(name for name in names if not name[:1].isdigit())
    if show:
        for one in bank.banks_of(chosen, exercises, answers):
            for answer in one.answers:
                say(f"# %% {answer}", style="bold")
                say(f"{answer.source}\n")
        return
    with progress_bar() as progress:
        task = progress.add_task("Verifying", total=None)

        def advance(done: int, total: int, text: str) -> None:
            progress.update(task, completed=done, total=total, description=f"Verifying {text}")

        reports = verify.verify(
            course, chosen, exercises, answers=answers, jobs=jobs, seed=seed, sample=sample / 100, on_progress=advance
        )
    for report in reports:
        for finding in report.findings:
            complain(str(finding))
        for left in report.unchecked:
            say(f"{report.chapter}: not checked here: {left}", style="yellow")
        outcome = f"{len(report.findings)} findings" if report.findings else "every one gets what it must"
        if report.left_out:
            outcome += f"; {report.left_out} wrong answers not drawn by --sample {sample}"
        style = "bold red" if report.findings else "green"
        say(f"{report.chapter}: {report.checked} answers checked, {len(report.unchecked)} not; {outcome}.", style=style)
        for line in visible_score.told(report.chapter, report.visible):
            say(line)
    if any(report.findings for report in reports):
        sys.exit(1)
