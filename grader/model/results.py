"""What grading a submission yields: verdicts, one result per test cell, and one per submission.

A leaf: everything else in `grader` imports it, it imports nothing of `grader`. Values are frozen and go to JSON and
back, so that they can travel between processes and lie on disk between runs.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from gpulab.check.outcomes import Mismatch

TOO_NOISY = "too noisy to tell"
"""The cause of points that are pending because times differ too much."""
LACKING = "this machine lacks a part"
"""The cause of points that are pending where there is a GPU: the message says what else is missing."""
Output = dict[str, Any]
"""A notebook output in nbformat's form, as a plain dict."""


class Verdict(StrEnum):
    """What became of one test cell."""

    PASSED = "passed"
    PARTIAL = "partial"
    FAILED = "failed"
    NOT_ATTEMPTED = "not attempted"
    TIMED_OUT = "timed out"
    CRASHED = "crashed"
    NEEDS_GPU = "needs a GPU"
    HARNESS_ERROR = "harness error"

    @property
    def pending(self) -> bool:
        """Whether the points are neither earned nor lost yet: the fault, or the lack, is ours."""
        return self in (Verdict.NEEDS_GPU, Verdict.HARNESS_ERROR)


@dataclass(frozen=True)
class CellResult:
    """The verdict on one test cell, with what the student is to read about it."""

    grade_id: str
    """Grade id of the test cell: `occupancy_test`."""
    verdict: Verdict
    earned: float
    """Points, always in [0, possible]."""
    possible: float
    message: str = ""
    """What was called, what came back, what was expected, which mistake that is; empty when passed."""
    seconds: float = 0.0
    outputs: tuple[Output, ...] = ()
    """Notebook outputs that carry the verdict into nbgrader: none for full points, an error for none."""
    mismatches: tuple[Mismatch, ...] = ()
    """The wrong values in fields (got, expected, misconception), as far as the test reported them in fields."""
    cause: str = ""
    """Why points are pending, where the verdict leaves that open: `too noisy to tell`."""

    @property
    def exercise(self) -> str:
        """Grade id of the solution cell that this cell tests: `occupancy` for `occupancy_test`."""
        return exercise_of(self.grade_id)


@dataclass(frozen=True)
class Usage:
    """What grading one submission cost."""

    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    """User and system time of the student's and the judge's processes and all that they started."""
    peak_memory_mb: float = 0.0
    """Largest resident set of any one process, MB = 1e6 bytes."""
    restarts: int = 0


@dataclass(frozen=True)
class SubmissionResult:
    """Everything that grading one submission of one chapter yields."""

    student: str
    chapter: str
    cells: tuple[CellResult, ...] = ()
    problem: str | None = None
    """Why the submission could not be read at all; None when it was graded. Such a result is not recorded."""
    repairs: tuple[str, ...] = ()
    """What had to be fixed in the notebook before it could be graded, one sentence each."""
    look_at: tuple[str, ...] = ()
    """Cells that a person should look at, one sentence each (`review_flags`)."""
    outputs: dict[str, tuple[Output, ...]] = field(default_factory=dict)
    """Cell id → outputs of the cells that ran in the student's process."""
    seed: int = 0
    """Seed of the hidden inputs; grading again with it replays the run."""
    fingerprint: str = ""
    """Hash over submission, chapter, harness version and seed: equal fingerprints need no second run."""
    isolation: str = "none"
    """Sandbox tier that the student's process ran in."""
    device: str = "cpu"
    usage: Usage = Usage()

    @property
    def earned(self) -> float:
        """Points earned so far; pending ones count as nothing yet."""
        return sum(cell.earned for cell in self.cells)

    @property
    def possible(self) -> float:
        """Points of all test cells, pending ones included."""
        return sum(cell.possible for cell in self.cells)

    @property
    def pending(self) -> float:
        """Points that this run could not decide."""
        return sum(cell.possible for cell in self.cells if cell.verdict.pending)

    def to_json(self) -> str:
        """The result as JSON text; `from_json` gives an equal result back."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> SubmissionResult:
        """The result that `to_json` wrote.

        Raises:
            ValueError: the text is not such a result.
        """
        try:
            data = json.loads(text)
            cells = tuple(_cell(cell) for cell in data.pop("cells"))
            outputs = {name: tuple(values) for name, values in data.pop("outputs").items()}
            usage = Usage(**data.pop("usage"))
            repairs, look_at = tuple(data.pop("repairs")), tuple(data.pop("look_at", ()))
            return cls(**data, cells=cells, outputs=outputs, usage=usage, repairs=repairs, look_at=look_at)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a submission result: {error}") from error


def _cell(data: dict[str, Any]) -> CellResult:
    """A cell's result from its JSON form; results of earlier versions have fewer fields."""
    mismatches = tuple(Mismatch(**one) for one in data.get("mismatches", ()))
    verdict, outputs = Verdict(data["verdict"]), tuple(data["outputs"])
    return CellResult(**{**data, "verdict": verdict, "outputs": outputs, "mismatches": mismatches})


VISIBLE = ":visible"
"""What the grade id of a test's visible half ends in, where that half is graded apart; nbgrader's have no colon."""


def exercise_of(test_id: str) -> str:
    """The exercise that a test cell checks: its grade id without `_test` or `_gpu`, and without `VISIBLE`."""
    test_id = test_id.removesuffix(VISIBLE)
    for suffix in ("_test", "_gpu"):
        if test_id.endswith(suffix):
            return test_id[: -len(suffix)]
    return test_id
