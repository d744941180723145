"""Which tests come first, and which of the long ones a run leaves out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from drawn import left_out


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves out what is not drawn; a file that is named is run."""
    return True if collection_path in left_out(os.environ.get("DRAWN_BY", "")) else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    seed = os.environ.get("DRAWN_BY", "")
    if names := sorted(path.stem for path in left_out(seed)):
        terminalreporter.write_line(f"Long files not drawn by DRAWN_BY={seed}: {', '.join(names)}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with a slow test first: side by side, nobody then waits for one that was begun last."""
    slow = {item.path for item in items if item.get_closest_marker("slow") or item.get_closest_marker("long")}
    items.sort(key=lambda item: item.path not in slow)
