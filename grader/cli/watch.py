"""`grader watch`: grades what arrives while students work, and hands feedback back."""

from __future__ import annotations

import os
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli import report as report_command
from grader.cli.autograde import insist_on, write_feedback
from grader.cli.console import complain, say, waiting
from grader.model.course import Chapter, Course, CourseError

if TYPE_CHECKING:
    from grader.batch.arrivals import ChapterWatch
    from grader.batch.recorder import SubmissionProgress
    from grader.model.notebooks import ChapterKey

BUSY_SECONDS = 5.0
"""Until the next try, when another grader is at work on the chapter."""


@click.command("watch")
@click.argument("chapter")
@click.argument("submissions", type=click.Path(path_type=Path, file_okay=False), required=False)
@click.option(
    "--exchange",
    "inbox",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Take submissions from this nbgrader exchange into work/submitted, and release feedback through it.",
)
@click.option(
    "--return-to",
    type=click.Path(path_type=Path, file_okay=False),
    help="Copy feedback to <folder>/<student>/<chapter>/. Nobody else may be able to write to this folder.",
)
@click.option("--any-owner", is_flag=True, help="With --exchange: all students submit under one account.")
@click.option("--every", type=click.FloatRange(0.1), default=5.0, show_default=True, help="Seconds between looks.")
@click.option("--slots", type=click.IntRange(1), help="Submissions graded at a time; default: as many as fit.")
@click.option(
    "--require-tier", type=click.IntRange(0, 2), default=0, help="Refuse to grade in a weaker sandbox; default: 0."
)
def command(
    chapter: str,
    submissions: Path | None,
    inbox: Path | None,
    return_to: Path | None,
    any_owner: bool,
    every: float,
    slots: int | None,
    require_tier: int,
) -> None:
    """Grade CHAPTER's SUBMISSIONS (default: work/submitted) as they arrive, until Ctrl-C or SIGTERM.

    A submission is graded when its file has not changed for two seconds, and again when it is replaced. Feedback pages,
    the student's report and the class's report are written after each round. What was graded before is not graded
    again, and an interrupt loses nothing: start the same command again.

    \b
    Examples:
      grader watch 01 --exchange /srv/gpulab
      grader watch 01 /srv/drop --return-to /srv/feedback
    """
    from grader.batch.arrivals import ChapterWatch
    from grader.model.notebooks import load_key
    from grader.processes.interrupt import ending_as_interrupt
    from grader.sandbox import Tier

    course = Course.find()
    chosen = course.chapter(chapter)
    if inbox is not None and submissions is not None:
        raise click.UsageError("Name a folder or an exchange: what comes from an exchange goes to work/submitted.")
    if any_owner and inbox is None:
        raise click.UsageError("--any-owner says something about an exchange: name it with --exchange.")
    if submissions is not None and not submissions.is_dir():
        raise CourseError(submissions, "not there", "Make the folder, or name the one that submissions arrive in.")
    key, required = load_key(chosen), Tier(require_tier)
    insist_on(required)
    watch = ChapterWatch(course, chosen, submissions or course.submitted, inbox, any_owner)
    from grader.batch import thread_pool

    rounds = _Rounds(course, chosen, key, watch, slots or thread_pool.default_slots(), required, return_to)
    say(f"Watching {inbox or watch.folder} for {chosen.name}. Ctrl-C stops.")
    try:
        with ending_as_interrupt():
            while True:
                rounds.one()
                with waiting(f"Watching; {rounds.graded} graded"):
                    time.sleep(every)
    except KeyboardInterrupt:
        rounds.leave()


class _Rounds:
    """The work of one round after the other."""

    def __init__(
        self,
        course: Course,
        chapter: Chapter,
        key: ChapterKey,
        watch: ChapterWatch,
        slots: int,
        required: int,
        return_to: Path | None,
    ) -> None:
        self._course, self._chapter, self._key, self._watch = course, chapter, key, watch
        self._slots, self._required, self._return_to = slots, required, return_to
        self.graded = 0

    def one(self) -> None:
        """Collects, grades and hands back what is new."""
        from grader.model.records import Busy

        for line in self._watch.collect():
            complain(line, style="yellow")
        try:
            new = self._watch.round(self._grade)
        except Busy as error:
            complain(f"{error} Trying again in {BUSY_SECONDS:.0f} s.", style="yellow")
            time.sleep(BUSY_SECONDS)
            return
        if new:
            self._hand_back(new)

    def _grade(self, students: frozenset[str]) -> None:
        """Grades these students' submissions and says how each ended."""
        from grader.batch import batch
        from grader.sandbox import Tier

        batch.grade_class(
            self._course,
            self._chapter,
            self._watch.folder,
            key=self._key,
            slots=self._slots,
            required=Tier(self._required),
            only=students,
            on_progress=self._tell,
        )

    def _tell(self, one: SubmissionProgress) -> None:
        """One line for a submission, with the time."""
        from grader.model.records import Records
        from grader.report.class_statistics import points

        if one.state == "unchanged":
            return
        self.graded += one.state == "graded"
        result = Records.of(self._course, self._chapter.name).load(one.student)
        text = f"{datetime.now():%H:%M:%S} {one.student}: {one.state}"
        if one.state == "graded" and result is not None:
            pending = f", {points(result.pending)} pending" if result.pending else ""
            text += f", {points(result.earned)} of {points(result.possible)} points{pending}"
        say(text)
        if one.line:
            complain(one.line, style="yellow")

    def _hand_back(self, students: frozenset[str]) -> None:
        """Writes pages and reports, and gives the new ones back."""
        from grader.model.records import load_results
        from grader.report import handback

        results = load_results(self._course, self._chapter.name)
        due = write_feedback(self._course, self._chapter, results)
        report_command.write(self._course, self._chapter, results, self._key, only=students | set(due))
        for student in sorted(students | set(due)):  # all of them: a run may have ended before this
            try:
                if self._return_to is not None:
                    handback.into_folder(self._course, self._chapter, student, self._return_to)
                if self._watch.inbox is not None:
                    handback.into_exchange(self._course, self._chapter, student, self._watch.inbox)
            except CourseError as error:
                complain(str(error), style="yellow")

    def leave(self) -> None:
        """After an interrupt: says what is kept, ends what still runs, and leaves."""
        from grader.processes.interrupt import end_children

        say(f"Stopped. {self.graded} graded since the start; all of it is kept.")
        end_children()
        sys.stdout.flush()
        os._exit(0)  # threads that still grade must not hold anybody up; nothing of theirs is kept
