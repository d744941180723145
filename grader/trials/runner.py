"""Grades many answers to one exercise quickly, each in a fork of its own, with the tests of the chapter's source.

The source is enough: nothing has to be built. The verdicts are those of the judge's own code, and its values travel
through the same encoding. Rows that need a GPU are left out, and so are hostile answers, since nothing is confined.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from grader.authoring.lint.metadata import role_of
from grader.authoring.myst import ChapterSource
from grader.judging.session import seed_of
from grader.model.given_names import GivenNames
from grader.model.notebooks import Role
from grader.model.results import CellResult, Verdict, exercise_of
from grader.processes import fork_server
from grader.trials import clean

START_SECONDS = 300.0
"""For the first answer, whose process imports everything."""


@dataclass(frozen=True)
class Trial:
    """An answer to grade."""

    source: str
    seeds: tuple[int, ...]
    """For these, one after the other: the hidden part in forks, or the whole test in one process if it draws before."""
    seconds: float
    """After which it counts as endless, for each seed."""
    imports: bool = False
    """Whether the forking process then imports what this trial imported, so that no later trial pays for it."""


@dataclass(frozen=True)
class TrialResult:
    """How a trial ended."""

    cells: tuple[CellResult, ...]

    @property
    def accepted(self) -> bool:
        """Whether it earned all points."""
        return all(cell.earned >= cell.possible for cell in self.cells)

    @property
    def broke(self) -> bool:
        """Whether it raised, crashed, hung or defined nothing, rather than returning a wrong value."""
        clean = (Verdict.PASSED, Verdict.PARTIAL, Verdict.FAILED)
        return any(cell.verdict not in clean or "Your code raised" in cell.message for cell in self.cells)

    @property
    def told(self) -> str:
        """What the student would read."""
        return "; ".join(f"{cell.verdict.value}: {cell.message}" for cell in self.cells if cell.message)


def given_names(source: ChapterSource, exercise: str) -> GivenNames:
    """What the demonstrations above an exercise bind, and the exercises there."""
    found = GivenNames()
    for cell in source.cells:
        role = role_of(cell)
        if role is Role.SOLUTION and cell.grade_id == exercise:
            break
        if role is Role.SOLUTION:
            found.solve(cell.grade_id, cell.source)
        elif role is Role.CODE:
            go_by = found.demonstrate if "demo" in cell.options.get("tags", []) else found.run
            go_by(cell.source)
    return found


class Runner:
    """Forks for one exercise; a context manager, since it holds a process."""

    def __init__(self, source: ChapterSource, exercise: str, jobs: int) -> None:
        given, tests, self._exercises = [], [], []
        self._given_names = given_names(source, exercise)
        needed: set[str] = set()
        before = True
        for cell in source.cells:
            role = role_of(cell)
            if role is Role.SOLUTION:
                self._exercises.append(cell.grade_id)
                before = before and cell.grade_id != exercise
            elif role is Role.CODE and before and "demo" not in cell.options.get("tags", []):
                given.append(cell.source)
            elif (
                role is Role.TEST
                and exercise_of(cell.grade_id) == exercise
                and "gpu" not in cell.options.get("tags", [])
            ):
                needed.update(cell.options.get("needs", []))
                tests.append({
                    "name": cell.grade_id, "source": cell.source, "needs": list(cell.options.get("needs", [])),
                    "possible": float(cell.settings.get("points", 0)),
                })  # fmt: skip
        self.exercise, self.tests = exercise, tests
        self.lasting = clean.NEEDS.isdisjoint(needed)
        """Whether a process may be asked with several seeds: a clean process of its own is fresh for one only."""
        self.cells = {"given": given, "tests": tests, "exercises": self._exercises}
        """What runs before and after an answer, and the names that the tests may use of it."""
        self._setting = {**self.cells, "jobs": jobs}

    def __enter__(self) -> Runner:
        environment = {**os.environ, **fork_server.ENVIRONMENT}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "grader.trials.trial_server"], env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self._write(self._setting)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _write(self, message: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def run(
        self, trials: Sequence[Trial], on_progress: Callable[[int, int], None] = lambda done, total: None
    ) -> list[TrialResult]:
        """How each ended, for each of its seeds in turn.

        Args:
            trials: more than one seed only if the runner is `lasting`.
            on_progress: called after each trial with the number of those done and of all.

        Raises:
            RuntimeError: the process that forks has ended.
        """
        for number, trial in enumerate(trials):
            assert self.lasting or len(trial.seeds) == 1
            seeds = [{test["name"]: seed_of(seed, str(test["name"])) for test in self.tests} for seed in trial.seeds]
            before = self._given_names.copy().needed(trial.source)
            self._write({**asdict(trial), "before": before, "number": number, "seeds": seeds})
        found: dict[int, list[TrialResult]] = {}
        for number, outcomes in self._replies(len(trials)):
            found[number] = outcomes
            on_progress(len(found), len(trials))
        return [outcome for number in range(len(trials)) for outcome in found[number]]

    def _replies(self, count: int) -> Iterator[tuple[int, list[TrialResult]]]:
        points = {str(test["name"]): float(str(test["possible"])) for test in self.tests}
        assert self._process.stdout is not None
        for _ in range(count):
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError(f"the process that tries answers to {self.exercise} has ended")
            number, replies = json.loads(line)
            outcomes = [
                TrialResult(
                    tuple(
                        CellResult(name, Verdict(verdict), earned, points[str(name)], message)
                        for name, verdict, earned, message in cells
                    )
                )
                for cells in replies
            ]
            yield number, outcomes

    def seconds_for(self, source: str) -> tuple[float, TrialResult]:
        """How long an answer may take that is as quick as this right one, and what became of this one."""
        self.run([Trial(source, (0,), START_SECONDS, imports=True)])
        started = time.monotonic()
        (outcome,) = self.run([Trial(source, (1,), START_SECONDS)])
        return 3.0 + 4.0 * (time.monotonic() - started), outcome
