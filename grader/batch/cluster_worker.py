"""What runs on the workers of a Dask cluster: looks at the machine, and grades one submission.

Nothing here raises while it grades: Dask logs the arguments of a task that fails. The driver's side is `cluster`.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from gpulab.doctor import hardware
from grader.judging.task import Task, grade_task
from grader.model.course import CourseError
from grader.model.harness import harness_digest
from grader.model.notebooks import ChapterKey
from grader.model.records import FULL, REFUSED, cannot_write
from grader.sandbox import Tier

Value = TypeVar("Value")


class WorkerError(CourseError):
    """A worker that is not fit to grade: of no use to any submission, so that the batch stops."""


class RemoteFault(RuntimeError):
    """A fault of the harness on another machine, with its traceback there.

    Args:
        what: the exception, one line.
        trace: its traceback.
    """

    def __init__(self, what: str, trace: str) -> None:
        super().__init__(what, trace)  # all fields in args: survives pickling
        self.what, self.trace = what, trace

    def __str__(self) -> str:
        return f"{self.what}\n{self.trace}".strip()


@dataclass(frozen=True)
class WorkerMachine:
    """What a grade may depend on besides the submission."""

    harness: str
    """Hash over the harness's code."""
    gpus: tuple[str, ...]
    tier: Tier
    """How well student processes can be confined there; of the machine that is wanted, at the least."""


class Sealed:
    """A value that is not to be read in logs."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Sealed({type(self.value).__name__})"


@lru_cache(maxsize=1)
def this_machine() -> WorkerMachine:
    """This worker's machine."""
    from grader.sandbox.probe import best_tier

    return WorkerMachine(harness_digest(), hardware.gpu_names(), best_tier())


def compare(address: str, machine: WorkerMachine, wanted: WorkerMachine) -> None:
    """Checks that a worker would grade as any other.

    Raises:
        WorkerError: it runs another version of the harness, shows other GPUs, or cannot confine student code enough.
    """
    if machine.harness != wanted.harness:
        remedy = "Install the same version there as here, and start the worker again."
        raise WorkerError(address, "the worker runs another version of the grader", remedy)
    if machine.gpus != wanted.gpus:
        shown, others = (", ".join(gpus) or "none" for gpus in (machine.gpus, wanted.gpus))
        remedy = "Grade with workers of one kind: which one gets a submission is chance."
        raise WorkerError(address, f"the worker shows other GPUs ({shown}) than another one ({others})", remedy)
    if machine.tier < wanted.tier:
        remedy = 'Run "grader doctor" there, or ask for less with --require-tier.'
        what = f"the worker confines student code to tier {machine.tier}, and tier {wanted.tier} is required"
        raise WorkerError(address, what, remedy)


def same(value: Value) -> Value:
    """The value itself: a task that holds it on the cluster."""
    return value


def grade(task: Task, key: Sealed, wanted: WorkerMachine) -> str | Exception:
    """The result of grading a submission as JSON, or what went wrong."""
    from distributed import get_worker

    address = get_worker().address
    try:
        compare(address, this_machine(), wanted)
        chapter: ChapterKey = key.value
        return grade_task(task, chapter).to_json()
    except CourseError as error:
        return error
    except OSError as error:
        if error.errno in FULL | REFUSED:
            found = cannot_write(Path(error.filename or "/tmp"), error)
            return WorkerError(f"{address}: {found.where}", found.what, found.remedy)
        return _fault(error)
    except Exception as error:
        return _fault(error)


def _fault(error: Exception) -> RemoteFault:
    return RemoteFault(f"{type(error).__name__}: {error}", traceback.format_exc())
