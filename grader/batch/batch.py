"""Grades a class: decides which submissions are due and maps the judge over them.

A run can be stopped at any moment and is resumed by the same command. Leaves finding submissions to `find`, judging
to `session`, keeping outcomes to `recorder`, and other machines to `cluster`.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpulab.doctor import hardware
from grader.batch import thread_pool
from grader.batch.recorder import RealSteps, ResultRecorder, Steps, SubmissionProgress
from grader.intake import variants
from grader.intake.discovery import FoundSubmission, find_submissions
from grader.judging.task import Task
from grader.machine import gpu_ready
from grader.model.course import Chapter, Course
from grader.model.foreign_files import read_foreign
from grader.model.harness import harness_digest
from grader.model.limits import Limits
from grader.model.menus import Codes
from grader.model.records import Records, load_results, make_folder
from grader.model.results import SubmissionResult, Verdict
from grader.model.submission import MAX_NOTEBOOK_BYTES
from grader.processes.accounts import Accounts, age_seconds
from grader.sandbox import Tier

if TYPE_CHECKING:
    from grader.batch.cluster import Cluster
    from grader.model.notebooks import ChapterKey

__all__ = ["SubmissionProgress", "find_submissions", "grade_class", "load_results"]


def grade_class(
    course: Course,
    chapter: Chapter,
    folder: Path,
    *,
    key: ChapterKey,
    slots: int,
    seed: int | None = None,
    limits: Limits | None = None,
    again: bool = False,
    required: Tier = Tier.LIMITS,
    only: Collection[str] | None = None,
    cluster: Cluster | None = None,
    on_progress: Callable[[SubmissionProgress], None] = lambda progress: None,
    steps: Steps | None = None,
) -> list[SubmissionResult]:
    """The result of every submission found in `folder`, sorted by student, each kept and recorded as it came.

    A submission is graded only if it, the chapter, the harness or the GPUs changed since its last result. Each run
    draws a new secret seed; one that was interrupted goes on with its own. A submission that the harness failed on
    gets pending points and a log under `work/logs/<chapter>/`, and the class goes on.

    Args:
        course: where results and gradebook lie.
        chapter: the chapter to grade.
        folder: the submissions, in any layout that `find_submissions` knows.
        key: the instructor's cells of the chapter.
        slots: submissions graded at a time on this machine.
        seed: of the hidden inputs; grades again what was graded with another one.
        limits: of one submission.
        again: grades also what is unchanged.
        required: grades again what was graded in a weaker confinement; which one is used is not decided here.
        only: the students whose submissions are looked at; all when left out.
        cluster: grades there instead of on this machine.
        on_progress: told of every submission, in the caller's thread.
        steps: judging, composing and recording; the real ones unless given.

    Raises:
        CourseError: nothing can be graded or kept: no submissions, a full disk, a folder that is not writable. What
            was graded before is kept.
    """
    if cluster is None:
        gpu_ready.refuse_exclusive()
    accounts = Accounts()
    accounts.add("start", age_seconds(), time.process_time())
    limits, steps = limits or Limits(), steps or RealSteps()
    records = Records.of(course, chapter.name)
    found = [one for one in find_submissions(folder, chapter.name) if only is None or one.student in only]
    make_folder(course.work)
    codes_of = variants.codes_for(course, key)
    marks = _Fingerprints(key, limits, cluster.gpus if cluster else hardware.gpu_names())
    with records.held(), steps:
        run_seed = seed if seed is not None else _seed_of_run(records, marks.chapter)
        records.note_batch(seed=run_seed, chapter=marks.chapter, finished=False)
        unchanged = {} if again else _unchanged(records, found, marks, seed, required, codes_of)
        due = [one for one in found if not one.problem and one.student not in unchanged]
        steps.begin(course, chapter, bool(due) and cluster is None, accounts)
        recorder = ResultRecorder(course, chapter, key, records, steps, on_progress, len(found))
        recorded = steps.recorded(course, chapter)
        for one in found:
            if one.problem:
                recorder.unreadable(one, one.line)
            elif one.student in unchanged and one.student in recorded and records.is_recorded(unchanged[one.student]):
                records.forget_problem(one.student)
                recorder.tell(one.student, "unchanged")

        def task_of(one: FoundSubmission) -> Task:
            data = steps.load(one.path)
            codes = codes_of(one.student)
            return Task(one.student, str(one.path), data, run_seed, marks.of(data, run_seed, codes), limits, codes)

        if cluster is not None:
            outcomes = cluster.map_submissions(task_of, due, key)
        else:
            outcomes = thread_pool.map_submissions(lambda one: steps.grade_task(task_of(one), key), due, slots)
        for one, outcome in outcomes:
            with accounts.on("record"):
                recorder.take(one, outcome)
        for one in found:
            if one.student not in recorder.finished:  # graded before, but something kept it out of the gradebook
                recorder.take(one, records.load(one.student) or unchanged[one.student])
        accounts.add("driver", age_seconds(), time.process_time())
        steps.finish(accounts)
        records.note_batch(seed=run_seed, chapter=marks.chapter, finished=True, accounts=accounts.as_json())
    students = {one.student for one in found}
    return [result for result in records.all() if result.student in students]


class _Fingerprints:
    """Hashes over everything that a grade depends on: equal ones need no second run."""

    def __init__(self, key: ChapterKey, limits: Limits, gpus: tuple[str, ...]) -> None:
        self.chapter = key.digest
        self._rest = (harness_digest(), gpus, limits)

    def of(self, notebook: bytes, seed: int, codes: Mapping[str, Codes]) -> str:
        """The fingerprint of grading these bytes with this seed, as the variant with these codes."""
        own = sorted((name, sorted(one.words.items())) for name, one in codes.items())
        parts = (hashlib.sha256(notebook).hexdigest(), self.chapter, *self._rest, seed, own)
        return hashlib.sha256(repr(parts).encode()).hexdigest()


def _seed_of_run(records: Records, chapter: str) -> int:
    """The secret seed of an interrupted run of the same chapter, else a new one."""
    before = records.batch()
    if before.get("finished") is False and before.get("chapter") == chapter and isinstance(before.get("seed"), int):
        return int(before["seed"])
    return secrets.randbits(31)


def _unchanged(
    records: Records,
    found: list[FoundSubmission],
    marks: _Fingerprints,
    seed: int | None,
    required: Tier,
    codes_of: Callable[[str], Mapping[str, Codes]],
) -> dict[str, SubmissionResult]:
    """Earlier results, by student, that grading again could only give once more; without what the cells printed."""
    same = {}
    for one in found:
        result = None if one.problem else records.load(one.student)
        if result is None or any(cell.verdict is Verdict.HARNESS_ERROR for cell in result.cells):
            continue
        if (seed is not None and result.seed != seed) or _tier_of(result) < required:
            continue
        try:
            data = read_foreign(one.path, MAX_NOTEBOOK_BYTES)
            if marks.of(data, result.seed, codes_of(one.student)) == result.fingerprint:
                same[one.student] = replace(result, outputs={})
        except OSError:
            continue  # the judge will say what is wrong with it
    return same


def _tier_of(result: SubmissionResult) -> int:
    """The number of the tier that a result was graded in."""
    number = result.isolation[:1]
    return int(number) if number.isdecimal() else 0
