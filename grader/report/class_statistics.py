"""What a class's results say when taken together: pass rates, discrimination, faults that many share, slow tests.

Pure functions of results, for the report to show. A point that is pending counts neither as earned nor as lost.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from grader.model.results import LACKING, TOO_NOISY, CellResult, SubmissionResult, Verdict

MARKS = {
    Verdict.PASSED: "✓",
    Verdict.PARTIAL: "½",
    Verdict.FAILED: "✗",
    Verdict.NOT_ATTEMPTED: "·",
    Verdict.TIMED_OUT: "∞",
    Verdict.CRASHED: "†",
    Verdict.NEEDS_GPU: "…",
    Verdict.HARNESS_ERROR: "!",
}
"""Verdict → one character that suffices without its color."""
LEAST_FOR_DISCRIMINATION = 5
"""Students below which a correlation says nothing."""
LEAST_FOR_SPREAD = 4
SHORT_SECONDS = 0.05
NOISE_WORTH_TELLING = 0.25
REMEDIES = {
    Verdict.NEEDS_GPU.value: "grade the class again on a machine with a GPU",
    Verdict.HARNESS_ERROR.value: "the fault is not the student's: grade again, and report it if it happens again",
    TOO_NOISY: "grade again on a quiet machine",
    LACKING: "the rows' messages say what to install; or grade the class again on another machine",
}
"""Why points are pending → what decides them."""


@dataclass(frozen=True)
class CellNumbers:
    """How a class did on one test cell."""

    grade_id: str
    exercise: str
    possible: float
    verdicts: Counter[Verdict]
    mean_share: float | None
    """Mean share of the points where they are decided; None when they are nowhere."""
    discrimination: float | None
    """Correlation of this test's share with the share of all other points; None when it cannot be told."""

    @property
    def label(self) -> str:
        """The name where there is little room: `occupancy`, `copy_bandwidth_gpu`."""
        return self.grade_id.removesuffix("_test")

    @property
    def decided(self) -> int:
        """Submissions for which the points are earned or lost."""
        return sum(count for verdict, count in self.verdicts.items() if not verdict.pending)

    @property
    def pass_rate(self) -> float | None:
        """Share of the decided submissions that have all points; None when none is decided."""
        return self.verdicts[Verdict.PASSED] / self.decided if self.decided else None


@dataclass(frozen=True)
class ExerciseFault:
    """Something that went wrong in an exercise for one student or several."""

    exercise: str
    text: str
    students: tuple[str, ...]


@dataclass(frozen=True)
class Slow:
    """How long one test cell took."""

    grade_id: str
    median_seconds: float
    longest_seconds: float
    student: str
    """Whose took longest."""
    spread_seconds: float = 0.0
    """Half the distance between the quartiles, of those who answered."""
    too_noisy: int = 0
    """Submissions whose times differed too much to be worth points."""

    @property
    def noise(self) -> float:
        """The spread in medians; 0 for what takes no time worth telling."""
        return self.spread_seconds / self.median_seconds if self.median_seconds >= SHORT_SECONDS else 0.0


@dataclass(frozen=True)
class Waiting:
    """Points that could not be decided, for one reason."""

    reason: str
    grade_ids: tuple[str, ...]
    students: tuple[str, ...]
    points: float
    remedy: str = ""
    """What decides them."""


def graded(results: Sequence[SubmissionResult]) -> list[SubmissionResult]:
    """The results of submissions that could be read."""
    return [result for result in results if result.problem is None]


def test_ids(results: Sequence[SubmissionResult]) -> list[str]:
    """Grade ids of the test cells in the chapter's order."""
    return list(dict.fromkeys(cell.grade_id for result in graded(results) for cell in result.cells))


def exercises_of(results: Sequence[SubmissionResult]) -> list[str]:
    """Names of the exercises in the chapter's order."""
    return list(dict.fromkeys(cell.exercise for result in graded(results) for cell in result.cells))


def cell_of(result: SubmissionResult, grade_id: str) -> CellResult | None:
    """The result of one test cell."""
    return next((cell for cell in result.cells if cell.grade_id == grade_id), None)


def cell_numbers(results: Sequence[SubmissionResult]) -> list[CellNumbers]:
    """How the class did on each test cell, in the chapter's order."""
    return [_of_cell(graded(results), grade_id) for grade_id in test_ids(results)]


def _of_cell(results: list[SubmissionResult], grade_id: str) -> CellNumbers:
    pairs = [(result, cell) for result in results if (cell := cell_of(result, grade_id)) is not None]
    decided = [(result, cell) for result, cell in pairs if not cell.verdict.pending and cell.possible > 0]
    shares = [cell.earned / cell.possible for _, cell in decided]
    rest = [_share_without(result, grade_id) for result, _ in decided]
    return CellNumbers(
        grade_id=grade_id,
        exercise=pairs[0][1].exercise,
        possible=pairs[0][1].possible,
        verdicts=Counter(cell.verdict for _, cell in pairs),
        mean_share=statistics.fmean(shares) if shares else None,
        discrimination=_correlation(shares, rest),
    )


def _share_without(result: SubmissionResult, grade_id: str) -> float:
    """The share of the decided points that a student has in all other tests."""
    others = [cell for cell in result.cells if cell.grade_id != grade_id and not cell.verdict.pending]
    possible = sum(cell.possible for cell in others)
    return sum(cell.earned for cell in others) / possible if possible else 0.0


def _correlation(one: list[float], other: list[float]) -> float | None:
    """Pearson's correlation; None for few students, or where all have the same."""
    if len(one) < LEAST_FOR_DISCRIMINATION or len(set(one)) < 2 or len(set(other)) < 2:
        return None
    return statistics.correlation(one, other)


def common_faults(results: Sequence[SubmissionResult]) -> list[ExerciseFault]:
    """What went wrong, most frequent first; each student counts once for each fault."""
    found: dict[tuple[str, str], tuple[str, dict[str, None]]] = {}
    for result in graded(results):
        for cell in result.cells:
            if cell.verdict in (Verdict.PASSED, Verdict.NOT_ATTEMPTED) or cell.verdict.pending:
                continue
            for text in faults_in(cell) or [cell.verdict.value]:
                # Hidden inputs differ from student to student: texts that differ in numbers only are one fault.
                key = cell.exercise, re.sub(r"-?\d+(\.\d+)?(e[+-]?\d+)?", "#", text)
                found.setdefault(key, (text, {}))[1][result.student] = None
    faults = [ExerciseFault(exercise, text, tuple(students)) for (exercise, _), (text, students) in found.items()]
    return sorted(faults, key=lambda fault: -len(fault.students))


def faults_in(cell: CellResult) -> list[str]:
    """What was wrong with an answer, without what was called, returned and expected.

    Of a test that reports no fields (an `assert` of its own, a result of an earlier version) it is the whole message.
    """
    if cell.mismatches:
        return [one.misconception or one.difference or f"{one.what}: another value" for one in cell.mismatches]
    message = " ".join(cell.message.split())
    return [message] if message else []


def slowest(results: Sequence[SubmissionResult], count: int = 6) -> list[Slow]:
    """The test cells that took longest, by the longest time of any student."""
    return sorted(_times(results), key=lambda row: -row.longest_seconds)[:count]


def slow_and_noisy(results: Sequence[SubmissionResult], slow: int = 6, noisy: int = 3) -> list[Slow]:
    """The slowest test cells, and those whose times differ most from student to student; slowest first."""
    rows = sorted(_times(results), key=lambda row: -row.longest_seconds)
    chosen = rows[:slow]
    by_noise = sorted(rows, key=lambda row: (-row.too_noisy, -row.noise))[:noisy]
    chosen += [row for row in by_noise if row not in chosen and (row.too_noisy or row.noise > NOISE_WORTH_TELLING)]
    return sorted(chosen, key=lambda row: -row.longest_seconds)


def _times(results: Sequence[SubmissionResult]) -> list[Slow]:
    """How long each test cell took."""
    rows = []
    for grade_id in test_ids(results):
        cells = [(cell, one.student) for one in graded(results) if (cell := cell_of(one, grade_id))]
        longest, student = max(((cell.seconds, student) for cell, student in cells), key=lambda pair: pair[0])
        # Blank answers are over at once: they are no noise.
        answered = [cell.seconds for cell, _ in cells if cell.verdict in (Verdict.PASSED, Verdict.PARTIAL)]
        quartiles = statistics.quantiles(answered, n=4) if len(answered) >= LEAST_FOR_SPREAD else (0.0, 0.0, 0.0)
        median = statistics.median(cell.seconds for cell, _ in cells)
        noisy = sum(cell.cause == TOO_NOISY for cell, _ in cells)
        rows.append(Slow(grade_id, median, longest, student, (quartiles[2] - quartiles[0]) / 2, noisy))
    return rows


def waiting(results: Sequence[SubmissionResult]) -> list[Waiting]:
    """Who waits for points, and why: one entry for each reason, most points first."""
    found: dict[str, list[tuple[str, CellResult]]] = {}
    for one in graded(results):
        for cell in one.cells:
            if cell.verdict.pending:
                reason = cell.cause or cell.verdict.value
                found.setdefault(reason, []).append((one.student, cell))
    rows = [
        Waiting(
            reason=reason,
            grade_ids=tuple(dict.fromkeys(cell.grade_id for _, cell in cells)),
            students=tuple(dict.fromkeys(student for student, _ in cells)),
            points=sum(cell.possible for _, cell in cells),
            remedy=REMEDIES.get(reason, ""),
        )
        for reason, cells in found.items()
    ]
    return sorted(rows, key=lambda row: -row.points)


def points(value: float) -> str:
    """Points as people write them: 3, 1.75, 0.33."""
    return f"{round(value, 2):g}"


def remark(result: SubmissionResult) -> str:
    """What a person should know about a submission besides its marks, in a few words."""
    if result.problem is not None:
        # The path is on the page; here is little room. Names of students have spaces.
        return re.sub(r"^(.*\.ipynb|\S*/\S*): ", "", result.problem, flags=re.DOTALL)
    verdicts = {verdict: [one.grade_id for one in result.cells if one.verdict is verdict] for verdict in Verdict}
    notes = [
        f"{verdict.value}: {', '.join(verdicts[verdict])}"
        for verdict in (Verdict.HARNESS_ERROR, Verdict.TIMED_OUT, Verdict.CRASHED)
        if verdicts[verdict]
    ]
    for sentences in (result.look_at, result.repairs):
        if sentences:
            more = f" (and {len(sentences) - 1} more)" if len(sentences) > 1 else ""
            notes.append(sentences[0].rstrip(".") + more)
    if result.cells and all(cell.verdict is Verdict.NOT_ATTEMPTED for cell in result.cells):
        notes.append("blank")
    return "; ".join(notes)
