"""The steps of the proof: each looks at this machine's GPU, changes only what it says, and gives an `Outcome`."""

from __future__ import annotations

import secrets
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from grader import answers, build, doctor, hardware, notebooks, release, sample, session, submission, verify
from grader.batch import grade_class
from grader.course import Chapter, Course, CourseError
from grader.prove import counts, figures, nsight
from grader.prove.report import machine
from grader.prove.run import Outcome, Say, Step, slug
from grader.results import Verdict

SLOTS = 4
"""Submissions that share the GPU."""
REPEATS = 5
"""Times that every GPU row is graded with every right answer, each with inputs of its own."""
NBVAL_SECONDS = 300


def look(course: Course, chapters: list[Chapter], say: Say) -> Outcome:
    """What `grader doctor` says."""
    rows = doctor.examine(course)
    bad = tuple(f"{row.what}: {row.found}. {row.remedy}" for row in rows if row.state == "bad")
    return Outcome("doctor", bad, {"rows": [asdict(row) for row in rows]})


def calibrate(course: Course, chapters: list[Chapter], say: Say) -> Outcome:
    """The machine's ceilings, and the figures that the course claims, each with its bar."""
    found = figures.measured(course, say)
    below = tuple(f"{one.what}: {one.shown()}, {one.bar()}" for one in found.figures if not one.reached)
    return Outcome("calibrate", below, asdict(found))


def count(course: Course, chapters: list[Chapter], say: Say) -> Outcome:
    """The tracer's counts beside Nsight Compute's."""
    compared = counts.compared()
    wrong = tuple(one.sentence() for one in compared if not one.agrees)
    return Outcome("counts", wrong, {"kernels": [asdict(one) for one in compared]})


def inspect(course: Course, chapters: list[Chapter], say: Say) -> Outcome:
    """What Nsight Systems and Nsight Compute say of the course's kernels, kept for readers who have no GPU."""
    folder = course.root / "data" / "machines" / slug(hardware.device_name())
    reports = nsight.record(folder, machine())
    wrong = tuple(one.why_not for one in reports if one.why_not)
    return Outcome("nsight", wrong, {"reports": [asdict(one) for one in reports]})


def execute(course: Course, chapters: list[Chapter], say: Say) -> Outcome:
    """Every chapter's solution notebook, run from top to bottom on the GPU; its outputs stay in the tree."""
    findings: list[str] = []
    data: dict[str, Any] = {}
    for chapter in chapters:
        say(f"executing {chapter.name}")
        try:
            build.build(chapter, execute=True)
            release.release(chapter)
            data[chapter.name] = {"cells": len(notebooks.load_key(chapter).cells)}
        except CourseError as error:
            findings.append(f"{chapter.name}: {error}")
    return Outcome("execute", tuple(findings), data)


def nbval(course: Course, chapters: list[Chapter], say: Say) -> Outcome:
    """Every notebook once more, compared with what it said; nothing may be skipped."""
    findings: list[str] = []
    data: dict[str, Any] = {}
    for chapter in chapters:
        say(f"nbval {chapter.name}")
        command = [sys.executable, "-m", "pytest", "--nbval-lax", "-q", "-p", "no:cacheprovider", str(chapter.solution)]
        try:
            done = subprocess.run(command, cwd=course.root, capture_output=True, text=True, timeout=NBVAL_SECONDS)
            last = (done.stdout.strip().splitlines() or ["no output"])[-1].strip("= ")
            failed = done.returncode != 0 or "skipped" in last
        except subprocess.TimeoutExpired:
            last, failed = f"not done after {NBVAL_SECONDS} s", True
        data[chapter.name] = {"summary": last}
        if failed:
            findings.append(f"{chapter.name}: nbval: {last}")
    return Outcome("nbval", tuple(findings), data)


def gate(course: Course, chapters: list[Chapter], say: Say) -> Outcome:
    """`grader verify`, with every GPU row graded."""
    findings: list[str] = []
    data: dict[str, Any] = {}
    for chapter in chapters:
        say(f"verifying {chapter.name}")
        (report,) = verify.verify(course, [chapter], jobs=SLOTS)
        findings += [f"{chapter.name}: {one}" for one in report.findings]
        findings += [f"{chapter.name}: not checked: {one}" for one in report.unchecked]
        data[chapter.name] = {"checked": report.checked, "findings": len(report.findings)}
    return Outcome("gate", tuple(findings), data)


def repeats(course: Course, chapters: list[Chapter], say: Say) -> Outcome:
    """Every GPU row, graded several times with every right answer: none may lose a point, few may be noisy."""
    findings: list[str] = []
    data: dict[str, Any] = {}
    for chapter in chapters:
        key = notebooks.load_key(chapter)
        rows = {cell.exercise: cell for cell in key.tests if cell.on_gpu_only}
        bank = [one for one in answers.load(chapter.answers, key) if one.kind is answers.Kind.RIGHT]
        for exercise, cell in rows.items():
            say(f"{cell.grade_id}, {REPEATS} times")
            got: list[str] = []
            seconds: list[float] = []
            for answer in (one for one in bank if one.exercise == exercise):
                given = submission.from_answers(key, {exercise: answer.source})
                for _ in range(REPEATS):
                    (result,) = session.grade(
                        given, key, student="right", seed=secrets.randbits(48), only=frozenset({cell.grade_id})
                    ).cells
                    got.append(result.verdict.value)
                    seconds.append(result.seconds)
                    if result.verdict not in (Verdict.PASSED, Verdict.HARNESS_ERROR):
                        lost = f"{result.earned:g} of {result.possible:g}: {result.message}"
                        findings.append(f"{chapter.name}: {cell.grade_id} rejects “{answer.title}”: {lost}")
            data.setdefault(chapter.name, {})[cell.grade_id] = {
                "graded": len(got),
                "passed": got.count(Verdict.PASSED.value),
                "pending": got.count(Verdict.HARNESS_ERROR.value),
                "median_seconds": round(statistics.median(seconds), 2) if seconds else None,
            }
            if got.count(Verdict.HARNESS_ERROR.value) > 0.1 * len(got):
                findings.append(f"{chapter.name}: {cell.grade_id}: more than a tenth of the gradings stay pending")
    return Outcome("repeats", tuple(findings), data)


def grade_sample(course: Course, chapters: list[Chapter], say: Say) -> Outcome:
    """The sample class of every chapter, several submissions on the GPU at a time."""
    findings: list[str] = []
    data: dict[str, Any] = {}
    for chapter in chapters:
        say(f"grading the sample class of {chapter.name}, {SLOTS} at a time")
        with tempfile.TemporaryDirectory(prefix="gpulab-prove-") as name:
            copied = copy_of(course, chapter, Path(name))
            sample.make_class(copied, copied.chapter(chapter.name), copied.submitted)
            key = notebooks.load_key(chapter)
            results = grade_class(copied, copied.chapter(chapter.name), copied.submitted, key=key, slots=SLOTS)
        counted = [cell.verdict for result in results for cell in result.cells]
        errors = [cell for result in results for cell in result.cells if cell.verdict is Verdict.HARNESS_ERROR]
        findings += [f"{chapter.name}: {one.grade_id}: {one.message}" for one in errors if "noisy" not in one.message]
        if counted.count(Verdict.NEEDS_GPU):
            findings.append(f"{chapter.name}: {counted.count(Verdict.NEEDS_GPU)} rows still wait for a GPU")
        data[chapter.name] = {
            "submissions": len(results),
            "on": sorted({result.device for result in results}),
            "pending": len(errors),
            "seconds_each": round(statistics.median(result.usage.wall_seconds for result in results), 2),
        }
    return Outcome("class", tuple(findings), data)


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
    Step("doctor", "looking at this machine", look),
    Step("calibrate", "measuring ceilings and figures", calibrate),
    Step("counts", "comparing the tracer with Nsight Compute", count),
    Step("nsight", "recording what Nsight says", inspect),
    Step("execute", "executing the chapters on the GPU", execute),
    Step("nbval", "running the chapters again, compared", nbval),
    Step("gate", "grading every answer of the bank", gate),
    Step("repeats", "grading every GPU row again and again", repeats),
    Step("class", "grading the sample class", grade_sample),
)
# Doctor first: its red rows explain the rest. Calibrate on a cool, quiet GPU. Nsight before the notebooks that show its
# reports are executed. Execute before nbval compares.
