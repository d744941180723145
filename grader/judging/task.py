"""Grading one submission as a pure function: bytes in, a result out, wherever the same harness is installed.

What is due and what becomes of the result is the driver's business (`batch`); nothing here opens a file of the course.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from grader.model.limits import Limits
from grader.model.menus import Codes
from grader.model.notebooks import ChapterKey
from grader.model.results import SubmissionResult


@dataclass(frozen=True)
class Task:
    """One submission to grade. Its `repr` holds no secret: it may end in a log that others read."""

    student: str
    where: str
    """The file that it was read from, for messages; only the driver can open it."""
    notebook: bytes = field(repr=False)
    seed: int = field(repr=False)
    fingerprint: str
    limits: Limits
    codes: Mapping[str, Codes] = field(default_factory=dict, repr=False)
    """Of the student's variant of the chapter, if there is one."""


def grade_task(task: Task, key: ChapterKey) -> SubmissionResult:
    """The result of grading a submission.

    Raises:
        CourseError: it cannot be read as a submission of this chapter.
        gpulab.forkserver.client.StartError: no process could be started.
    """
    from grader.judging import session
    from grader.model import submission

    read = replace(submission.from_bytes(task.notebook, task.where, key), codes=task.codes)
    result = session.grade(read, key, student=task.student, seed=task.seed, limits=task.limits)
    return replace(result, fingerprint=task.fingerprint)
