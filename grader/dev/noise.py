"""Whether exercises that measure get the right verdict on a busy machine: many gradings, next to busy neighbors.

The answers of the bank are graded again and again, each time with inputs of its own, while other processes keep the
cores busy. For thousands of gradings in minutes, a test cell runs in a fork of one prepared process, together with the
answer, which is the bank's own. What it measures on the simulated GPU takes the same way as in the
judge. `noise_counts` keeps the results.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import platform
import random
import resource
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import Any

from gpulab.backend import Backend, use
from gpulab.check.outcomes import Undecided
from grader.authoring.answers import Answer, AnswerKind
from grader.authoring.bank import banks_of
from grader.dev.noise_counts import Counts, Piece
from grader.model.course import Chapter, CourseError
from grader.model.limits import Limits
from grader.model.needs import Need
from grader.model.notebooks import Cell

OnProgress = Callable[[int, int, str], None]
LIMITS = Limits()
"""A call, or a test cell, that takes longer than in the judge ends as it does there: a right answer must not."""
PROCESSOR_SECONDS = 2
"""Of a grading; a right answer takes a fifth of one. An answer that computes for ever need not do so for long."""
KEPT_EVERY_SECONDS = 10.0
SEEDS_APART = 1_000_000
"""The first seeds of two numbers of neighbors are so far apart that no seed is used twice."""
TIMED_OUT = "timed out"
PREPARED = ("torch.utils.benchmark", "gpulab", "gpulab.virtual_gpu.installing", "grader.exercises.measuring.figures")
"""Imported before the first fork."""


def measuring(chapter: Chapter) -> dict[str, tuple[Cell, list[Answer]]]:
    """The chapter's exercises that are measured on the simulated GPU: test cell and answers.

    Raises:
        CourseError: there are none, or the chapter is not built.
    """
    (bank,) = banks_of([chapter])
    tests = {cell.exercise: cell for cell in bank.key().tests if Need.VIRTUAL_GPU in cell.needs}
    if not tests:
        raise CourseError(chapter.source, "has no exercise that is measured on the simulated GPU", "Name another.")
    return {
        name: (cell, [one for one in bank.answers if one.exercise == name and not one.gpu])
        for name, cell in tests.items()
    }


def graded(
    exercises: dict[str, tuple[Cell, list[Answer]]], counts: Counts, times: int, neighbors: int, progress: OnProgress
) -> None:
    """Grades the answers to each of these exercises in turn, until each has `times` gradings next to these neighbors.

    What was graded before counts, if the exercise is the same as then. What is graded is kept every few seconds and
    when an interrupt ends this.

    Args:
        exercises: test cell and answers of each, from `measuring`.
        counts: what was graded before; what is graded now is added.
        times: gradings of each exercise.
        neighbors: processes that keep a core busy all the time.
        progress: called after every grading.
    """
    for exercise, (cell, answers) in exercises.items():
        before = counts.total(exercise, neighbors, cell, answers)
        if before.gradings >= times:
            continue
        first = neighbors * SEEDS_APART + before.gradings + 1
        piece = Piece(exercise, neighbors, counts.digest(cell, answers), first, machine=_machine(), date=_today())
        with busy(neighbors), forking(cell, answers) as grade:
            kept = started = time.monotonic()
            try:
                while before.gradings + piece.gradings < times:
                    seed = first + piece.gradings
                    answer = answers[seed % len(answers)]
                    begun = time.monotonic()
                    kind, message = grade(seed % len(answers), seed)
                    _add(piece, answer, seed, kind, message, time.monotonic() - begun)
                    progress(before.gradings + piece.gradings, times, f"{exercise}, {neighbors} neighbors")
                    if time.monotonic() - kept > KEPT_EVERY_SECONDS:
                        kept = time.monotonic()
                        counts.keep(piece, kept - started, os.getloadavg()[0])
            finally:
                counts.keep(piece, time.monotonic() - started, os.getloadavg()[0])


def _add(piece: Piece, answer: Answer, seed: int, kind: str, message: str, seconds: float) -> None:
    should_pass = answer.kind is AnswerKind.RIGHT
    piece.right += should_pass
    piece.wrong += not should_pass
    if should_pass:
        piece.longest_right_seconds = max(piece.longest_right_seconds, round(seconds, 3))
    if kind == "undecided":
        piece.pending += 1
    elif (kind == "passed") != should_pass:
        piece.mistaken.append(f"{answer}, seed {seed}: {message or kind}")
    elif answer.says and answer.says.lower() not in message.lower():
        piece.unnamed += 1


# ---------------------------------------------------------------------------------------------------- one grading


@contextmanager
def forking(cell: Cell, answers: list[Answer]) -> Iterator[Callable[[int, int], tuple[str, str]]]:
    """A function that grades the answer with a given number and a given seed, in a fork of a prepared process.

    It gives `"passed"`, `"failed"`, `"undecided"` or `"timed out"`, with the message.
    """
    context = multiprocessing.get_context("forkserver")  # it imports what is slow once, for all exercises
    context.set_forkserver_preload(list(PREPARED))
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, cell, [one.source for one in answers]), daemon=True)
    process.start()
    theirs.close()
    ours.recv()  # it is warm

    def grade(number: int, seed: int) -> tuple[str, str]:
        ours.send((number, seed))
        kind, message = ours.recv()
        return kind, message

    try:
        yield grade
    finally:
        process.kill()
        process.join()
        ours.close()


def _serve(requests: Connection, cell: Cell, sources: list[str]) -> None:
    """Grades in forks until it is killed; has imported what they need, and computed nothing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    import torch

    for name in PREPARED:
        importlib.import_module(name)
    torch.set_num_threads(1)  # a pool of threads does not survive a fork
    requests.send("warm")
    with suppress(EOFError):
        while True:
            number, seed = requests.recv()
            requests.send(_in_a_fork(cell, sources[number], seed))


def _in_a_fork(cell: Cell, source: str, seed: int) -> tuple[str, str]:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # an answer may print
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
        try:
            calls: list[float] = []
            kind, message = _told(verdict(cell, source, seed, calls))
            if max(calls, default=0.0) > LIMITS.call_seconds:
                kind, message = TIMED_OUT, f"a call took {max(calls):.1f} s"
            os.write(writing, json.dumps([kind, message]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    reply, until = bytearray(), time.monotonic() + LIMITS.test_seconds
    while select.select([reading], [], [], max(0.0, until - time.monotonic()))[0]:
        if not (chunk := os.read(reading, 65_536)):
            break
        reply += chunk
    os.close(reading)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with suppress(ValueError):
        kind, message = json.loads(reply)
        return kind, message
    return TIMED_OUT, ""


def _told(problem: Exception | None) -> tuple[str, str]:
    if problem is None:
        return "passed", ""
    return "undecided" if isinstance(problem, Undecided) else "failed", str(problem)[:2000]


def verdict(cell: Cell, source: str, seed: int, calls: list[float] | None = None) -> Exception | None:
    """The exception that a test cell ends in for an answer, run here; None when it passes.

    Args:
        cell: the test cell.
        source: of the answer.
        seed: of the hidden inputs.
        calls: filled with the wall seconds of each call of the exercise.
    """
    import torch

    from gpulab import virtual_gpu
    from gpulab.virtual_gpu.installing import installed
    from gpulab.virtual_gpu.operations import OperationRecorder

    recorder, name = OperationRecorder(), cell.exercise
    plain: dict[str, Any] = {"__name__": "answer"}
    simulated: dict[str, Any] = {"__name__": "answer"}
    inside = False

    @contextmanager
    def running(machine: virtual_gpu.MachineModel) -> Iterator[None]:
        nonlocal inside
        inside = True
        try:
            with installed(recorder), recorder.asking(machine.run):
                yield
        finally:
            inside = False

    def exercise(*arguments: Any) -> Any:
        started = now()
        try:
            return (simulated if inside else plain)[name](*arguments)
        finally:
            if calls is not None:
                calls.append(now() - started)

    clocks, now = dict(vars(time)), time.monotonic  # the real one, whatever is simulated meanwhile
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


# ------------------------------------------------------------------------------------------------------- neighbors


@contextmanager
def busy(count: int) -> Iterator[None]:
    """In the block, so many processes keep a core busy each."""
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_spin, args=(os.getpid(),), daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def _spin(parent: int) -> None:
    while os.getppid() == parent:  # a parent that is killed cannot end this
        for _ in range(1_000_000):
            pass


def _machine() -> str:
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores, Linux {platform.release()}, Python {platform.python_version()}"


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
