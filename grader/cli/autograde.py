"""`grader autograde`: a class, from its notebooks to gradebook, feedback and report."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli import report as report_command
from grader.cli.console import complain, out, progress_bar, say, waiting
from grader.model.course import Chapter, Course, CourseError

if TYPE_CHECKING:
    from grader.batch.cluster import Cluster
    from grader.batch.recorder import SubmissionProgress
    from grader.model.notebooks import ChapterKey
    from grader.model.results import SubmissionResult
    from grader.sandbox import Tier


@click.command("autograde")
@click.argument("chapter")
@click.argument("submissions", type=click.Path(path_type=Path), required=False)
@click.option("--slots", type=click.IntRange(1), help="Submissions graded at the same time; default: as many as fit.")
@click.option("--seed", type=click.IntRange(0), help="Replay the hidden inputs of an earlier grading.")
@click.option("--again", is_flag=True, help="Also grade submissions that have not changed since they were graded.")
@click.option("--scheduler", metavar="ADDRESS", help="Grade on the workers of this Dask cluster: tcp://HOST:8786.")
@click.option(
    "--require-tier",
    type=click.IntRange(0, 2),
    help="Refuse to grade in a weaker sandbox: 2 namespaces, 1 files, 0 limits; default: 2 with --scheduler, else 0.",
)
@click.option("--pages/--no-pages", default=True, help="Write feedback pages and report; default: yes.")
def command(
    chapter: str,
    submissions: Path | None,
    slots: int | None,
    seed: int | None,
    again: bool,
    scheduler: str | None,
    require_tier: int | None,
    pages: bool,
) -> None:
    """Grade CHAPTER's SUBMISSIONS (a folder with one folder per student; default: work/submitted).

    Writes the gradebook, feedback pages, and a report, all under work/. If it is interrupted, run it
    again: it continues where it stopped. Submissions that have not changed are not graded twice.

    \b
    Examples:
      grader autograde 01_gpu_architecture
      grader autograde 01 ~/Downloads/submissions --slots 8
      grader autograde 01 work/submitted/anna --again
      grader autograde 01 --scheduler tcp://10.0.0.1:8786
    """
    from grader.model.notebooks import load_key
    from grader.sandbox import Tier

    course = Course.find()
    chosen = course.chapter(chapter)
    folder = submissions or course.submitted
    if submissions is None and not folder.exists():
        raise CourseError(
            folder,
            "not there",
            f"Put submissions there as <student>/{chosen.name}/{chosen.name}.ipynb, "
            f'or make some to try: "grader sample {chosen.name}".',
        )
    key = load_key(chosen)
    # On a cluster, student code that has a network could talk to the scheduler, which does what anybody tells it.
    required = Tier(require_tier if require_tier is not None else (Tier.NAMESPACES if scheduler else Tier.LIMITS))
    if scheduler is None:
        insist_on(required)
    try:
        with _cluster(scheduler, required) as cluster:
            results, told = _grade(course, chosen, folder, key, slots, seed, again, required, cluster)
        if pages:
            write_feedback(course, chosen, results)
            _show(course, chosen, results, told, key)
    except KeyboardInterrupt:
        _leave(course, chosen)
    states = Counter(one.state for one in told)
    if states["harness error"] or states["not recorded"] or states["unreadable"] == len(told):
        sys.exit(1)


def insist_on(required: Tier) -> None:
    """Refuses when this machine cannot confine student code as far as is required.

    Raises:
        CourseError: it cannot; says why not.
    """
    if not required:
        return
    from grader.sandbox.probe import best_tier, refusals

    best = best_tier()
    if best < required:
        why = "; ".join(f"tier {tier}: {reason}" for tier, reason in sorted(refusals().items()) if tier > best)
        what = f"this machine confines student code to tier {best}, and tier {required} is required ({why})"
        raise CourseError("sandbox", what, "Grade on another machine, or in a virtual one, or ask for less.")


@contextmanager
def _cluster(address: str | None, required: Tier) -> Iterator[Cluster | None]:
    """A connection to the cluster, or none."""
    if address is None:
        yield None
        return
    from grader.batch.cluster import Cluster

    with waiting("Looking at the cluster"):
        cluster = Cluster(address, required)
    with cluster:
        yield cluster


def _grade(
    course: Course,
    chapter: Chapter,
    folder: Path,
    key: ChapterKey,
    slots: int | None,
    seed: int | None,
    again: bool,
    required: Tier,
    cluster: Cluster | None,
) -> tuple[list[SubmissionResult], list[SubmissionProgress]]:
    """Every result, and how each submission ended in this run."""
    from grader.batch import batch, thread_pool
    from grader.intake import discovery

    told: list[SubmissionProgress] = []
    with progress_bar(keep=True) as progress:
        task = progress.add_task(f"Grading {chapter.name}", total=len(discovery.find_submissions(folder, chapter.name)))

        def tell(one: SubmissionProgress) -> None:
            told.append(one)
            if one.line:
                progress.console.print(
                    one.line, style="red" if one.state != "unreadable" else "yellow", markup=False, soft_wrap=True
                )
            progress.update(task, completed=one.done)

        results = batch.grade_class(
            course,
            chapter,
            folder,
            key=key,
            slots=slots or thread_pool.default_slots(),
            seed=seed,
            again=again,
            required=required,
            cluster=cluster,
            on_progress=tell,
        )
    return results, told


def write_feedback(course: Course, chapter: Chapter, results: Sequence[SubmissionResult]) -> list[str]:
    """Writes the feedback pages of those whose page is not there or older than their grade, and gives their names."""
    from grader.report import feedback

    due = feedback.due(course, chapter, results)
    if due:
        with progress_bar() as progress:
            task = progress.add_task("Writing feedback", total=len(due))
            feedback.write(course, chapter, due, on_progress=lambda: progress.advance(task))
    return due


def _show(
    course: Course, chapter: Chapter, results: list[SubmissionResult], told: list[SubmissionProgress], key: ChapterKey
) -> None:
    """The class table, what was done, and where everything lies."""
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    from grader.model.records import load_results
    from grader.report import class_table as report

    table, page = report_command.write(course, chapter, load_results(course, chapter.name), key)
    out().print(report.table(results))
    states = Counter(one.state for one in told)
    say(", ".join(f"{count} {state}" for state, count in states.items()))
    places = Table.grid(padding=(0, 2))
    for what, path in (
        ("report", page),
        ("grades", table),
        ("gradebook", course.gradebook),
        ("feedback", course.feedback),
    ):
        places.add_row(what, Text(_short(path), overflow="fold"))
    out().print(Panel(places, title=chapter.name, title_align="left", expand=False))


def _short(path: Path) -> str:
    """The path as seen from the working directory, where that is shorter."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _leave(course: Course, chapter: Chapter) -> None:
    """After an interrupt: says what is kept and how to go on, ends what still runs, and leaves."""
    from grader.model.records import load_results
    from grader.processes.interrupt import end_children

    graded = [one for one in load_results(course, chapter.name) if one.problem is None]
    kept = "1 graded submission is kept" if len(graded) == 1 else f"{len(graded)} graded submissions are kept"
    complain(
        f"Interrupted. {kept} in {_short(course.results / chapter.name)} and in the "
        f'gradebook; run "{_command_line()}" again to go on with the rest.',
        style="yellow",
    )
    end_children()
    sys.stdout.flush()
    os._exit(130)  # threads that still grade must not hold the user up; nothing of theirs is kept


def _command_line() -> str:
    """What was typed, for typing it again."""
    import shlex

    return shlex.join(["grader", *sys.argv[1:]])
