"""Which tests come first, which of the long ones a run leaves out, and what the garbage collector looks at."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from drawn import left_out


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Imports without garbage collection, and leaves what was imported out of every later one.

    The test files and the packages that they import stay until the end of the run. Searching them for garbage takes 40%
    of the processor's time for the collection of the tests, and a fifth of that for the tests themselves.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        _let_hypothesis_register()
        gc.freeze()
        gc.enable()


def _let_hypothesis_register() -> None:
    """Runs a property now: Hypothesis asks the collector who refers to its random numbers, and warns if nobody does."""
    if "hypothesis" in sys.modules:
        from hypothesis import given, strategies

        given(strategies.none())(lambda nothing: None)()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves out what is not drawn; a file that is named is run."""
    return True if collection_path in left_out(os.environ.get("DRAWN_BY", "")) else None


@pytest.hookimpl(tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    gc.unfreeze()  # Hypothesis is imported for its own summary at the latest, and asks as above
    seed = os.environ.get("DRAWN_BY", "")
    if names := sorted(path.stem for path in left_out(seed)):
        terminalreporter.write_line(f"Long files not drawn by DRAWN_BY={seed}: {', '.join(names)}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with a slow test first: side by side, nobody then waits for one that was begun last."""
    slow = {item.path for item in items if item.get_closest_marker("slow") or item.get_closest_marker("long")}
    items.sort(key=lambda item: item.path not in slow)
