"""Makes copies of the course to measure in, with classes of any size, and reads when each submission was recorded."""

from __future__ import annotations

import itertools
import json
import shutil
import statistics
from pathlib import Path

from grader.dev import sample
from grader.gradebook import gradebook
from grader.model.course import Chapter, Course, CourseError

HONEST = (
    "anna-solved",
    "bela-differently",
    "carla-blank",
    "dmitri-half",
    "elif-one-slip",
    "farid-mistaken",
    "grace-mistaken",
    "hugo-mistaken",
)
"""Students of the sample class whose notebooks stock nbgrader survives."""


def copy(course: Course, chapter: Chapter, folder: Path, submissions: int, demonstrations: bool = True) -> Course:
    """A course of this chapter only, with so many honest submissions, no two alike, and a fresh gradebook.

    Args:
        course: the course to copy from.
        chapter: the chapter; built and released, with an answer bank.
        folder: made here; must not be there yet.
        submissions: how many; the kinds of the sample class in turn.
        demonstrations: False: their cells are empty in the submissions, so that nothing runs them.

    Raises:
        CourseError: the chapter is not ready.
    """
    copied = Course(folder)
    folder.mkdir()
    shutil.copy(course.root / "nbgrader_config.py", folder)
    for path in (chapter.source, chapter.solution, chapter.release):
        target = folder / path.relative_to(course.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            raise CourseError(path, "not there", f'Run "grader build" and "grader release {chapter.name}" first.')
        shutil.copy(path, target)
    if (course.root / "data").is_dir():
        shutil.copytree(course.root / "data", folder / "data")
    everybody = folder / "class"
    sample.make_class(course, chapter, everybody)
    for number in range(submissions):
        name = HONEST[number % len(HONEST)]
        notebook = json.loads((everybody / name / chapter.name / f"{chapter.name}.ipynb").read_text(encoding="utf-8"))
        answers = [cell for cell in notebook["cells"] if cell["metadata"].get("nbgrader", {}).get("solution")]
        answers[0]["source"] += f"\n# written by student {number}"
        for cell in notebook["cells"]:
            if not demonstrations and "demo" in cell["metadata"].get("tags", []):
                cell["source"] = ""
        target = copied.submitted / f"{number:05}-{name}" / chapter.name / f"{chapter.name}.ipynb"
        target.parent.mkdir(parents=True)
        target.write_text(json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True), encoding="utf-8")
    gradebook.prepare(copied, Chapter(chapter.name, folder))
    return copied


def recorded_at(course: Course, chapter: Chapter) -> list[float]:
    """When each submission was recorded, in order: nbgrader and grader alike then write the executed notebook."""
    return sorted(path.stat().st_mtime for path in course.autograded.glob(f"*/{chapter.name}/{chapter.name}.ipynb"))


def first_and_last(times: list[float]) -> tuple[float, float]:
    """Seconds a submission over the first and over the last tenth of a class; whole rounds of the sample's kinds.

    Args:
        times: when each was recorded, in order; of a class of `10 * len(HONEST)` or more.
    """
    steps = [after - before for before, after in itertools.pairwise(times)]
    tenth = len(times) // 10 // len(HONEST) * len(HONEST)
    return statistics.fmean(steps[:tenth]), statistics.fmean(steps[-tenth:])
