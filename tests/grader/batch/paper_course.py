"""A course whose submissions say themselves what they earn: for tests of what a run keeps and records."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from minikey import make_key

from grader.batch.batch import grade_class
from grader.batch.recorder import SubmissionProgress
from grader.judging.task import Task
from grader.model.course import Chapter, Course
from grader.model.notebooks import ChapterKey
from grader.model.records import load_results
from grader.model.results import CellResult, SubmissionResult, Verdict
from grader.processes.accounts import Accounts

KEY = make_key()


class PaperSteps:
    """Judges by what the file says: a number of points, or what is to go wrong. The gradebook is a dict."""

    def __init__(self) -> None:
        self.book: dict[str, float] = {}
        self.faults: dict[str, BaseException] = {}
        """Text of a submission → what judging it raises."""
        self.recording_faults: dict[str, Exception] = {}
        """Student → what recording raises."""
        self.isolation = "2 (namespaces)"

    def __enter__(self) -> PaperSteps:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def begin(self, course: Course, chapter: Chapter, judging: bool, accounts: Accounts) -> None:
        pass

    def finish(self, accounts: Accounts) -> None:
        pass

    def load(self, path: Path) -> bytes:
        return path.read_bytes()

    def grade_task(self, task: Task, key: ChapterKey) -> SubmissionResult:
        text = task.notebook.decode()
        if text in self.faults:
            raise self.faults[text]
        cells = (
            CellResult("double_test", Verdict.PARTIAL, float(text), 3.0),
            CellResult("double_gpu", Verdict.NEEDS_GPU, 0.0, 1.0),
            CellResult("SHARES_test", Verdict.FAILED, 0.0, 2.0, "wrong"),
        )
        return SubmissionResult(
            task.student, key.name, cells, seed=task.seed, fingerprint=task.fingerprint, isolation=self.isolation
        )

    def compose(self, path: Path, key: ChapterKey, result: SubmissionResult) -> Any:
        return path.read_text()

    def record(self, course: Course, chapter: Chapter, notebook: Any, result: SubmissionResult) -> None:
        if result.student in self.recording_faults:
            raise self.recording_faults[result.student]
        self.book[result.student] = result.earned

    def recorded(self, course: Course, chapter: Chapter) -> Collection[str]:
        return self.book.keys()


class Room:
    """A course folder with submissions of one chapter."""

    def __init__(self, folder: Path) -> None:
        self.course, self.chapter = Course(folder), Chapter(KEY.name, folder)
        self.steps = PaperSteps()
        self.told: list[SubmissionProgress] = []

    def submit(self, **texts: str) -> None:
        for student, text in texts.items():
            path = self.course.submitted / student / KEY.name / f"{KEY.name}.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def grade(self, **options: Any) -> dict[str, SubmissionResult]:
        self.told = []
        results = grade_class(
            self.course,
            self.chapter,
            self.course.submitted,
            **{"key": KEY, "slots": 2, "steps": self.steps, "on_progress": self.told.append} | options,
        )
        return {result.student: result for result in results}

    @property
    def states(self) -> dict[str, str]:
        return {one.student: one.state for one in self.told}

    @property
    def kept(self) -> dict[str, float]:
        return {result.student: result.earned for result in load_results(self.course, KEY.name)}
