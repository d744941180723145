"""`grader prove`: the whole course on this machine's GPU."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from grader.commands.console import complain, out, say, waiting
from grader.course import Course


@click.command("prove")
@click.option("--only", multiple=True, metavar="STEP", help="A step, or a chapter such as 04; several times.")
@click.option("--bundle", type=click.Path(path_type=Path, dir_okay=False), help="Pack what came of it into this file.")
@click.option(
    "--apply", "applied", type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Run nothing: put what a bundle from elsewhere holds into this tree.",
)  # fmt: skip
def command(only: tuple[str, ...], bundle: Path | None, applied: Path | None) -> None:
    """Run the whole course on this machine's GPU, and write the evidence to data/machines/.

    \b
    Steps: doctor, calibrate, counts, nsight, execute, nbval, gate, repeats, class.
    Examples:
      grader prove --bundle proof.tar.xz
      grader prove --only calibrate --only 02
      grader prove --apply proof.tar.xz
    """
    from rich.table import Table

    from grader.prove import bundle as bundles
    from grader.prove import prove, report
    from grader.prove.steps import STEPS

    course = Course.find()
    if applied is not None:
        changed = bundles.apply(course, applied)
        for name in changed:
            say(name)
        say(f"{len(changed)} files changed." if changed else "Nothing in it is new.")
        return

    with waiting("Proving"):
        outcomes = prove(course, STEPS, only, say=lambda text: complain(text, style=""))
    table = Table("step", "outcome", "took", title="The course on this GPU", title_justify="left")
    for outcome in outcomes:
        mark = "[green]as it must be[/]" if outcome.good else f"[red]{len(outcome.findings)} findings[/]"
        table.add_row(outcome.step, mark, f"{outcome.seconds:.0f} s")
    out().print(table)
    for outcome in outcomes:
        for finding in outcome.findings:
            complain(f"{outcome.step}: {finding}")
    for path in report.write(course, outcomes):
        say(f"Written: {path.relative_to(course.root)}")
    if bundle is not None:
        names = bundles.pack(course, bundle)
        say(f"Packed: {bundle}, {len(names)} files, {bundle.stat().st_size / 1e6:.1f} MB")
    if not all(outcome.good for outcome in outcomes):
        sys.exit(1)
