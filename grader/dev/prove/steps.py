"""The steps of the proof: each looks at this machine's GPU, changes only what it says, and gives an `StepResult`."""

from __future__ import annotations

import json
import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from gpulab.doctor import hardware
from grader.authoring import answers, building, releasing
from grader.authoring import gate as answer_gate
from grader.authoring.answers import Answer
from grader.authoring.bank import banks_of
from grader.batch.batch import grade_class
from grader.dev import sample
from grader.dev.prove import claimed_numbers, counts, nsight
from grader.dev.prove import smoke_checks as first_contact
from grader.dev.prove.report import machine
from grader.dev.prove.rows import GpuRow, KeptRows, Pace, RowResult, attempt, hashed, settle
from grader.dev.prove.run import ProofStep, Say, StepResult, folder_of, slug
from grader.judging import session
from grader.machine import doctor, kept_readings
from grader.model import notebooks, submission
from grader.model.course import Chapter, Course
from grader.model.harness import harness_digest
from grader.model.notebook_io import write
from grader.model.readings import ReadingState
from grader.model.results import LACKING, TOO_NOISY, Verdict

NBVAL_SECONDS = 300
ALL = Pace()


def look(course: Course, chapters: list[Chapter], say: Say, pace: Pace = ALL) -> StepResult:
    """What `grader doctor` says."""
    rows = doctor.examine(course)
    bad = tuple(f"{row.what}: {row.found}. {row.remedy}" for row in rows if row.state == "bad")
    return StepResult("doctor", bad, {"rows": [asdict(row) for row in rows]})


def calibrate(course: Course, chapters: list[Chapter], say: Say, pace: Pace = ALL) -> StepResult:
    """The machine's ceilings, and the numbers that the course claims, each with its bar."""
    found = claimed_numbers.measured(course, say)
    return StepResult("calibrate", claimed_numbers.findings(found), asdict(found))


def read(course: Course, chapters: list[Chapter], say: Say, pace: Pace = ALL) -> StepResult:
    """The readings that answers are compared with, each next to the chapter's own solution.

    The values stay in `work/prove/<gpu>/readings/`: without the GPU they say why a reading was refused.
    """
    folder = folder_of(course) / "readings"

    def run(chapter: Chapter) -> RowResult:
        found = kept_readings.taken(notebooks.load_key(chapter), again=True)
        values = {name: asdict(one) for name, one in found.items()}
        write(folder / f"{chapter.name}.json", (json.dumps(values, sort_keys=True) + "\n").encode())
        wrong = {
            name: one
            for name, one in found.items()
            if one.state in (ReadingState.REFUSED, ReadingState.UNUSABLE, ReadingState.FAILED)
        }
        told = {name: {"state": one.state, "why": one.why} for name, one in found.items()}
        return RowResult(tuple(f"{name}: {one.state}: {one.why}" for name, one in wrong.items()), told)

    def row(chapter: Chapter) -> GpuRow:  # outputs, which executing a chapter writes, have no part in a reading
        return GpuRow(
            chapter.name, lambda: hashed(harness_digest(), notebooks.load_key(chapter).digest), lambda: run(chapter)
        )

    kept = KeptRows(folder_of(course), "readings")
    known, left = settle(map(row, chapters), kept, pace, say=lambda name: say(f"reading the GPU for {name}"))
    outcome = _of_chapters("readings", known, left)
    absent = tuple(
        f"{chapter}: {name}: {one['why']}"
        for chapter, of_chapter in outcome.data.items()
        for name, one in of_chapter.items()
        if one["state"] == ReadingState.ABSENT
    )
    return replace(outcome, absent=absent)


def count(course: Course, chapters: list[Chapter], say: Say, pace: Pace = ALL) -> StepResult:
    """The tracer's counts next to Nsight Compute's."""
    compared = counts.compared()
    wrong = tuple(one.sentence() for one in compared if not one.agrees)
    return StepResult("counts", wrong, {"kernels": [asdict(one) for one in compared]})


def inspect(course: Course, chapters: list[Chapter], say: Say, pace: Pace = ALL) -> StepResult:
    """What Nsight Systems and Nsight Compute say of the course's kernels, kept for readers who have no GPU."""
    folder = course.root / "data" / "machines" / slug(hardware.device_name())
    reports = nsight.profile_kernels(folder, machine())
    wrong = tuple(one.why_not for one in reports if one.why_not and one.installed)
    lacking = tuple(one.why_not for one in reports if not one.installed)
    return StepResult("nsight", wrong, {"reports": [asdict(one) for one in reports]}, absent=lacking)


def smoke(course: Course, chapters: list[Chapter], say: Say, pace: Pace = ALL) -> StepResult:
    """torch, Numba, CUDA C++, Triton, the profiler, NVML, and NCCL, each inside a real student's process."""
    findings: list[str] = []
    absent = tuple(filter(None, map(first_contact.lacking, first_contact.CHECKS)))
    data: dict[str, Any] = {}
    for name, code in first_contact.CHECKS.items():
        if first_contact.lacking(name):
            continue
        say(f"trying {name} in a student's process")
        found = attempt(GpuRow(name, hashed, lambda code=code: first_contact.tried(code)))  # type: ignore[misc]
        findings += [f"{name}: {one}" for one in found.findings]
        data[name] = {**found.data, "seconds": found.seconds}
    return StepResult("smoke", tuple(findings), data, absent=absent)


def execute(course: Course, chapters: list[Chapter], say: Say, pace: Pace = ALL) -> StepResult:
    """Every chapter's solution notebook, run from top to bottom on the GPU; its outputs stay in the tree."""

    def run(chapter: Chapter) -> RowResult:
        building.build(chapter, execute=True)
        return RowResult(data={"cells": len(notebooks.load_key(chapter).cells)})

    outcome = _by_chapter("execute", "executing {}", course, chapters, run, say, pace, pace.slots)
    for chapter in chapters:  # one after the other, and not in a thread: nbgrader changes the working directory
        if chapter.name in outcome.data:
            releasing.release(chapter)
    return outcome


def nbval(course: Course, chapters: list[Chapter], say: Say, pace: Pace = ALL) -> StepResult:
    """Every notebook once more, compared with what it said; nothing may be skipped."""

    def run(chapter: Chapter) -> RowResult:
        command = [sys.executable, "-m", "pytest", "--nbval-lax", "-q", "-p", "no:cacheprovider", str(chapter.solution)]
        try:
            done = subprocess.run(command, cwd=course.root, capture_output=True, text=True, timeout=NBVAL_SECONDS)
            last = (done.stdout.strip().splitlines() or ["no output"])[-1].strip("= ")
            failed = done.returncode != 0 or "skipped" in last
        except subprocess.TimeoutExpired:
            last, failed = f"not done after {NBVAL_SECONDS} s", True
        return RowResult((f"nbval: {last}",) if failed else (), {"summary": last})

    return _by_chapter("nbval", "nbval {}", course, chapters, run, say, pace, pace.slots)


def gate(course: Course, chapters: list[Chapter], say: Say, pace: Pace = ALL) -> StepResult:
    """`grader verify`, with every GPU row graded; each answer is a row that is kept."""
    no_gpu = hardware.device_name() == "cpu"
    rows: list[GpuRow] = []
    findings: list[str] = []
    counted: dict[str, list[str]] = {}
    for chapter in chapters:
        say(f"verifying {chapter.name}")
        (bank,) = banks_of([chapter])
        key = bank.key()
        findings += [f"{chapter.name}: {one}" for one in bank.stale(key)]
        tries = answer_gate.Tries(key, bank.answers, secrets.randbits(48))
        findings += [f"{chapter.name}: not checked: {one}: only a GPU can tell" for one in tries.not_here(no_gpu)]
        wanted = list(tries.on_gpu() if pace.gpu_rows_only else tries.here(no_gpu))
        wanted.sort(key=lambda one: one is not None and one.kind is answers.AnswerKind.RIGHT)
        seen = [_answer_row(chapter, tries, answer) for answer in wanted]
        rows += seen
        counted[chapter.name] = [row.name for row in seen]
    known, left = settle(rows, KeptRows(folder_of(course), "gate"), pace, pace.slots)
    data = {}
    for name, names in counted.items():
        found = [f"{name}: {one}" for row in names if row in known for one in known[row].findings]
        findings += found
        data[name] = {"checked": sum(row in known for row in names), "findings": len(found)}
    return StepResult("gate", tuple(findings), data, left=left)


def _answer_row(chapter: Chapter, tries: answer_gate.Tries, answer: answers.Answer | None) -> GpuRow:
    def run() -> RowResult:
        found, _ = tries.try_one(answer)
        if found:
            found.append(f"hidden inputs were drawn from seed {tries.seed}")
        return RowResult(tuple(found))

    name = f"{chapter.name} {answer}, {answer.where}" if answer else f"{chapter.name} a blank notebook"
    return GpuRow(name, lambda: hashed(harness_digest(), chapter.solution, repr(answer)), run)


def repeats(course: Course, chapters: list[Chapter], say: Say, pace: Pace = ALL) -> StepResult:
    """Every GPU row, graded several times with every right answer: none may lose a point, few may be noisy."""
    rows: list[tuple[int, int, GpuRow]] = []
    of_cells: dict[tuple[str, str], list[str]] = {}
    for chapter in chapters:
        key = notebooks.load_key(chapter)
        bank = [one for one in answers.load(chapter.answers, key) if one.kind is answers.AnswerKind.RIGHT]
        for cell in (cell for cell in key.tests if cell.on_gpu_only):
            right = [one for one in bank if one.exercise == cell.exercise]
            for number in range(pace.repeats):
                seen = [_repeat_row(chapter, key, cell, answer, number) for answer in right]
                rows += [(number, place, row) for place, row in enumerate(seen)]
                of_cells.setdefault((chapter.name, cell.grade_id), []).extend(row.name for row in seen)
        say(f"{chapter.name}: every GPU row {pace.repeats} times with every right answer")
    # Every answer once before any of them twice, and one of every cell before a second of any: a call that is cut short
    # should have met all cells.
    todo = [row for *_, row in sorted(rows, key=lambda one: one[:2])]
    known, left = settle(todo, KeptRows(folder_of(course), "repeats"), pace, pace.slots)
    findings: list[str] = []
    absent: list[str] = []
    data: dict[str, Any] = {}
    for (chapter_name, grade_id), names in of_cells.items():
        found = [known[name] for name in names if name in known]
        findings += [f"{chapter_name}: {grade_id} {one}" for row in found for one in row.findings]
        absent += sorted({f"{chapter_name}: {grade_id}: {row.absent}" for row in found if row.absent})
        got = [str(one.data.get("verdict", "")) for one in found]
        pending = got.count(Verdict.HARNESS_ERROR.value)
        data.setdefault(chapter_name, {})[grade_id] = {
            "graded": len(got),
            "passed": got.count(Verdict.PASSED.value),
            "pending": pending,
            "median_seconds": round(statistics.median(one.seconds for one in found), 2) if found else None,
        }
        if pending > 0.1 * len(got):
            findings.append(f"{chapter_name}: {grade_id}: more than a tenth of the gradings stay pending")
    return StepResult("repeats", tuple(findings), data, left=left, absent=tuple(absent))


def _repeat_row(
    chapter: Chapter, key: notebooks.ChapterKey, cell: notebooks.Cell, answer: Answer, number: int
) -> GpuRow:
    def run() -> RowResult:
        given = submission.from_answers(key, {answer.exercise: answer.source})
        only = frozenset({cell.grade_id})
        seed = secrets.randbits(48)
        # These rows measure by themselves: no reading has a say in them, and taking it would cost minutes.
        (result,) = session.grade(given, key, student="right", seed=seed, only=only, readings={}).cells
        findings: tuple[str, ...] = ()
        if result.cause == LACKING:
            return RowResult(absent=result.message, data={"verdict": result.verdict.value})
        if result.verdict is Verdict.HARNESS_ERROR and result.cause != TOO_NOISY:
            findings = (f"stays pending with “{answer.title}”: {result.message}",)
        elif result.verdict not in (Verdict.PASSED, Verdict.HARNESS_ERROR):
            lost = f"{result.earned:g} of {result.possible:g}: {result.message}"
            findings = (f"rejects “{answer.title}”: {lost}",)
        return RowResult(findings, {"verdict": result.verdict.value, "message": result.message})

    name = f"{chapter.name} {cell.grade_id}, {answer.title}, {answer.where}, round {number + 1}"
    return GpuRow(name, lambda: hashed(harness_digest(), chapter.solution, repr(answer)), run)


def grade_sample(course: Course, chapters: list[Chapter], say: Say, pace: Pace = ALL) -> StepResult:
    """The sample class of every chapter, several submissions on the GPU at a time."""

    def run(chapter: Chapter) -> RowResult:
        with tempfile.TemporaryDirectory(prefix="gpulab-prove-") as name:
            copied = copy_of(course, chapter, Path(name))
            sample.make_class(copied, copied.chapter(chapter.name), copied.submitted)
            key = notebooks.load_key(chapter)
            results = grade_class(copied, copied.chapter(chapter.name), copied.submitted, key=key, slots=pace.slots)
        cells = [cell for result in results for cell in result.cells]
        waiting = sum(cell.verdict is Verdict.NEEDS_GPU and cell.cause != LACKING for cell in cells)
        errors = [cell for cell in cells if cell.verdict is Verdict.HARNESS_ERROR]
        findings = [f"{one.grade_id}: {one.message}" for one in errors if one.cause != TOO_NOISY]
        if waiting:
            findings.append(f"{waiting} rows still wait for a GPU")
        data = {
            "submissions": len(results),
            "on": sorted({result.device for result in results}),
            "pending": len(errors),
            "seconds_each": round(statistics.median(result.usage.wall_seconds for result in results), 2),
        }
        return RowResult(tuple(findings), data)

    what = f"grading the sample class of {{}}, {pace.slots} at a time"
    return _by_chapter("class", what, course, chapters, run, say, pace)


def _by_chapter(
    step: str,
    what: str,
    course: Course,
    chapters: list[Chapter],
    run: Callable[[Chapter], RowResult],
    say: Say,
    pace: Pace,
    slots: int = 1,
) -> StepResult:
    """A step whose rows are the chapters, so many at a time."""

    def row(chapter: Chapter) -> GpuRow:
        # Looked at when it is done: executing a chapter writes its solution.
        files = (chapter.source, chapter.solution, *sorted(chapter.answers.glob("*.py")))
        return GpuRow(chapter.name, lambda: hashed(harness_digest(), *files), lambda: run(chapter))

    kept = KeptRows(folder_of(course), step)
    known, left = settle(map(row, chapters), kept, pace, slots, say=lambda name: say(what.format(name)))
    return _of_chapters(step, known, left)


def _of_chapters(step: str, known: dict[str, RowResult], left: tuple[str, ...]) -> StepResult:
    """The outcome of a step whose rows are the chapters."""
    findings = tuple(f"{name}: {one}" for name, found in known.items() for one in found.findings)
    return StepResult(step, findings, {name: found.data for name, found in known.items() if found.data}, left=left)


def copy_of(course: Course, chapter: Chapter, folder: Path) -> Course:
    """The course with one chapter, elsewhere: grades that are there must not be touched."""
    for part in ("data", "nbgrader_config.py"):
        source = course.root / part
        (shutil.copytree if source.is_dir() else shutil.copy)(source, folder / part)
    for path in (chapter.source, chapter.solution, chapter.release):
        target = folder / path.relative_to(course.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    shutil.copytree(chapter.answers, folder / chapter.answers.relative_to(course.root))
    return Course(folder)


STEPS = (
    ProofStep("smoke", "trying the GPU inside a student's process", smoke, "the sandbox lets students use it"),
    ProofStep("doctor", "looking at this machine", look, "the machine has all that grading needs"),
    ProofStep(
        "calibrate", "measuring ceilings and figures", calibrate, "its rates, and the figures that the course claims"
    ),
    ProofStep("readings", "reading what answers are compared with", read, "the readings agree with the solutions"),
    ProofStep("counts", "comparing the tracer with Nsight Compute", count, "the tracer counts as the hardware does"),
    ProofStep("nsight", "recording what Nsight says", inspect, "reports of Nsight for readers without a GPU"),
    ProofStep("execute", "executing the chapters on the GPU", execute, "every chapter runs on it"),
    ProofStep("nbval", "running the chapters again, compared", nbval, "every chapter gives the same outputs again"),
    ProofStep("gate", "grading every answer of the bank", gate, "every answer gets its verdict"),
    ProofStep("repeats", "grading every GPU row again and again", repeats, "no GPU row refuses a right answer"),
    ProofStep("class", "grading the sample class", grade_sample, "a class is graded, several submissions at a time"),
)
# Smoke and doctor first: what is red there explains the rest. Calibrate on a cool, quiet GPU. Nsight
# before the notebooks that show its reports are executed. Execute before nbval compares.
