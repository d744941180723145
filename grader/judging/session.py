"""Grades one submission: runs its cells in the student's process, its tests in the judge's, and keeps both in bounds.

A pure function of its arguments as far as the outside can tell: bytes in, `SubmissionResult` out. It owns clocks,
limits, seeds and restarts; what a test made of an answer is decided in `judge`.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpulab.check.outcomes import Mismatch
from gpulab.doctor import hardware
from gpulab.forkserver.client import StartError
from grader.judging import review_flags
from grader.judging.cell_code import packed
from grader.judging.outputs import storable
from grader.judging.student_cells import Stopped, StudentCells, error_output
from grader.machine import kept_readings
from grader.machine.gpu_lock import turns
from grader.model.given_names import missed
from grader.model.limits import Limits
from grader.model.needs import Need
from grader.model.notebooks import Cell, ChapterKey
from grader.model.results import TOO_NOISY, VISIBLE, CellResult, Output, SubmissionResult, Usage, Verdict
from grader.model.submission import Action, PlannedCell, Submission
from grader.processes import client, preload, wire
from grader.processes.channel import Closed

SLOWED = 1.15
"""A reference that took this many times as long during the exercise as alone makes the row worthless."""

COUNTING_MODULES = ("grader.judging.counting.transcript", "grader.judging.counting.replay")
TRITON_MODULES = ("grader.judging.counting.triton_transcript", "grader.judging.counting.triton_replay")
STREAM_MODULES = ("grader.judging.counting.stream_transcript", "grader.judging.counting.stream_replay")
"""Imported where transcripts of launches are written and carried out: those processes' disk has no such package."""
ATTEMPTS = 3
"""How often a submission is graded whose processes are killed again and again."""


def grade(
    submission: Submission,
    key: ChapterKey,
    *,
    student: str,
    seed: int,
    limits: Limits | None = None,
    only: frozenset[str] | None = None,
    parent: client.SubmissionServer | None = None,
    readings: Mapping[str, Any] | None = None,
) -> SubmissionResult:
    """The result of grading one submission.

    Args:
        submission: what `submission.read` made of the student's notebook.
        key: the chapter's cells with hidden tests.
        student: a name for the result; grading does not depend on it.
        seed: of the hidden inputs; the same seed gives the same inputs.
        limits: time and sizes; the usual ones when left out.
        only: grade ids of the test cells to run; what stands below the last of them is not run. All when left out. An
            empty set runs every cell of the student's and no test.
        parent: the fork server to fork from; the shared one when left out.
        readings: exercise → readings of the GPU to hold its answer against; this machine's when left out.

    A submission is graded again when one of its processes, or the fork server, is killed under it: by the machine for
    want of memory, or by a person. A submission that kills itself is graded again too, and ends the same way.

    Raises:
        StartError: no process could be started.
    """
    limits = limits or Limits()
    readings = kept_readings.of_this_machine(key) if readings is None else readings
    until = time.monotonic() + limits.notebook_seconds
    for left in reversed(range(ATTEMPTS)):
        cost = client.ProcessCost()
        try:
            server = parent or client.shared.get()
            result = _grade(submission, key, student, seed, limits, only, server, cost, readings)
        except StartError:
            if not left or (parent is not None and not parent.alive()):
                raise
        else:
            if not cost.killed or not left or time.monotonic() > until:
                break
    return result


def _grade(
    submission: Submission,
    key: ChapterKey,
    student: str,
    seed: int,
    limits: Limits,
    only: frozenset[str] | None,
    parent: client.SubmissionServer,
    cost: client.ProcessCost,
    readings: Mapping[str, Any],
) -> SubmissionResult:
    parent.import_more(preload.modules_for(key))
    needs = {need for cell in key.tests for need in cell.needs}
    if needs & {Need.COUNTING, Need.TIMELINE}:
        parent.import_more((*COUNTING_MODULES, *(TRITON_MODULES if key.launches_triton else ())))
    if Need.TIMELINE in needs:
        parent.import_more(STREAM_MODULES)
    started = time.monotonic()  # the first submission should not be charged for the start of the fork server
    with _Session(submission, key, seed, limits, cost, parent, readings) as session:
        cells, outputs = session.run(only)
    usage = Usage(time.monotonic() - started, cost.cpu_seconds, cost.peak_memory_mb, session.restarts)
    return SubmissionResult(
        student=student,
        chapter=key.name,
        cells=tuple(cells),
        repairs=submission.repairs,
        look_at=(*review_flags.notes(submission, key), *session.look_at),
        outputs=outputs,
        seed=seed,
        isolation=str(parent.tier),
        device=session.device,
        usage=usage,
    )


def _wanted(step: PlannedCell, only: frozenset[str] | None) -> bool:
    return step.key is not None and (only is None or step.key.grade_id in only)


def _needed(steps: Sequence[PlannedCell], only: frozenset[str] | None) -> Sequence[PlannedCell]:
    """The steps up to the last wanted test: what comes later has no say in it."""
    tests = [number for number, step in enumerate(steps) if step.action is Action.TEST and _wanted(step, only)]
    return steps[: tests[-1] + 1] if only and tests else steps


class _Session:
    """The two processes of one submission, and what has been run in them so far."""

    def __init__(
        self,
        submission: Submission,
        key: ChapterKey,
        seed: int,
        limits: Limits,
        cost: client.ProcessCost,
        parent: client.SubmissionServer,
        readings: Mapping[str, Any],
    ) -> None:
        self._submission, self._key, self._seed, self._limits = submission, key, seed, limits
        self._cost, self._parent, self._readings = cost, parent, readings
        self.device = hardware.device_name()
        self.look_at: list[str] = []
        """What a person should look at, as far as it shows only while the tests run."""
        self._test_seconds_left = self._limits.all_tests_seconds
        self._stuck = False
        """Whether the test that ran last met an error of the GPU in the student's process that may stay there."""
        self._judge = client.JudgeProcess(parent, cost)
        try:
            self._cells = StudentCells(self._process, lambda process: self._judge.link(process), limits)
        except BaseException:
            self._judge.end()
            raise

    def _process(self, exercises: bool = False) -> client.StudentProcess:
        return client.StudentProcess(self._parent, self._cost, self._limits, exercises=exercises)

    def __enter__(self) -> _Session:
        return self

    @property
    def restarts(self) -> int:
        """How often the student's process was replaced."""
        return self._cells.restarts

    def __exit__(self, *_: object) -> None:
        self._judge.end()  # first: it holds the student's socket too, whose closing tells the student to end
        self._cells.process.end()

    def run(self, only: frozenset[str] | None) -> tuple[list[CellResult], dict[str, tuple[Output, ...]]]:
        """Walks the steps. Results of the tests in the chapter's order, outputs of the cells that ran."""
        results: dict[str, CellResult] = {}
        outputs: dict[str, tuple[Output, ...]] = {}
        for step in _needed(self._submission.steps, only):
            if step.action is Action.RUN:
                with self._turn(alone=False):
                    outputs[step.id] = tuple(self._cells.step(step))
            elif step.action is Action.TEST and step.key and _wanted(step, only):
                with self._turn(alone=step.key.on_gpu_only or Need.SPEEDUP in step.key.needs):
                    started = time.monotonic()
                    result = self._test(step.key)
                    if step.key.grade_id.endswith(VISIBLE) and result.verdict is Verdict.PASSED:
                        result = self._in_notebook(step.key)
                seconds = time.monotonic() - started
                self._test_seconds_left -= seconds
                results[step.key.grade_id] = replace(result, seconds=round(seconds, 4))
        return [results[cell.grade_id] for cell in self._key.tests if cell.grade_id in results], outputs

    @contextlib.contextmanager
    def _turn(self, alone: bool) -> Iterator[None]:
        """A turn at the GPU, where there is one; waiting for it is not on anybody's clock."""
        if self.device == "cpu":
            yield
            return
        with turns().alone() if alone else turns().shared():
            yield

    # -------------------------------------------------------------------------------------------------- the test cells

    def _test(self, cell: Cell) -> CellResult:
        """The result of one test cell.

        A call that met an error of the GPU may have met that of an earlier exercise: kernels report late, and CUDA
        gives an error to every later call of the process. So such a test runs once more, with a process of its own,
        and what comes of that counts; the process is renewed after it too.
        """
        self._stuck = False
        result = self._test_once(cell)
        if self._stuck:
            self._cells.renew()
            self._stuck = False
            result = self._test_once(cell)
            if self._stuck:
                self._cells.renew()
        return result

    def _in_notebook(self, cell: Cell) -> CellResult:
        """The visible half of a test as a student runs it: in the notebook's own process, where it sees more."""
        try:
            outputs = self._cells.run_code(cell.source)
        except Stopped as stop:
            self._cells.restart(stop.verdict)
            return _result(cell, stop.verdict, 0.0, str(stop))
        said = [str(output["evalue"]) for output in outputs if output["output_type"] == "error"]
        return _result(cell, Verdict.FAILED if said else Verdict.PASSED, 0.0, " ".join(said))

    def _test_once(self, cell: Cell) -> CellResult:
        """The result of one test cell, with the processes as they are."""
        if self._cells.spent:
            times = self._cells.restarts
            reason = f"Not run: the notebook had been restarted {times} times after cells that hung or crashed."
            if self._cells.seconds_left <= 0:
                reason = f"Not run: the notebook's cells took more than {self._limits.notebook_seconds:g} s together."
            return _result(cell, self._cells.spent, 0.0, reason)
        if cell.on_gpu_only and self.device == "cpu":
            if cell.exercise not in self._submission.attempted:
                return _result(cell, Verdict.NOT_ATTEMPTED, 0.0, f"`{cell.exercise}` is not defined.")
            points = f"{cell.points:g} point{'s' if cell.points != 1 else ''}"
            reason = f"This test runs on a GPU only, and there is none here: {points} pending, neither earned nor lost."
            return _result(cell, Verdict.NEEDS_GPU, 0.0, reason)
        if self._test_seconds_left <= 0:
            reason = f"Not run: the tests before it took more than {self._limits.all_tests_seconds:g} s together."
            return _result(cell, Verdict.TIMED_OUT, 0.0, reason)
        limits = self._limits.of_gpu_row() if cell.on_gpu_only else self._limits
        request = {
            "op": "cell",
            "code": packed(cell.source),
            "exercises": list(self._key.exercises),
            "codes": {
                name: {"words": dict(own.words), "items": list(own.items)}
                for name, own in self._submission.codes.items()
            },
            "needs": sorted(cell.needs),
            "possible": cell.points,
            "seed": seed_of(self._seed, cell.grade_id),
            "call_seconds": self._limits.call_seconds,
            "launch_seconds": limits.launch_seconds,
            "test_seconds": limits.test_seconds,
            "max_bytes": self._limits.value_bytes,
            "cells": self._submission.alone(cell.exercise) if Need.COUNTING in cell.needs else [],
            "triton": self._key.launches_triton,
            "readings": self._readings.get(cell.exercise),
        }
        apart = cell.needs & {Need.COUNTING, Need.SPEEDUP, Need.TIMELINE, Need.VIRTUAL_GPU}
        if apart and cell.exercise not in self._submission.attempted:
            return _result(cell, Verdict.NOT_ATTEMPTED, 0.0, "The exercise is as it was released.")
        helpers: list[client.StudentProcess] = []
        crashed = False
        try:
            roles = {
                "launcher": {Need.SCRIPTS, Need.LISTENING}, "reference": {Need.SPEEDUP}, "counter": {Need.COUNTING},
            }  # fmt: skip
            if self.device == "cpu":  # a GPU has streams of its own
                roles["streamer"] = {Need.TIMELINE}
            for role in (role for role, needs in roles.items() if needs & cell.needs):
                # First: there before anything of the exercise runs. The others run nothing of the student's.
                helpers.append(self._process(exercises=role == "reference"))
                self._judge.link(helpers[-1], to=role)
            if apart:
                helpers.append(self._clean_process(cell))
                self._judge.link(helpers[-1], to="clean")
            self._judge.channel.send(request, seconds=10)
            until = time.monotonic() + limits.test_seconds + 30
            while "needs" in (answer := self._judge.channel.receive(until)[0]):
                helpers.append(self._process())
                self._judge.link(helpers[-1], to=answer["needs"])
            result = self._score(cell, answer)
            crashed = result.verdict is Verdict.CRASHED
            if answer["timed"] and result.earned > 0:
                helpers.pop().end(at_once=True)
                result = self._unless_slowed(cell, result)
        except (TimeoutError, Closed, OSError, wire.WireError) as error:
            self._renew_judge()
            text = f"The test itself did not end in time or ended its process ({type(error).__name__})."
            return _result(cell, Verdict.HARNESS_ERROR, 0.0, text)
        finally:
            for helper in helpers:
                helper.end(at_once=not crashed)  # one that crashed is ending, and how it ends is asked
        self._cells.process.raw_output.take()  # printed during the judge's calls: nobody's business
        self._stuck = answer["stuck"]
        if answer["unheard"] and result.earned:
            self.look_at.append(review_flags.unheard(cell.exercise))
        if answer["device_failed"]:  # CUDA gives the same error to every later call of a process
            self._judge.end()
            self._judge = client.JudgeProcess(self._parent, self._cost)
            self._judge.link(self._cells.process)
        if not answer["link_alive"]:
            ended = self._cells.process
            if excess := ended.excess():
                result = _result(cell, Verdict.CRASHED, 0.0, f"During the test, your code {excess}.")
            self._cells.restart(result.verdict)
            if result.verdict is Verdict.CRASHED and not excess and ended.how_it_ended:
                result = _result(cell, Verdict.CRASHED, 0.0, f"{result.message} {ended.how_it_ended}")
        return result

    def _unless_slowed(self, cell: Cell, result: CellResult) -> CellResult:
        """The result, or a pending one if the reference was slower in the exercise's company than it is without."""
        self._judge.channel.send({"op": "slowed", "seconds": self._limits.test_seconds}, seconds=10)
        answer, _ = self._judge.channel.receive(time.monotonic() + self._limits.test_seconds + 30)
        if answer["factor"] <= SLOWED:
            return result
        slower = f"{answer['factor']:.2g} times as long next to this answer as alone"
        text = f"Too noisy to tell, grade again: the reference took {slower}."
        return replace(_result(cell, Verdict.HARNESS_ERROR, 0.0, text), cause=TOO_NOISY)

    def _clean_process(self, cell: Cell) -> client.StudentProcess:
        """A process that has run the chapter's own code and this exercise's cell, and nothing else of the student's.

        What a kernel does to memory is counted by code in the process that it runs in, which student code could
        patch; so little of it as the exercise's own cell can be looked at.
        """
        clean = self._process()
        if Need.VIRTUAL_GPU in cell.needs:
            clean.channel.send({"op": "simulate", "id": ""})  # before the cell, which may import a clock by name
            clean.channel.receive(time.monotonic() + self._limits.cell_seconds, max_bytes=0)
        for code in self._submission.alone(cell.exercise, in_order=True):
            try:
                self._cells.run_code(code, clean)
            except Stopped:
                break  # the calls will find nobody there, and say so
        return clean

    def _score(self, cell: Cell, answer: dict[str, Any]) -> CellResult:
        """What the judge said, as points and notebook outputs."""
        verdict, message = Verdict(answer["verdict"]), str(answer["message"])
        if verdict is Verdict.NOT_ATTEMPTED and cell.exercise in self._submission.attempted:
            verdict = Verdict.FAILED
            if cell.exercise in self._cells.failures:
                verdict, how = self._cells.failures[cell.exercise]
                message = f"`{cell.exercise}` is not defined: its cell ended with {how}"
            elif file := self._submission.writes(cell.exercise):
                message = f"`{cell.exercise}` is not defined: its cell writes {file}, expected {cell.exercise}.py."
        if verdict is not Verdict.PASSED:
            message += missed(message, self._submission.demonstrations(cell.grade_id))
        earned = {Verdict.PASSED: cell.points, Verdict.PARTIAL: answer["share"] or 0.0}.get(verdict, 0.0)
        result = _result(cell, verdict, earned, message, answer["outputs"])
        mismatches = tuple(
            Mismatch(**{name: storable(text) for name, text in one.items()}) for one in answer["mismatches"]
        )
        return replace(result, mismatches=mismatches, cause=answer["cause"])

    def _renew_judge(self) -> None:
        """A judge that does not answer may hold the student's socket in mid-frame: replace both."""
        self._judge.end()
        self._judge = client.JudgeProcess(self._parent, self._cost)
        self._cells.restart(Verdict.HARNESS_ERROR)


def seed_of(seed: int, grade_id: str) -> int:
    """A cell's own seed: two exercises never draw the same numbers."""
    digest = hashlib.sha256(f"{seed}:{grade_id}".encode()).digest()
    return int.from_bytes(digest[:6], "big")


def _result(
    cell: Cell, verdict: Verdict, earned: float, message: str, printed: list[Output] | None = None
) -> CellResult:
    """A result whose outputs make nbgrader's own reading of the cell come to the same points."""
    message = storable(message)
    outputs = [{**one, "text": storable(one["text"])} for one in printed or []]
    if verdict is Verdict.PARTIAL:
        data = {"text/plain": repr(float(earned))}
        outputs.append({"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": None})
    elif verdict is not Verdict.PASSED:
        outputs.append(error_output(verdict.value, message))
    # An error, a number or nothing: determine_grade of nbgrader reads just these three.
    return CellResult(cell.grade_id, verdict, earned, cell.points, message, outputs=tuple(outputs))
