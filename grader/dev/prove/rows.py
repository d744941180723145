"""The rows of a long step: run side by side, kept one by one, skipped once they are settled, stopped by a budget.

A row is one grading, or one chapter. A proof has to fit into several short calls on a machine that is lent for minutes;
so nothing that a row has found is lost when the call ends, whatever ends it.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from grader.model.course import CourseError

TRACE_LINES = 4
"""Last lines of a traceback that stay in a finding."""
MARGIN = 1.25
"""A row may take so many times as long as the longest one so far."""


class NotHere(CourseError):
    """This machine lacks what a step needs, such as a tool: listed in the report, and no finding."""


@dataclass(frozen=True)
class RowResult:
    """What came of one row."""

    findings: tuple[str, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    absent: str = ""
    """What this machine lacks for it, so that it shows nothing here; empty when it lacks nothing."""


@dataclass(frozen=True)
class GpuRow:
    """One row, to be run."""

    name: str
    """Unique in its step; begins with the chapter's."""
    digest: Callable[[], str]
    """Hash of all that the row depends on: one that is settled is run again when it differs."""
    run: Callable[[], RowResult]


@dataclass(frozen=True)
class Pace:
    """How much of the proof one call does."""

    repeats: int = 5
    """Times that every GPU row is graded with every right answer, each with inputs of its own."""
    gpu_rows_only: bool = False
    """Whether the gate leaves out what a machine without a GPU can tell as well."""
    until: float | None = None
    """On `time.monotonic()`: no row is begun that would not be done by then. None: no limit."""
    slots: int = 4
    """Rows that run at the same time; a timed test still has the GPU to itself."""

    def fits(self, seconds: float) -> bool:
        """Whether something that takes so long would be done in time."""
        return self.until is None or time.monotonic() + MARGIN * seconds <= self.until


class KeptRows:
    """What is known of the rows of one step, in one file. Threads may share it."""

    def __init__(self, folder: Path, step: str) -> None:
        self._path = folder / f"{step}.rows.json"
        self._lock = threading.Lock()
        self._rows: dict[str, dict[str, Any]] = {}
        if self._path.exists():
            self._rows = json.loads(self._path.read_text())

    def get(self, row: GpuRow) -> RowResult | None:
        """What was found when the row was run last, with everything as it is now; None when it was not."""
        kept = self._rows.get(row.name)
        if kept is None or kept["digest"] != row.digest():
            return None
        return RowResult(tuple(kept["findings"]), kept["data"], kept["seconds"], kept.get("absent", ""))

    def put(self, row: GpuRow, found: RowResult) -> None:
        """Keeps what was found, at once."""
        with self._lock:
            self._rows[row.name] = {"digest": row.digest(), **asdict(found)}
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self._path.with_suffix(".new")
            temporary.write_text(json.dumps(self._rows, indent=1, sort_keys=True) + "\n")
            temporary.replace(self._path)

    @property
    def longest_seconds(self) -> float:
        """Of all rows so far."""
        return max((row["seconds"] for row in self._rows.values()), default=0.0)


def settle(
    rows: Iterable[GpuRow], kept: KeptRows, pace: Pace, slots: int = 1, say: Callable[[str], None] = lambda text: None
) -> tuple[dict[str, RowResult], tuple[str, ...]]:
    """Runs the rows that are not settled, and gives what is known of each, and the names of those that are left.

    A row is settled when it was run, lacked nothing, found nothing wrong, and nothing that it depends on has changed.
    Rows that were never run come before the others. A row that raises anything has found just that.

    Args:
        rows: all rows of the step.
        kept: what is known of them; grows with every row.
        pace: when to stop.
        slots: rows that run at the same time.
        say: called with the name of each row when it begins.
    """
    rows = list(rows)
    known = {row.name: found for row in rows if (found := kept.get(row)) is not None}
    todo = [row for row in rows if row.name not in known]
    todo += [row for row in rows if row.name in known and (known[row.name].findings or known[row.name].absent)]
    if slots == 1:  # in this thread: executing a notebook leaves its event loop to the thread that it ran in
        while todo and pace.fits(kept.longest_seconds):
            row = todo.pop(0)
            say(row.name)
            known[row.name] = attempt(row)
            kept.put(row, known[row.name])
    else:
        _side_by_side(todo, known, kept, pace, slots, say)
    return {row.name: known[row.name] for row in rows if row.name in known}, tuple(row.name for row in todo)


def _side_by_side(
    todo: list[GpuRow], known: dict[str, RowResult], kept: KeptRows, pace: Pace, slots: int, say: Callable[[str], None]
) -> None:
    """Moves rows from `todo` to `known`, several at a time."""
    pool, running = ThreadPoolExecutor(max_workers=slots), dict[Future[RowResult], GpuRow]()
    try:
        while todo or running:
            while todo and len(running) < slots and pace.fits(kept.longest_seconds):
                row = todo.pop(0)
                say(row.name)
                running[pool.submit(attempt, row)] = row
            if not running:
                break
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                row = running.pop(done)
                known[row.name] = done.result()
                kept.put(row, known[row.name])
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after an interrupt nobody waits for the rows that still run


def attempt(row: GpuRow) -> RowResult:
    """The result of the row, with the seconds that it took; an exception is a finding."""
    started = time.monotonic()
    try:
        found = row.run()
    except Exception as error:
        found = RowResult((said(error),))
    return replace(found, seconds=round(time.monotonic() - started, 2))


def said(error: BaseException) -> str:
    """An exception as a finding: a `CourseError` says all itself, anything else comes with the end of its traceback."""
    if isinstance(error, CourseError):
        return str(error)
    lines = [line.strip() for part in traceback.format_exception(error) for line in part.splitlines() if line.strip()]
    return " | ".join(lines[-TRACE_LINES:])


def hashed(*parts: Path | str | bytes) -> str:
    """Hash over files, by their bytes, and texts; a file that is not there counts as empty."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            part = part.read_bytes() if part.is_file() else b""
        digest.update(hashlib.sha256(part.encode() if isinstance(part, str) else part).digest())
    return digest.hexdigest()
