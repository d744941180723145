"""What takes long shows a bar with an estimate to a person, and nothing to a file."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from grader.cli import console


@pytest.fixture
def written(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What goes to standard error: a terminal or a file."""
    text = io.StringIO()
    shown = Console(file=text, force_terminal=request.param, width=100, highlight=False, emoji=False)
    monkeypatch.setattr(console, "_console", lambda stderr: shown)
    return text


def work() -> None:
    with console.progress_bar() as progress:
        task = progress.add_task("Grading [b]x[/b]", total=4)
        for _ in range(3):
            time.sleep(0.05)
            progress.advance(task)
            progress.refresh()
        progress.console.print("a line above")
    with console.waiting("Packing"):
        time.sleep(0.15)


@pytest.mark.parametrize("written", [True], indirect=True)
def test_a_person_sees_a_bar_and_an_estimate(written: io.StringIO) -> None:
    work()
    text = written.getvalue()
    assert "Grading [b]x[/b]" in text
    assert "3/4" in text
    assert "left 0:00:0" in text.replace("\x1b[36m", "").replace("\x1b[0m", "")
    assert "Packing" in text


@pytest.mark.parametrize("written", [False], indirect=True)
def test_a_file_gets_nothing_but_the_lines(written: io.StringIO) -> None:
    work()
    assert written.getvalue() == "a line above\n"
