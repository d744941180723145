"""How far a student is in each chapter, read from the saved notebooks: nothing is run, nothing is sent anywhere.

For `notebooks/README.ipynb`. Says what the tests in sight said when they last ran; what a submission earns is decided
by the grader alone.
"""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

BLANK = "raise NotImplementedError"


class Standing(StrEnum):
    """Where a student is with one exercise."""

    DONE = "done"
    """Every test in sight passed when it last ran, but for those that need a GPU."""
    STARTED = "started"
    """Something is written; a test has failed, or has not run."""
    OPEN = "open"


@dataclass(frozen=True)
class Exercise:
    """One exercise of a chapter."""

    name: str
    standing: Standing
    points: float
    """Of its tests that need no GPU."""


@dataclass(frozen=True)
class ChapterProgress:
    """One chapter."""

    name: str
    title: str
    exercises: tuple[Exercise, ...]
    problem: str = ""
    """Why the notebook cannot be read; empty when it can."""

    @property
    def possible(self) -> float:
        """Points that need no GPU."""
        return sum(one.points for one in self.exercises)

    @property
    def reached(self) -> float:
        """Points of exercises that are done, as far as the tests in sight tell."""
        return sum(one.points for one in self.exercises if one.standing is Standing.DONE)

    def names(self, standing: Standing) -> list[str]:
        """Exercises that stand like this."""
        return [one.name for one in self.exercises if one.standing is standing]


class Progress:
    """The chapters of a folder; Jupyter shows it as a table, a terminal as lines."""

    def __init__(self, chapters: list[ChapterProgress]) -> None:
        self.chapters = chapters

    def __repr__(self) -> str:
        return "\n".join(_line(chapter) for chapter in self.chapters) or "No chapters here."

    def _repr_html_(self) -> str:
        if not self.chapters:
            return "<p>No chapters here: run this in the folder that holds them.</p>"
        rows = "".join(_row(chapter) for chapter in self.chapters)
        head = "".join(
            f'<th scope="col" style="text-align:left">{text}</th>' for text in ("chapter", "", "points", "next")
        )
        return f'<table aria-label="Your progress"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def progress(folder: str | Path | None = None) -> Progress:
    """The progress in each chapter, `<folder>/NN_topic/NN_topic.ipynb`; default: the working directory."""
    home = Path(folder) if folder is not None else Path.cwd()
    return Progress([read(path) for path in sorted(home.glob("[0-9]*/*.ipynb")) if path.stem == path.parent.name])


def read(path: Path) -> ChapterProgress:
    """The progress in one notebook; a damaged one has a `problem`."""
    try:
        cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if isinstance(cell, dict)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return ChapterProgress(path.stem, path.stem, (), f"cannot be read ({type(error).__name__})")
    title, written, tests = path.stem, dict[str, bool](), dict[str, list[dict[str, Any]]]()
    for cell in cells:
        source = _text(cell.get("source"))
        if title == path.stem and cell.get("cell_type") == "markdown" and source.startswith("# "):
            title = source.splitlines()[0][2:].strip()
        settings = cell.get("metadata", {}).get("nbgrader") or {}
        name = settings.get("grade_id", "")
        if settings.get("solution"):
            written[name] = BLANK not in source
        elif settings.get("grade"):
            tests.setdefault(_exercise(name), []).append(cell)
    return ChapterProgress(
        path.stem, title, tuple(_standing(name, tests.get(name, []), written[name]) for name in written)
    )


def _standing(name: str, tests: list[dict[str, Any]], written: bool) -> Exercise:
    own = [cell for cell in tests if not _on_gpu(cell)]
    points = sum(float(cell["metadata"]["nbgrader"].get("points") or 0) for cell in own)
    if not written:
        return Exercise(name, Standing.OPEN, points)
    done = bool(own) and all(_passed(cell) for cell in own)
    return Exercise(name, Standing.DONE if done else Standing.STARTED, points)


def _passed(cell: dict[str, Any]) -> bool:
    """Whether a test cell ran and did not fail. One that gives points says how many: then all of them."""
    outputs = cell.get("outputs") or []
    if cell.get("execution_count") is None or any(one.get("output_type") == "error" for one in outputs):
        return False
    given = [
        _text(one.get("data", {}).get("text/plain")) for one in outputs if one.get("output_type") == "execute_result"
    ]
    try:
        return not given or float(given[-1]) >= float(cell["metadata"]["nbgrader"].get("points") or 0)
    except ValueError:
        return False


def _on_gpu(cell: dict[str, Any]) -> bool:
    settings = cell["metadata"]["nbgrader"]
    return str(settings.get("grade_id", "")).endswith("_gpu") or "gpu" in cell["metadata"].get("tags", ())


def _exercise(test: str) -> str:
    return test.removesuffix("_test").removesuffix("_gpu")


def _text(value: Any) -> str:
    return "".join(value) if isinstance(value, list) else value if isinstance(value, str) else ""


def _line(chapter: ChapterProgress) -> str:
    if chapter.problem:
        return f"{chapter.name}: {chapter.problem}"
    return f"{chapter.name}: {_counts(chapter)}; {chapter.reached:g} of {chapter.possible:g} points in sight"


def _counts(chapter: ChapterProgress) -> str:
    done, started = (len(chapter.names(standing)) for standing in (Standing.DONE, Standing.STARTED))
    return f"{done} of {len(chapter.exercises)} exercises done" + (f", {started} begun" if started else "")


def _row(chapter: ChapterProgress) -> str:
    link = f'<a href="{html.escape(chapter.name)}/{html.escape(chapter.name)}.ipynb">{html.escape(chapter.title)}</a>'
    left = 'style="text-align:left;padding-right:1.2em"'
    if chapter.problem:
        return f'<tr><td {left}>{link}</td><td colspan="3" {left}>{html.escape(chapter.problem)}</td></tr>'
    marks = "".join(_mark(one) for one in chapter.exercises)
    unfinished = chapter.names(Standing.STARTED) or chapter.names(Standing.OPEN)
    following = f"<code>{html.escape(unfinished[0])}</code>" if unfinished else "done: hand it in"
    return (
        f'<tr><td {left}>{link}</td><td {left}><span role="img" aria-label="{_counts(chapter)}">{marks}</span></td>'
        f"<td {left}>{chapter.reached:g}&nbsp;of&nbsp;{chapter.possible:g}</td><td {left}>{following}</td></tr>"
    )


def _mark(one: Exercise) -> str:
    """A small square: full, half, or empty, so that it can be read without its color."""
    fill = {
        Standing.DONE: "#1f77b4",
        Standing.STARTED: "linear-gradient(to top, #ff7f0e 50%, transparent 50%)",
        Standing.OPEN: "transparent",
    }[one.standing]
    return (
        f'<span title="{html.escape(one.name)}: {one.standing}" style="display:inline-block;width:11px;height:11px;'
        f'margin-right:3px;border:1px solid #7f7f7f;border-radius:2px;background:{fill}"></span>'
    )
