"""Grades a class: decides which submissions are due and maps the judge over them.

A run can be stopped at any moment and is resumed by the same command. Leaves finding submissions to `find`, judging
to `session`, keeping outcomes to `recorder`.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader import engine, hardware
from grader.course import Chapter, Course
from grader.find import Found, find_submissions
from grader.limits import Limits
from grader.recorder import Progress, RealSteps, Recorder, Steps
from grader.records import Records, load_results, make_folder
from grader.results import SubmissionResult, Verdict

if TYPE_CHECKING:
    from grader.notebooks import ChapterKey

__all__ = ["Progress", "find_submissions", "fingerprint", "grade_class", "load_results"]


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
    on_progress: Callable[[Progress], None] = lambda progress: None,
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
        slots: submissions graded at a time.
        seed: of the hidden inputs; grades again what was graded with another one.
        limits: of one submission.
        again: grades also what is unchanged.
        on_progress: told of every submission, in the caller's thread.
        steps: judging, composing and recording; the real ones unless given.

    Raises:
        CourseError: nothing can be graded or kept: no submissions, a full disk, a folder that is not writable. What
            was graded before is kept.
    """
    limits, steps = limits or Limits(), steps or RealSteps()
    records = Records.of(course, chapter.name)
    found = find_submissions(folder, chapter.name)
    make_folder(course.work)
    with records.held():
        run_seed = seed if seed is not None else _seed_of_run(records, key)
        records.note_batch(seed=run_seed, chapter=key.digest, finished=False)
        unchanged = {} if again else _unchanged(records, found, key, limits, seed)
        recorder = Recorder(course, chapter, key, records, steps, on_progress, len(found))
        recorded = steps.recorded(course, chapter)
        for one in found:
            if one.problem:
                recorder.unreadable(one, one.line)
            elif one.student in unchanged and one.student in recorded and records.is_recorded(unchanged[one.student]):
                records.forget_problem(one.student)
                recorder.tell(one.student, "unchanged")

        def grade_one(one: Found) -> SubmissionResult:
            if one.student in unchanged:  # graded before, but something kept it out of the gradebook
                return unchanged[one.student]
            mark = fingerprint(one.path, key, run_seed, limits)
            result = steps.judge(one.path, key, one.student, run_seed, limits)
            return replace(result, seed=run_seed, fingerprint=mark)

        due = [one for one in found if one.student not in recorder.finished]
        for one, outcome in engine.map_submissions(grade_one, due, slots):
            recorder.take(one, outcome)
        records.note_batch(seed=run_seed, chapter=key.digest, finished=True)
    students = {one.student for one in found}
    return [result for result in records.all() if result.student in students]


def fingerprint(path: Path, key: ChapterKey, seed: int, limits: Limits) -> str:
    """Hash over everything that a grade depends on: equal fingerprints need no second run.

    Raises:
        OSError: the submission cannot be read.
    """
    submission = hashlib.sha256(path.read_bytes()).hexdigest()
    parts = (submission, key.digest, harness_digest(), hardware.gpu_names(), seed, limits)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@lru_cache(maxsize=1)
def harness_digest() -> str:
    """Hash over the code of both packages: any change in it may change a grade."""
    import gpulab
    import grader

    digest = hashlib.sha256()
    for package in (grader, gpulab):
        for path in sorted(Path(str(package.__file__)).parent.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _seed_of_run(records: Records, key: ChapterKey) -> int:
    """The secret seed of an interrupted run of the same chapter, else a new one."""
    before = records.batch()
    if before.get("finished") is False and before.get("chapter") == key.digest and isinstance(before.get("seed"), int):
        return int(before["seed"])
    return secrets.randbits(31)


def _unchanged(
    records: Records, found: list[Found], key: ChapterKey, limits: Limits, seed: int | None
) -> dict[str, SubmissionResult]:
    """Earlier results, by student, that grading again could only give once more."""
    same = {}
    for one in found:
        result = None if one.problem else records.load(one.student)
        if result is None or any(cell.verdict is Verdict.HARNESS_ERROR for cell in result.cells):
            continue
        if seed is not None and result.seed != seed:
            continue
        try:
            if fingerprint(one.path, key, result.seed, limits) == result.fingerprint:
                same[one.student] = result
        except OSError:
            continue  # the judge will say what is wrong with it
    return same
