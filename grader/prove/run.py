"""The order of the steps, what becomes of their outcomes, and which of them are to be run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from grader import hardware
from grader.course import Chapter, Course, CourseError, nearest

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What came of one step."""

    step: str
    findings: tuple[str, ...] = ()
    """What is not as it must be, one sentence each."""
    data: dict[str, Any] = field(default_factory=dict)
    """For the report."""
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


@dataclass(frozen=True)
class Step:
    """One chunk of the proof."""

    name: str
    what: str
    """Shown while it runs."""
    run: Callable[[Course, list[Chapter], Say], Outcome]


def prove(
    course: Course,
    steps: Iterable[Step],
    only: tuple[str, ...] = (),
    say: Say = lambda text: None,
) -> list[Outcome]:
    """Runs the steps and keeps what came of each; gives all that is known of this GPU, in order.

    Args:
        course: the course.
        steps: all there are.
        only: names of steps, or of chapters (`04`): nothing else is run; all when left out.
        say: told what is being done.

    Raises:
        CourseError: there is no GPU, or `only` names nothing that there is.
    """
    if hardware.device_name() == "cpu":
        hidden = " (CUDA_VISIBLE_DEVICES hides what there may be)" if hardware.hidden() else ""
        remedy = 'Run it on a machine with one, driver 580 or later; "grader doctor" says what is missing here.'
        raise CourseError("this machine", f"has no NVIDIA GPU that can be used{hidden}", remedy)
    known, wanted = list(steps), list(only)
    names = [step.name for step in known]
    chapters = [course.chapter(name) for name in wanted if name[:1].isdigit()]
    for name in wanted:
        if name not in names and not name[:1].isdigit():
            raise CourseError("--only", f"there is no step {name!r}", nearest(name, names))
    chosen = [step for step in known if step.name in wanted] or known
    if chapters and not any(name in names for name in wanted):
        chosen = [step for step in known if step.name in OF_A_CHAPTER]
    folder = course.work / "prove" / slug(hardware.device_name())
    folder.mkdir(parents=True, exist_ok=True)
    for step in chosen:
        say(step.what)
        started = time.monotonic()
        try:
            outcome = step.run(course, chapters or released(course), say)
        except CourseError as error:
            outcome = Outcome(step.name, (str(error),))
        outcome = Outcome(step.name, outcome.findings, outcome.data, round(time.monotonic() - started, 1))
        _keep(folder, outcome, {chapter.name for chapter in chapters})
        for finding in outcome.findings:
            say(f"{step.name}: {finding}")
    return [kept for step in known if (kept := load(folder, step.name))]


OF_A_CHAPTER = ("execute", "nbval", "gate", "repeats")
"""Steps that look at one chapter after the other; their data is kept by chapter."""


def released(course: Course) -> list[Chapter]:
    """The chapters that students get."""
    return [chapter for chapter in course.chapters() if chapter.release.exists()]


def slug(device: str) -> str:
    """A device's name as a file's: `NVIDIA H200` is `h200`."""
    return "-".join(device.removeprefix("NVIDIA ").lower().split())


def load(folder: Path, step: str) -> Outcome | None:
    """What was kept of a step; None when it has not been run."""
    path = folder / f"{step}.json"
    if not path.exists():
        return None
    kept = json.loads(path.read_text())
    return Outcome(kept["step"], tuple(kept["findings"]), kept["data"], kept["seconds"])


def _keep(folder: Path, outcome: Outcome, chapters: set[str]) -> None:
    """Writes an outcome; of a step that ran for some chapters only, what is known of the others stays."""
    earlier = load(folder, outcome.step)
    if earlier and chapters and outcome.step in OF_A_CHAPTER:
        data = {**earlier.data, **outcome.data}
        others = tuple(one for one in earlier.findings if not any(one.startswith(name) for name in chapters))
        outcome = Outcome(outcome.step, others + outcome.findings, data, outcome.seconds)
    path = folder / f"{outcome.step}.json"
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(asdict(outcome), indent=1, sort_keys=True) + "\n")
    temporary.replace(path)
