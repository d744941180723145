"""What the commands share: where they print, one-line complaints, and progress for what takes longer than a glance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from grader.model.course import Chapter, Course
from grader.model.harmless_text import printable_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


@cache
def _console(stderr: bool) -> Console:
    from rich.console import Console

    # Without emoji=False rich reads the end of "matmul.py:100:" as one.
    return Console(stderr=stderr, highlight=False, emoji=False)


def out() -> Console:
    """Standard output: results."""
    return _console(False)


def say(text: str, style: str = "") -> None:
    """Prints text as it is: one line stays one line, and brackets in a student's name are no markup."""
    out().print(printable_text(text), style=style, markup=False, soft_wrap=True)


def complain(text: str, style: str = "bold red") -> None:
    """Prints a complaint to standard error, as it is."""
    _console(True).print(printable_text(text), style=style, markup=False, soft_wrap=True)


@contextmanager
def progress_bar(keep: bool = False) -> Iterator[Progress]:
    """A progress bar on standard error with an estimate of what is left; nothing where there is no terminal.

    Lines can be printed above it in either case. Gone at the end unless `keep`.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    console = _console(True)
    with Progress(*columns, console=console, transient=not keep, disable=not console.is_terminal) as progress:
        yield progress


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """The same for work whose length is not known: what is done, and for how long already."""
    with progress_bar() as progress:
        progress.add_task(text, total=None)
        yield


def chapters_of(course: Course, names: tuple[str, ...]) -> list[Chapter]:
    """The chapters named, or all of the course when none is.

    Raises:
        CourseError: one of them does not exist.
    """
    return [course.chapter(name) for name in names] or course.chapters()
