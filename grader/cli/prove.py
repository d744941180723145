"""`grader prove`: the whole course on this machine's GPU."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from grader.cli.console import complain, out, progress_bar, say
from grader.model.course import Course


@click.command("prove")
@click.option(
    "--only", multiple=True, metavar="STEP", help="A step, or a chapter such as 04; may be given several times."
)
@click.option("--bundle", type=click.Path(path_type=Path, dir_okay=False), help="Pack the results into this file.")
@click.option(
    "--apply", "applied", type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Run nothing: unpack a bundle from another machine into this tree.",
)  # fmt: skip
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="How many times each answer is graded per GPU row.",
)
@click.option("--gpu-rows-only", is_flag=True, help="Grade only the tests that need a GPU.")
@click.option("--seconds", type=click.FloatRange(0), help="Start nothing that would not finish within this time.")
@click.option("--slots", type=click.IntRange(1), default=4, show_default=True, help="Rows that run at the same time.")
def command(
    only: tuple[str, ...],
    bundle: Path | None,
    applied: Path | None,
    repeats: int,
    gpu_rows_only: bool,
    seconds: float | None,
    slots: int,
) -> None:
    """Run the whole course on this machine's GPU, and write the evidence to data/machines/.

    \b
    Steps: smoke, doctor, calibrate, readings, counts, nsight, execute, nbval, gate, repeats, class.
    Examples:
      grader prove --bundle proof.tar.xz
      grader prove --only smoke
      grader prove --only readings --seconds 540 --bundle readings.tar.xz
      grader prove --only calibrate --only 02
      grader prove --seconds 540 --repeats 2 --gpu-rows-only --bundle proof.tar.xz
      grader prove --apply proof.tar.xz

    Finished rows are not run again by the next call, which continues with the rest. The report and the
    bundle are always written, even after an interrupt. On a machine that you have for minutes, run smoke first, then
    readings, then "--seconds 540 …" until nothing is left. --apply also unpacks what is known by row, so that
    the next machine of that kind continues there.
    """
    from rich.table import Table

    from grader.dev.prove import proof_bundle, prove, report
    from grader.dev.prove.rows import Pace
    from grader.dev.prove.steps import STEPS
    from grader.processes.interrupt import ending_as_interrupt

    course = Course.find()
    if applied is not None:
        changed = proof_bundle.apply(course, applied)
        for name in changed:
            say(name)
        say(f"{len(changed)} files changed." if changed else "Nothing in it is new.")
        return

    pace = Pace(repeats, gpu_rows_only, None if seconds is None else time.monotonic() + seconds, slots)
    with progress_bar() as progress, ending_as_interrupt():
        task = progress.add_task("Proving", total=None)
        outcomes = prove(
            course,
            STEPS,
            only,
            say=lambda text: complain(text, style=""),
            pace=pace,
            on_step=lambda done, total, what: progress.update(task, completed=done, total=total, description=what),
        )
    table = Table("step", "outcome", "took", title="The course on this GPU", title_justify="left")
    for outcome in outcomes:
        mark = f"[{'green' if outcome.good else 'red'}]{outcome.summary}[/]"
        table.add_row(outcome.step, mark, f"{outcome.seconds:.0f} s")
    out().print(table)
    for outcome in outcomes:
        for finding in outcome.findings:
            complain(f"{outcome.step}: {finding}")
        for lacking in outcome.absent:
            complain(f"{outcome.step}: not here: {lacking}")
    if still := report.to_show(outcomes, STEPS):
        say(f"A GPU must still show, step by step: {', '.join(one.partition(':')[0] for one in still)}.")
    for path in report.write(course, outcomes, STEPS):
        say(f"Written: {path.relative_to(course.root)}")
    if bundle is not None:
        names = proof_bundle.pack(course, bundle)
        say(f"Packed: {bundle}, {len(names)} files, {bundle.stat().st_size / 1e6:.1f} MB")
    if not all(outcome.good for outcome in outcomes):
        sys.exit(1)
