"""The order of the steps, what becomes of their outcomes, and which of them are to be run."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from gpulab.doctor import hardware
from grader.dev.prove.rows import NotHere, Pace, said
from grader.model.course import Chapter, Course, CourseError, nearest

Say = Callable[[str], None]


@dataclass(frozen=True)
class StepResult:
    """What came of one step."""

    step: str
    findings: tuple[str, ...] = ()
    """What is not as it must be, one sentence each."""
    data: dict[str, Any] = field(default_factory=dict)
    """For the report."""
    seconds: float = 0.0
    left: tuple[str, ...] = ()
    """Rows that the budget of this call left for the next one."""
    absent: tuple[str, ...] = ()
    """What it could not show because this machine lacks something, one sentence each."""

    @property
    def good(self) -> bool:
        """Whether the step was done to its end, as far as this machine goes, and nothing was found."""
        return not self.findings and not self.left

    @property
    def summary(self) -> str:
        """The result, in a few words."""
        parts = [_several(len(self.findings), "finding")] if self.findings else []
        parts += [f"{_several(len(self.left), 'row')} left"] if self.left else []
        parts += [f"{len(self.absent)} not here"] if self.absent else []
        return ", ".join(parts) or "as it must be"


@dataclass(frozen=True)
class ProofStep:
    """One chunk of the proof."""

    name: str
    what: str
    """Shown while it runs."""
    run: Callable[[Course, list[Chapter], Say, Pace], StepResult]
    shows: str = ""
    """What is known of the GPU once it is as it must be: completes "still to be shown: …"."""


def prove(
    course: Course,
    steps: Iterable[ProofStep],
    only: tuple[str, ...] = (),
    say: Say = lambda text: None,
    pace: Pace | None = None,
    on_step: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> list[StepResult]:
    """Runs the steps and keeps the result of each; gives all that is known of this GPU, in order.

    An exception of a step is a finding of that step, and the next one is run. An interrupt ends the steps, and what is
    known by then is given all the same.

    Args:
        course: the course.
        steps: all there are.
        only: names of steps, or of chapters (`04`): nothing else is run; all when left out.
        say: told what is being done.
        pace: how much of it is done in this call; all when left out.
        on_step: called before each step, with the number of finished steps, the number of all, and what it does.

    Raises:
        CourseError: there is no GPU, or `only` names nothing that there is.
    """
    if hardware.device_name() == "cpu":
        hidden = " (CUDA_VISIBLE_DEVICES hides what there may be)" if hardware.hidden() else ""
        remedy = 'Run it on a machine with one, driver 525 or later; "grader doctor" says what is missing here.'
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
    folder, pace = folder_of(course), pace or Pace()
    folder.mkdir(parents=True, exist_ok=True)
    for done, step in enumerate(chosen):
        on_step(done, len(chosen), step.what)
        earlier = load(folder, step.name)
        if not pace.fits(earlier.seconds if earlier and step.name not in BY_ROWS else 0.0):
            say(f"{step.name}: left for the next call, its time would not be enough")
            if earlier is None:
                _keep(folder, StepResult(step.name, left=(step.name,)), set())
            continue
        say(step.what)
        started = time.monotonic()
        interrupted = False
        try:
            outcome = step.run(course, chapters or released(course), say, pace)
        except KeyboardInterrupt:
            outcome, interrupted = StepResult(step.name, ("interrupted before its end",)), True
            if step.name in BY_ROWS:  # with no time left it runs nothing, and tells what is kept
                known_by_now = step.run(course, chapters or released(course), say, replace(pace, until=0.0))
                outcome = replace(known_by_now, findings=known_by_now.findings + outcome.findings)
        except NotHere as lacking:
            outcome = StepResult(step.name, absent=(str(lacking),))
        except (Exception, SystemExit) as error:
            outcome = StepResult(step.name, (said(error),))
        seconds = round(time.monotonic() - started, 1)
        outcome = replace(outcome, seconds=seconds)
        _keep(folder, outcome, {chapter.name for chapter in chapters})
        for finding in outcome.findings:
            say(f"{step.name}: {finding}")
        for what in outcome.absent:
            say(f"{step.name}: not here: {what}")
        if outcome.left:
            say(f"{step.name}: {len(outcome.left)} rows left for the next call, the first of them {outcome.left[0]}")
        if interrupted:
            break
    return [kept for step in known if (kept := load(folder, step.name))]


def folder_of(course: Course) -> Path:
    """Where what is known of this machine's GPU is kept."""
    return course.work / "prove" / slug(hardware.device_name())


OF_A_CHAPTER = ("readings", "execute", "nbval", "gate", "repeats")
"""Steps that look at one chapter after the other; their data is kept by chapter."""
BY_ROWS = ("readings", "execute", "nbval", "gate", "repeats", "class")
"""Steps that stop by themselves when the time is up."""


def released(course: Course) -> list[Chapter]:
    """The chapters that students get."""
    return [chapter for chapter in course.chapters() if chapter.release.exists()]


def slug(device: str) -> str:
    """A device's name as a file's: `NVIDIA H200` is `h200`."""
    return "-".join(device.removeprefix("NVIDIA ").lower().split())


def load(folder: Path, step: str) -> StepResult | None:
    """What was kept of a step; None when it has not been run."""
    path = folder / f"{step}.json"
    if not path.exists():
        return None
    kept = json.loads(path.read_text())
    left, absent = (tuple(kept.get(name, ())) for name in ("left", "absent"))
    return StepResult(kept["step"], tuple(kept["findings"]), kept["data"], kept["seconds"], left, absent)


def _several(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _keep(folder: Path, outcome: StepResult, chapters: set[str]) -> None:
    """Writes an outcome; of a step that ran for some chapters only, what is known of the others stays."""
    earlier = load(folder, outcome.step)
    if earlier and chapters and outcome.step in OF_A_CHAPTER:
        data = {**earlier.data, **outcome.data}

        def and_of_others(name: str) -> tuple[str, ...]:
            before = (one for one in getattr(earlier, name) if not any(one.startswith(chapter) for chapter in chapters))
            return (*before, *getattr(outcome, name))

        findings, left, absent = map(and_of_others, ("findings", "left", "absent"))
        outcome = StepResult(outcome.step, findings, data, outcome.seconds, left, absent)
    path = folder / f"{outcome.step}.json"
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(asdict(outcome), indent=1, sort_keys=True) + "\n")
    temporary.replace(path)
