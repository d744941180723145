"""Whether exercises that measure get the right verdict on a busy machine: many gradings, beside busy neighbors.

The answers of the bank are graded again and again, each time with inputs of its own, while other processes keep the
cores busy. To have thousands of gradings in minutes, a test cell runs here, in one process with the answer, which
is the bank's own; what it measures on the simulated GPU takes the same way as in the judge.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gpulab.backend import Backend, use
from gpulab.check.outcomes import Undecided
from grader.authoring.answers import Answer, Kind
from grader.authoring.bank import banks_of
from grader.model.course import Chapter, CourseError
from grader.model.needs import Need
from grader.model.notebooks import Cell

Progress = Callable[[int, int, str], None]


@dataclass
class Tally:
    """What came of the gradings of one exercise."""

    exercise: str
    neighbors: int
    right: int = 0
    """Gradings of right answers."""
    wrong: int = 0
    """Gradings of wrong and hostile answers."""
    mistaken: list[str] = field(default_factory=list)
    """Wrong verdicts: answer, seed and message."""
    pending: int = 0
    """Gradings that ended undecided."""
    unnamed: int = 0
    """Wrong answers that failed without the words that the bank wants."""
    seconds: float = 0.0


def measuring(chapter: Chapter) -> dict[str, tuple[Cell, list[Answer]]]:
    """The chapter's exercises that are measured on the simulated GPU: test cell and answers.

    Raises:
        CourseError: there are none, or the chapter is not built.
    """
    (bank,) = banks_of([chapter])
    tests = {cell.exercise: cell for cell in bank.key().tests if Need.VIRTUAL_GPU in cell.needs}
    if not tests:
        raise CourseError(chapter.source, "has no exercise that is measured on the simulated GPU", "Name another.")
    return {name: (cell, [one for one in bank.answers if one.exercise == name]) for name, cell in tests.items()}


def graded(chapter: Chapter, times: int, neighbors: int, seed: int, progress: Progress) -> list[Tally]:
    """Grades the answers to each measuring exercise in turn, `times` gradings per exercise.

    Args:
        chapter: whose exercises.
        times: gradings of each exercise.
        neighbors: processes that keep a core busy all the time.
        seed: of the first grading; the next one has the next seed.
        progress: called after every grading.
    """
    tallies = []
    for exercise, (cell, answers) in measuring(chapter).items():
        tally = Tally(exercise, neighbors)
        started = time.monotonic()
        with busy(neighbors):
            for number in range(times):
                _add(tally, cell, answers[number % len(answers)], seed + number)
                progress(number + 1, times, f"{exercise}, {neighbors} neighbors")
        tally.seconds = time.monotonic() - started
        tallies.append(tally)
    return tallies


def _add(tally: Tally, cell: Cell, answer: Answer, seed: int) -> None:
    should_pass = answer.kind is Kind.RIGHT
    tally.right += should_pass
    tally.wrong += not should_pass
    problem = verdict(cell, answer.source, seed)
    if isinstance(problem, Undecided):
        tally.pending += 1
    elif (problem is None) != should_pass:
        tally.mistaken.append(f"{answer}, seed {seed}: {problem or 'passed'}")
    elif answer.says and answer.says.lower() not in str(problem).lower():
        tally.unnamed += 1


def verdict(cell: Cell, source: str, seed: int) -> Exception | None:
    """The exception that a test cell ends in for an answer, run here; None when it passes."""
    import torch

    from gpulab import virtual_gpu
    from gpulab.virtual_gpu.installing import installed
    from gpulab.virtual_gpu.operations import Recorder

    recorder, name = Recorder(), cell.exercise
    plain: dict[str, Any] = {"__name__": "answer"}
    simulated: dict[str, Any] = {"__name__": "answer"}
    inside = False

    @contextmanager
    def running(machine: virtual_gpu.Machine) -> Iterator[None]:
        nonlocal inside
        inside = True
        try:
            with installed(recorder), recorder.asking(machine.run):
                yield
        finally:
            inside = False

    def exercise(*arguments: Any) -> Any:
        return (simulated if inside else plain)[name](*arguments)

    clocks = dict(vars(time))
    random.seed(seed)
    backend = Backend(seed=seed, services=frozenset(cell.needs), measuring=running)
    try:
        exec(source, plain)
        with installed(recorder):
            exec(source, simulated)
        with use(backend):
            exec(compile(cell.source, "<test>", "exec"), {"__name__": "test", name: exercise})
    except Exception as error:
        return error
    finally:
        vars(time).update(clocks)  # an attack may have put its own there
        torch.set_float32_matmul_precision("highest")  # and an answer may have switched TF32 on
    return None


@contextmanager
def busy(count: int) -> Iterator[None]:
    """In the block, so many processes keep a core busy each."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_spin, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def _spin() -> None:
    while True:
        pass
