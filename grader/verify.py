"""The gate: proves that the grading of a chapter tells right from wrong, and that the release gives nothing away.

Four ways a chapter can be broken, each tried on every answer of the bank: a right answer loses points, a blank notebook
wins any, a wrong answer passes or is told the wrong thing, an attack pays off. Then that sources, built notebooks and
release agree, which `build` and `release` know how to check.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from grader import hardware
from grader.answers import Answer, Kind, load
from grader.course import Chapter, Course
from grader.limits import Limits
from grader.notebooks import ChapterKey, Role, load_key
from grader.results import CellResult, SubmissionResult, Verdict
from grader.session import grade
from grader.submission import from_answers

SHORT = Limits(cell_seconds=3.0, call_seconds=3.0)
"""For answers that end by a limit only, whichever it is."""
Progress = Callable[[int, int, str], None]
"""Called with the number of checks done, of all, and a word on the latest."""


@dataclass(frozen=True)
class Report:
    """What the gate found in one chapter."""

    chapter: str
    findings: tuple[str, ...]
    """One sentence each; none when the chapter passes."""
    checked: int
    """Answers that were graded."""
    unchecked: tuple[str, ...]
    """What this machine cannot tell, for want of a GPU."""


def verify(
    course: Course,
    chapters: Iterable[Chapter],
    answers: Path | None = None,
    jobs: int = 2,
    seed: int | None = None,
    on_progress: Progress = lambda done, total, what: None,
) -> list[Report]:
    """The gate's reports, one a chapter.

    Args:
        course: the course.
        chapters: which of its chapters to try.
        answers: a bank other than the course's own: a folder that holds a folder for each chapter, or is one.
        jobs: answers graded at the same time.
        seed: of the hidden inputs, for replay; a fresh one when left out.
        on_progress: told after every answer.

    Raises:
        CourseError: a chapter is not built or released, or its bank is malformed.
    """
    from grader.build import check_build
    from grader.release import check_release

    reports = []
    for chapter in chapters:
        bank = _bank(chapter, answers)
        key = load_key(chapter)
        report = try_answers(
            key, load(bank, key), jobs, seed if seed is not None else secrets.randbits(48), on_progress
        )
        stale = [str(finding) for finding in (*check_build(chapter), *check_release(chapter))]
        incomplete = _incomplete(key, bank) if answers is None else []
        findings = (*report.findings, *incomplete, *stale)
        reports.append(Report(chapter.name, findings, report.checked, report.unchecked))
    return reports


def try_answers(key: ChapterKey, bank: list[Answer], jobs: int, seed: int, on_progress: Progress) -> Report:
    """Grades every answer of a bank, and a blank notebook, and reports what does not come out as it must."""
    findings: list[str] = []
    unchecked: list[str] = []
    no_gpu = hardware.device_name() == "cpu"
    todo: list[Answer | None] = [None]
    for answer in bank:
        if answer.gpu and no_gpu:
            unchecked.append(f"{answer}: only a GPU can tell")
        else:
            todo.append(answer)

    def one(answer: Answer | None) -> list[str]:
        if answer is None:
            result = grade(from_answers(key, {}), key, student="blank", seed=seed)
            return judge_blank(result) + judge_given(result, key)
        tests = frozenset(cell.grade_id for cell in key.tests if cell.exercise == answer.exercise)
        submission = from_answers(key, {answer.exercise: answer.source})
        limits = SHORT if answer.endless else None
        result = grade(submission, key, student=str(answer), seed=seed, limits=limits, only=tests)
        return judge_answer(answer, result)

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for done, (tried, found) in enumerate(zip(todo, pool.map(one, todo), strict=True), start=1):
            findings += found
            on_progress(done, len(todo), str(tried) if tried else "a blank notebook")
    if findings:
        findings.append(f"Hidden inputs were drawn from seed {seed}; --seed {seed} draws them again.")
    return Report(key.name, tuple(findings), len(todo), tuple(unchecked))


def judge_blank(result: SubmissionResult) -> list[str]:
    """What is wrong with the grading of an untouched release."""
    return [
        f"blank notebook: {cell.grade_id} reads {cell.verdict.value!r} with {cell.earned:g} points, not 'not attempted'"
        for cell in result.cells
        if cell.verdict is not Verdict.NOT_ATTEMPTED or cell.earned
    ]


def judge_given(result: SubmissionResult, key: ChapterKey) -> list[str]:
    """Given cells that fail in a blank notebook: they need a demonstration, which the harness does not run."""
    codes = {cell.id: cell for cell in key.cells if cell.role is Role.CODE and "raises-exception" not in cell.tags}
    return [
        f"blank notebook: the given cell that begins {codes[cell_id].source.splitlines()[0]!r} fails with "
        f"{output['ename']}: {output['evalue']}. Demonstrations are not run: tag it demo, or have it stand alone."
        for cell_id, outputs in result.outputs.items()
        for output in outputs
        if output["output_type"] == "error" and cell_id in codes
    ]


def judge_answer(answer: Answer, result: SubmissionResult) -> list[str]:
    """What is wrong with the grading of one answer; nothing when it got what it must get."""
    cells = result.cells
    told = "; ".join(f"{cell.grade_id} {cell.verdict.value}: {cell.message}" for cell in cells if cell.message)
    if any(cell.verdict is Verdict.HARNESS_ERROR for cell in cells):
        return [f"{answer.where}: {answer}: the harness failed: {told}"]
    decided = [cell for cell in cells if not cell.verdict.pending]
    earned = sum(cell.earned for cell in decided)
    if answer.kind is Kind.RIGHT:
        wanted = answer.earns if answer.earns is not None else sum(cell.possible for cell in decided)
    else:
        wanted = answer.earns or 0.0
    findings = []
    if answer.gpu and answer.kind is not Kind.RIGHT:
        # The CPU row of such an answer may pass; what must not is the GPU row.
        earned = sum(cell.earned for cell in decided if cell.grade_id.endswith("_gpu"))
    if abs(earned - wanted) > 1e-9:
        findings.append(f"{answer.where}: {answer}: earned {earned:g}, must earn {wanted:g} ({told or 'no message'})")
    if answer.endless and not any(cell.verdict is Verdict.TIMED_OUT for cell in cells):
        findings.append(f"{answer.where}: {answer}: is marked endless, but was not stopped ({told or 'no message'})")
    if answer.says and not _says(answer.says, cells):
        findings.append(f"{answer.where}: {answer}: the message must hold {answer.says!r}, but is: {told or 'empty'}")
    return findings


def _says(words: str, cells: tuple[CellResult, ...]) -> bool:
    return any(words.lower() in cell.message.lower() for cell in cells)


def _bank(chapter: Chapter, answers: Path | None) -> Path:
    if answers is None:
        return chapter.answers
    inner = answers / chapter.name
    return inner if inner.is_dir() else answers


def _incomplete(key: ChapterKey, bank: Path) -> list[str]:
    """Exercises without two right answers or without a wrong one: nothing would show that their tests work."""
    kinds: dict[str, list[Kind]] = {exercise: [] for exercise in key.exercises}
    for answer in load(bank, key):
        kinds[answer.exercise].append(answer.kind)
    findings = []
    for exercise, found in kinds.items():
        if found.count(Kind.RIGHT) < 2:
            findings.append(f"{bank / exercise}.py: needs two right answers, written differently")
        if Kind.WRONG not in found:
            findings.append(f"{bank / exercise}.py: needs a wrong answer")
    return findings
