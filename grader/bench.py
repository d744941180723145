"""The benchmark: the same submissions through stock `nbgrader autograde` and through `grader autograde`, in one run.

Measures whole commands from outside, so that nothing of either is left out. Runs in a copy of the course; the real
gradebook is not touched.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from grader import gradebook, sample
from grader.course import Chapter, Course, CourseError

if TYPE_CHECKING:
    from rich.table import Table

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
SAMPLE_SECONDS = 0.05
"""Between two looks at the memory of a command's processes."""


@dataclass(frozen=True)
class Figure:
    """What one command used for the whole class."""

    tool: str
    wall_seconds: float
    cpu_seconds: float
    """User and system time of the command and all processes that it waited for."""
    peak_memory_mb: float
    """Largest sum over the command and its processes, shared pages counted once (PSS), MB = 1e6 bytes."""
    scores: dict[str, float]
    """Points by student, as the gradebook has them."""


@dataclass(frozen=True)
class Outcome:
    """The benchmark's figures, with what is needed to read them."""

    chapter: str
    submissions: int
    figures: tuple[Figure, ...]
    machine: str
    versions: dict[str, str]
    date: str

    @property
    def agreeing(self) -> int:
        """Submissions that every tool gave the same points."""
        first = self.figures[0].scores
        return sum(
            all(abs(figure.scores.get(student, -1) - points) < 1e-9 for figure in self.figures)
            for student, points in first.items()
        )


def compare(
    course: Course, chapter: Chapter, submissions: int, on_progress: Callable[[str], None] = lambda text: None
) -> Outcome:
    """What grading this many honest submissions costs with each tool.

    Args:
        course: where the chapter, built and released, and its answer bank are.
        chapter: the chapter.
        submissions: how many; beyond the bundled ones they are copies.
        on_progress: told what is running.

    Raises:
        CourseError: the chapter is not ready, or a command failed.
    """
    cores = len(os.sched_getaffinity(0))
    ours = [sys.executable, "-m", "grader", "autograde", chapter.name, "--no-pages", "--slots"]
    commands = {
        "nbgrader autograde": [sys.executable, "-m", "nbgrader", "autograde", chapter.name],
        "grader autograde, 1 slot": [*ours, "1"],
    }
    if cores > 1:
        commands[f"grader autograde, {cores} slots"] = [*ours, str(cores)]
    figures = []
    with tempfile.TemporaryDirectory(prefix="gpulab-bench-") as name:
        on_progress("warming the file cache")
        warm = _copy(course, chapter, Path(name) / "warm", 1)
        _measure([*ours, "1"], warm.root)
        for number, (tool, command) in enumerate(commands.items()):
            on_progress(tool)
            copied = _copy(course, chapter, Path(name) / str(number), submissions)
            wall, cpu, memory = _measure(command, copied.root)
            scores = gradebook.recorded(copied, Chapter(chapter.name, copied.root))
            figures.append(Figure(tool, wall, cpu, memory, dict(sorted(scores.items()))))
    return Outcome(chapter.name, submissions, tuple(figures), _machine(), _versions(), _today())


def table(outcome: Outcome) -> Table:
    """The figures a submission, for the terminal."""
    from rich.table import Table

    shown = Table(title=f"{outcome.submissions} submissions of {outcome.chapter}", title_justify="left")
    for heading in ("", "s a submission", "CPU s a submission", "peak memory, MB", "times as fast"):
        shown.add_column(heading, justify="right" if heading else "left", no_wrap=not heading)
    base = outcome.figures[0].wall_seconds
    for figure in outcome.figures:
        shown.add_row(
            figure.tool,
            f"{figure.wall_seconds / outcome.submissions:.2f}",
            f"{figure.cpu_seconds / outcome.submissions:.2f}",
            f"{figure.peak_memory_mb:.0f}",
            f"{base / figure.wall_seconds:.1f} ×",
        )
    packages = ", ".join(f"{name} {number}" for name, number in outcome.versions.items())
    shown.caption = (
        f"{outcome.machine}; {packages}; same points for {outcome.agreeing} of {outcome.submissions}. "
        "Memory is that of all processes together. nbgrader also runs the chapter's demonstrations, grader does not."
    )
    return shown


def write_json(outcome: Outcome, path: Path) -> None:
    """Writes everything that was measured.

    Raises:
        CourseError: the file cannot be written.
    """
    from grader.records import cannot_write

    try:
        path.write_text(json.dumps(asdict(outcome), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise cannot_write(path, error) from None


def _copy(course: Course, chapter: Chapter, folder: Path, submissions: int) -> Course:
    """A course of this chapter only, with so many submissions and a fresh gradebook."""
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
        name, turn = HONEST[number % len(HONEST)], number // len(HONEST)
        shutil.copytree(everybody / name, copied.submitted / (f"{name}-{turn + 1}" if turn else name))
    gradebook.prepare(copied, Chapter(chapter.name, folder))
    return copied


def _measure(command: Sequence[str], folder: Path) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak memory (MB) of a command and its processes."""
    packages = str(Path(__file__).resolve().parents[1])
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([packages, *filter(None, [os.environ.get("PYTHONPATH")])])}
    log = folder / "log.txt"
    started = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=variables, stdout=output, stderr=output)
    peak = 0.0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        peak = max(peak, sum(map(_own_share_mb, _tree(process.pid))))
        time.sleep(SAMPLE_SECONDS)
    wall = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        last = (log.read_text(errors="replace").strip().splitlines() or ["no output"])[-1]
        raise CourseError(" ".join(command[1:4]), f"ended with {process.returncode} ({last[:300]})", "Mend that first.")
    return wall, usage.ru_utime + usage.ru_stime, peak


def _tree(root: int) -> list[int]:
    """A process and all that descend from it."""
    found = [root]
    for process in found:
        with suppress(OSError):
            for task in Path(f"/proc/{process}/task").iterdir():
                with suppress(OSError, ValueError):
                    found += map(int, (task / "children").read_text().split())
    return found


def _own_share_mb(process: int) -> float:
    """Its memory in MB, pages that it shares with others divided among them."""
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def _machine() -> str:
    model = platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line for line in lines if line.startswith("model name")).split(":", 1)[1].strip()
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def _versions() -> dict[str, str]:
    packages = ("nbgrader", "torch", "ipykernel")
    return {"Python": platform.python_version()} | {name: version(name) for name in packages}


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
