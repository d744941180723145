"""Which tests come first, and which of the long ones a run leaves out."""

from __future__ import annotations

import functools
import math
import os
import random
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SHARE = 1 / 3
"""Of the long files, where `DRAWN_BY` is set; `make tests` sets it, `make thorough` runs all of them."""


@functools.cache
def left_out(seed: str) -> frozenset[Path]:
    """The files marked `long` that a run with this seed does not run; none without a seed."""
    long = sorted(path for path in TESTS.rglob("test_*.py") if "\npytestmark = pytest.mark.long\n" in path.read_text())
    return frozenset(random.Random(seed).sample(long, len(long) - math.ceil(SHARE * len(long))) if seed else ())


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
