"""`grader verify`: the gate, over the answer bank or a part of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpulab.doctor import hardware
from grader.cli.console import chapters_of, complain, progress_bar, say
from grader.model.course import Course

if TYPE_CHECKING:
    from grader.authoring.bank import Bank
    from grader.trials.tried_seeds import TriedSeeds


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
    help="Answers graded at the same time.",
)
@click.option("--seed", type=click.IntRange(0), help="Draw the hidden inputs of an earlier run again.")
@click.option(
    "--sample",
    type=click.IntRange(1, 100),
    default=100,
    metavar="PERCENT",
    help="Try only this share of each exercise's wrong answers, or of its mutants, drawn anew each time.",
)
@click.option(
    "--seeds", type=click.IntRange(1), help="Grade every answer with this many seeds; report verdicts that change."
)
@click.option("--resume", is_flag=True, help="With --seeds: go on where earlier runs with --resume stopped.")
@click.option("--mutants", is_flag=True, help="Make mutants of the right answers; report those that pass.")
@click.option("--show", is_flag=True, help="Grade nothing: print the full text of every answer.")
def command(
    names: tuple[str, ...],
    answers: Path | None,
    jobs: int,
    seed: int | None,
    sample: int,
    seeds: int | None,
    resume: bool,
    mutants: bool,
    show: bool,
) -> None:
    """Check that CHAPTERS (default: all) are graded correctly: right answers pass, blank, wrong and hostile ones fail.

    With EXERCISES, only the answers to these. Names of chapters begin with a digit, names of exercises do not.

    \b
    Examples:
      grader verify 01_gpu_architecture
      grader verify 01 peak_rates occupancy
      grader verify peak_rates --show
      grader verify --sample 30
      grader verify 01 peak_rates --seeds 100
      grader verify --seeds 100 --resume
      grader verify 01 --mutants --sample 50
      grader verify --answers ~/private/answers
    """
    from grader.authoring import bank, gate, visible_score
    from grader.trials.tried_seeds import TriedSeeds

    course = Course.find()
    chosen = chapters_of(course, tuple(name for name in names if name[:1].isdigit()))
    exercises = tuple(name for name in names if not name[:1].isdigit())
    if show:
        for one in bank.banks_of(chosen, exercises, answers):
            for answer in one.answers:
                say(f"# %% {answer}", style="bold")
                say(f"{answer.source}\n")
        return
    if seeds or mutants:
        found = bank.banks_of(chosen, exercises, answers)
        record = TriedSeeds(course.work / "seeds.jsonl") if resume else None
        bad = _seeds(found, seeds, jobs, record) if seeds else False
        if (_mutants(found, jobs, sample / 100) if mutants else False) or bad:
            sys.exit(1)
        return
    with progress_bar() as progress:
        task = progress.add_task("Verifying", total=None)

        def advance(done: int, total: int, text: str) -> None:
            progress.update(task, completed=done, total=total, description=f"Verifying {text}")

        reports = gate.verify(
            course, chosen, exercises, answers=answers, jobs=jobs, seed=seed, sample=sample / 100, on_progress=advance
        )
    for report in reports:
        for finding in report.findings:
            complain(str(finding))
        for left in report.unchecked:
            say(f"{report.chapter}: not checked here: {left}", style="yellow")
        for once in report.unsteady:
            say(f"{report.chapter}: right only in a second try, by itself: {once}", style="yellow")
        outcome = f"{len(report.findings)} findings" if report.findings else "every one gets what it must"
        if report.left_out:
            outcome += f"; {report.left_out} answers not drawn by --sample {sample}"
        style = "bold red" if report.findings else "green"
        say(f"{report.chapter}: {report.checked} answers checked, {len(report.unchecked)} not; {outcome}.", style=style)
        for line in visible_score.told(report.chapter, report.visible):
            say(line)
    if any(report.findings for report in reports):
        sys.exit(1)


def _seeds(banks: list[Bank], seeds: int, jobs: int, record: TriedSeeds | None) -> bool:
    """Prints what many seeds make of the answers; whether any gets what it must not."""
    from grader.trials.seeds import steadiness

    bad = False
    for one in banks:
        for exercise in one.chosen:
            mine = [answer for answer in one.answers if answer.exercise == exercise]
            with progress_bar() as progress:
                task = progress.add_task(f"{exercise}, {seeds} seeds", total=None)

                def tell(done: int, total: int) -> None:
                    progress.update(task, completed=done, total=total)  # noqa: B023 called in this round only

                report = steadiness(one.source, exercise, mine, seeds, jobs, tell, record)
            for finding in report.findings:
                complain(finding)
            bad |= bool(report.findings)
            outcome = f"{len(report.findings)} findings" if report.findings else "no verdict changes"
            style = "bold red" if report.findings else "green"
            earlier = f" ({report.earlier} gradings by earlier runs)" if report.earlier else ""
            told = f"{report.answers} answers, {seeds} seeds{earlier}, {len(report.left_out)} left out; {outcome}."
            say(f"{exercise}: {told}", style=style)
    return bad


def _mutants(banks: list[Bank], jobs: int, sample: float) -> bool:
    """Prints the mutants that pass; whether there are any that nobody has explained."""
    from grader.trials.mutants import equivalents, survivors

    bad = False
    for one in banks:
        for exercise in one.chosen:
            mine = [answer for answer in one.answers if answer.exercise == exercise]
            known = equivalents(one.folder.parent, exercise)
            with progress_bar() as progress:
                task = progress.add_task(f"mutants of {exercise}", total=None)

                def tell(done: int, total: int) -> None:
                    progress.update(task, completed=done, total=total)  # noqa: B023 called in this round only

                report = survivors(one.source, exercise, mine, known, jobs, sample, tell)
            for survivor in report.found:
                complain(f"{exercise}: passes: {survivor}")
            for left in report.left_out:
                say(f"{exercise}: no mutants of an answer that gets no full points here: {left}", style="yellow")
            for change in report.unused:
                complain(f"{exercise}: no mutant that passes has this change: {change}. Drop it from the list.")
            bad |= bool(report.found or report.unused)
            told = f"{report.tried} mutants, {report.equivalent} equivalent, {len(report.found)} pass unexplained."
            say(f"{exercise}: {told}", style="bold red" if report.found else "green")
    return bad
