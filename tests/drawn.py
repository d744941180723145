"""Which of the long test files, and which chapters, a run leaves out."""

from __future__ import annotations

import functools
import math
import os
import random
import re
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
TESTS = Path(__file__).parent
SHARE = 1 / 7
"""Of the long files, where `DRAWN_BY` is set; `make tests` sets it, `make thorough` runs all of them."""
LONG = re.compile(r"^pytestmark = (\[[^]]*)?pytest\.mark\.long\b", re.MULTILINE)


@functools.cache
def left_out(seed: str) -> frozenset[Path]:
    """The files marked `long` that a run with this seed does not run; none without a seed."""
    long = sorted(path for path in TESTS.rglob("test_*.py") if LONG.search(path.read_text()))
    return frozenset(random.Random(seed).sample(long, len(long) - math.ceil(SHARE * len(long))) if seed else ())


def a_share(things: list[T], share: float) -> list[T]:
    """So large a part of them, at least one, the same in every process of a run; all where `DRAWN_BY` is not set."""
    seed = os.environ.get("DRAWN_BY")
    most = math.ceil(share * len(things))
    return [things[place] for place in sorted(random.Random(seed).sample(range(len(things)), most))] if seed else things


def some(paths: list[Path], most: int) -> list[Path]:
    """So many of them, the same in every process of a run; all where `DRAWN_BY` is not set."""
    seed = os.environ.get("DRAWN_BY")
    return sorted(random.Random(seed).sample(paths, most)) if seed else paths
