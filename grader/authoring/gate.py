"""The gate: proves that the grading of a chapter tells right from wrong, and that the release gives nothing away.

Four ways a chapter can be broken, each tried on every answer of the bank: a right answer loses points, a blank notebook
wins any, a wrong answer passes or gets the wrong message, an attack pays off. What `bank` finds wrong in the answers
themselves comes first, before anything is graded.
"""

from __future__ import annotations

import math
import random
import re
import secrets
import traceback
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from gpulab.doctor import hardware
from grader.authoring.answers import Answer, AnswerKind
from grader.authoring.bank import banks_of
from grader.authoring.visible_score import Tried, counts, tried, with_visible
from grader.judging.session import grade
from grader.model.course import Chapter, Course
from grader.model.limits import Limits
from grader.model.notebooks import ChapterKey, Role
from grader.model.results import VISIBLE, CellResult, SubmissionResult, Verdict
from grader.model.submission import from_answers

SHORT = Limits(cell_seconds=3.0, call_seconds=3.0)
"""For answers that end by a limit only, whichever it is."""
PATIENT = Limits(cell_seconds=40.0, call_seconds=30.0, launch_seconds=30.0, test_seconds=120.0)
"""For all others: a right answer stays right on a machine that is busy with other work."""
OnProgress = Callable[[int, int, str], None]
"""Called with the number of checks done, of all, and a word on the latest."""


@dataclass(frozen=True)
class ChapterVerdict:
    """What the gate found in one chapter."""

    chapter: str
    findings: tuple[str, ...]
    """One sentence each; none when the chapter passes."""
    checked: int
    """Answers that were graded."""
    unchecked: tuple[str, ...]
    """What this machine cannot tell, because it has no GPU."""
    left_out: int = 0
    """Answers that a sample did not draw."""
    unsteady: tuple[str, ...] = ()
    """Right answers that got all their points only in a second try, by themselves; what the first try found."""
    visible: tuple[Tried, ...] = ()
    """The wrong answers, and whether the visible tests alone refuse them."""


def verify(
    course: Course,
    chapters: Iterable[Chapter],
    exercises: Collection[str] = (),
    answers: Path | None = None,
    jobs: int = 2,
    seed: int | None = None,
    sample: float = 1.0,
    on_progress: OnProgress = lambda done, total, what: None,
) -> list[ChapterVerdict]:
    """The gate's reports, one per chapter.

    Args:
        course: the course.
        chapters: which of its chapters to try.
        exercises: grade the answers to these only, and check that their cells are those of the source; empty: all.
        answers: a bank other than the course's own: a folder that holds a folder for each chapter, or is one.
        jobs: answers graded at the same time.
        seed: of the hidden inputs and the sample, for replay; a fresh one when left out.
        sample: the share to grade of each exercise's right answers, and of its others, at least one of each.
        on_progress: called after every answer.

    Raises:
        CourseError: an exercise is not there, or a chapter is not built or released.
        Findings: something is wrong in a bank; all of it, before anything is graded.
    """
    banks = banks_of(chapters, exercises, answers)
    keys = [bank.key() for bank in banks]
    seeds = [seed if seed is not None else secrets.randbits(48) for _ in banks]
    tries = [
        Tries(key, drawn(bank.answers, sample, its_seed), its_seed, bank.only)
        for key, bank, its_seed in zip(keys, banks, seeds, strict=True)
    ]
    reports = []
    for one, bank, report in zip(tries, banks, try_all(tries, jobs, on_progress), strict=True):
        stale = map(str, bank.stale(one.key))
        left_out = len(bank.answers) - len(one.bank)
        reports.append(replace(report, findings=(*report.findings, *stale), left_out=left_out))
    return reports


def drawn(answers: list[Answer], share: float, seed: int) -> list[Answer]:
    """This share of each exercise's right answers and of its others, at least one of each, in their order."""
    groups = defaultdict(list)
    for answer in answers:
        groups[answer.exercise, answer.kind is AnswerKind.RIGHT].append(answer)
    draw = random.Random(seed)
    kept = {id(one) for group in groups.values() for one in draw.sample(group, math.ceil(share * len(group)))}
    return [answer for answer in answers if id(answer) in kept]


@dataclass(frozen=True)
class Tries:
    """The answers of one chapter that are to be graded, and the seed of their hidden inputs."""

    key: ChapterKey
    bank: list[Answer]
    seed: int
    only: frozenset[str] = frozenset()
    """Exercises whose tests the blank notebook is graded with; empty: all."""

    def here(self, no_gpu: bool) -> list[Answer | None]:
        """What this machine can tell; None is the blank notebook."""
        return [None, *(answer for answer in self.bank if not (answer.gpu and no_gpu))]

    def not_here(self, no_gpu: bool) -> list[Answer]:
        """What this machine cannot tell."""
        return [answer for answer in self.bank if answer.gpu and no_gpu]

    def on_gpu(self) -> list[Answer]:
        """Right answers to exercises that have a GPU row, and answers that only such a row can tell."""
        exercises = {cell.exercise for cell in self.key.tests if cell.on_gpu_only}
        return [one for one in self.bank if one.gpu or (one.kind is AnswerKind.RIGHT and one.exercise in exercises)]

    def try_one(self, answer: Answer | None) -> tuple[list[str], list[Tried]]:
        """What is wrong with the grading of one of them, and what the visible tests say to a wrong one."""
        key = self.key
        if answer is None:
            tests = self._tests(self.only) if self.only else None
            result = grade(from_answers(key, {}), key, student="blank", seed=self.seed, only=tests)
            return judge_blank(result) + judge_given(result, key), []
        counted = counts(answer, key)
        if counted:
            key = with_visible(key, answer.exercise)
        tests = frozenset(cell.grade_id for cell in key.tests if cell.exercise == answer.exercise)
        submission = from_answers(key, earlier(key, answer) | {answer.exercise: answer.source})
        limits = SHORT if answer.endless else PATIENT
        result = grade(submission, key, student=str(answer), seed=self.seed, limits=limits, only=tests)
        whole = tuple(cell for cell in result.cells if not cell.grade_id.endswith(VISIBLE))
        findings = judge_answer(answer, replace(result, cells=whole))
        return findings, [tried(answer, result.cells)] if counted else []

    def _tests(self, exercises: Collection[str]) -> frozenset[str]:
        return frozenset(cell.grade_id for cell in self.key.tests if cell.exercise in exercises)


def earlier(key: ChapterKey, answer: Answer) -> dict[str, str]:
    """The chapter's own answers to the exercises above, as far as an answer names them: a student has solved those."""
    found: dict[str, str] = {}
    for exercise in reversed(key.exercises[: key.exercises.index(answer.exercise)]):
        if any(re.search(rf"\b{exercise}\b", source) for source in (answer.source, *found.values())):
            found[exercise] = key.cell(exercise).source
    return found


def try_all(tries: list[Tries], jobs: int, on_progress: OnProgress) -> list[ChapterVerdict]:
    """Grades every answer of every bank, and blank notebooks, and reports what does not come out as it must.

    All chapters share one queue, so that no core waits for the last answer of each. A right answer that is refused is
    graded once more, by itself and with the same inputs: what differs then is the machine's load.
    """
    no_gpu = hardware.device_name() == "cpu"
    todo = [(number, answer) for number, one in enumerate(tries) for answer in one.here(no_gpu)]
    findings: list[list[str]] = [[] for _ in tries]
    visible: list[list[Tried]] = [[] for _ in tries]
    unsteady: list[list[str]] = [[] for _ in tries]
    refused = []
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        results = pool.map(lambda pair: _tried(tries[pair[0]], pair[1]), todo)
        for done, ((number, answer), (found, seen)) in enumerate(zip(todo, results, strict=True), start=1):
            if found and answer and answer.kind is AnswerKind.RIGHT:
                refused.append((number, answer, found))
            else:
                findings[number] += found
            visible[number] += seen
            on_progress(done, len(todo), str(answer) if answer else f"{tries[number].key.name}, a blank notebook")
    for number, answer, found in refused:
        again, _ = _tried(tries[number], answer)
        (findings if again else unsteady)[number].extend(found)
    reports = []
    for one, found, seen, once in zip(tries, findings, visible, unsteady, strict=True):
        if found:
            found.append(f"Hidden inputs were drawn from seed {one.seed}; --seed {one.seed} draws them again.")
        unchecked = tuple(f"{answer}: only a GPU can tell" for answer in one.not_here(no_gpu))
        checked = len(one.here(no_gpu))
        reports.append(
            ChapterVerdict(one.key.name, tuple(found), checked, unchecked, visible=tuple(seen), unsteady=tuple(once))
        )
    return reports


def _tried(tries: Tries, answer: Answer | None) -> tuple[list[str], list[Tried]]:
    """As `Tries.try_one`; an error of the harness's own is a finding, and the other answers are graded all the same."""
    try:
        return tries.try_one(answer)
    except Exception:
        where = f"{answer.where}: {answer}" if answer else "blank notebook"
        return [f"{where}: could not be graded:\n{traceback.format_exc()}"], []


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
    return judge_cells(answer, result.cells)


def judge_cells(answer: Answer, cells: tuple[CellResult, ...]) -> list[str]:
    """What is wrong with the verdicts that one answer got; nothing when they are what they must be."""
    told = "; ".join(f"{cell.grade_id} {cell.verdict.value}: {cell.message}" for cell in cells if cell.message)
    if any(cell.verdict is Verdict.HARNESS_ERROR for cell in cells):
        return [f"{answer.where}: {answer}: the harness failed: {told}"]
    decided = [cell for cell in cells if not cell.verdict.pending]
    earned = sum(cell.earned for cell in decided)
    if answer.kind is AnswerKind.RIGHT:
        wanted = answer.earns if answer.earns is not None else sum(cell.possible for cell in decided)
    else:
        wanted = answer.earns or 0.0
    findings = []
    if answer.gpu and answer.kind is not AnswerKind.RIGHT:
        # The CPU row of such an answer may pass; what must not is the GPU row.
        earned = sum(cell.earned for cell in decided if cell.grade_id.endswith("_gpu"))
    if answer.cpu and answer.kind is not AnswerKind.RIGHT:
        earned = sum(cell.earned for cell in decided if not cell.grade_id.endswith("_gpu"))
    if abs(earned - wanted) > 1e-9:
        findings.append(f"{answer.where}: {answer}: earned {earned:g}, must earn {wanted:g} ({told or 'no message'})")
    if answer.endless and not any(cell.verdict is Verdict.TIMED_OUT for cell in cells):
        findings.append(f"{answer.where}: {answer}: is marked endless, but was not stopped ({told or 'no message'})")
    if answer.says and not _says(answer.says, cells):
        findings.append(f"{answer.where}: {answer}: the message must hold {answer.says!r}, but is: {told or 'empty'}")
    return findings


def _says(words: str, cells: tuple[CellResult, ...]) -> bool:
    return any(words.lower() in cell.message.lower() for cell in cells)
