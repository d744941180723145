"""The gate: proves that the grading of a chapter tells right from wrong, and that the release gives nothing away.

Four ways a chapter can be broken, each tried on every answer of the bank: a right answer loses points, a blank notebook
wins any, a wrong answer passes or is told the wrong thing, an attack pays off. Then that sources, built notebooks and
release agree, which `build` and `release` know how to check.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
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

    chosen = list(chapters)
    banks = [_bank(chapter, answers) for chapter in chosen]
    keys = [load_key(chapter) for chapter in chosen]
    tries = [
        Tries(key, load(bank, key), seed if seed is not None else secrets.randbits(48))
        for key, bank in zip(keys, banks, strict=True)
    ]
    reports = []
    for chapter, key, bank, report in zip(chosen, keys, banks, try_all(tries, jobs, on_progress), strict=True):
        stale = [str(finding) for finding in (*check_build(chapter), *check_release(chapter))]
        incomplete = _incomplete(key, bank) if answers is None else []
        reports.append(replace(report, findings=(*report.findings, *incomplete, *stale)))
    return reports


@dataclass(frozen=True)
class Tries:
    """The answers of one chapter that are to be graded, and the seed of their hidden inputs."""

    key: ChapterKey
    bank: list[Answer]
    seed: int

    def here(self, no_gpu: bool) -> list[Answer | None]:
        """What this machine can tell; None is the blank notebook."""
        return [None, *(answer for answer in self.bank if not (answer.gpu and no_gpu))]

    def try_one(self, answer: Answer | None) -> list[str]:
        """What is wrong with the grading of one of them."""
        key = self.key
        if answer is None:
            result = grade(from_answers(key, {}), key, student="blank", seed=self.seed)
            return judge_blank(result) + judge_given(result, key)
        tests = frozenset(cell.grade_id for cell in key.tests if cell.exercise == answer.exercise)
        submission = from_answers(key, {answer.exercise: answer.source})
        limits = SHORT if answer.endless else None
        result = grade(submission, key, student=str(answer), seed=self.seed, limits=limits, only=tests)
        return judge_answer(answer, result)


def try_all(tries: list[Tries], jobs: int, on_progress: Progress) -> list[Report]:
    """Grades every answer of every bank, and blank notebooks, and reports what does not come out as it must.

    All chapters share one queue, so that no core waits for the last answer of each.
    """
    no_gpu = hardware.device_name() == "cpu"
    todo = [(number, answer) for number, one in enumerate(tries) for answer in one.here(no_gpu)]
    findings: list[list[str]] = [[] for _ in tries]
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        results = pool.map(lambda pair: tries[pair[0]].try_one(pair[1]), todo)
        for done, ((number, answer), found) in enumerate(zip(todo, results, strict=True), start=1):
            findings[number] += found
            on_progress(done, len(todo), str(answer) if answer else f"{tries[number].key.name}, a blank notebook")
    reports = []
    for one, found in zip(tries, findings, strict=True):
        if found:
            found.append(f"Hidden inputs were drawn from seed {one.seed}; --seed {one.seed} draws them again.")
        unchecked = tuple(f"{answer}: only a GPU can tell" for answer in one.bank if answer.gpu and no_gpu)
        reports.append(Report(one.key.name, tuple(found), len(one.here(no_gpu)), unchecked))
    return reports


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
