"""A small chapter with one exercise, and two answers to it."""

from __future__ import annotations

from pathlib import Path

from courses import FRONT_MATTER

from grader.authoring.answers import Answer, AnswerKind
from grader.authoring.myst import ChapterSource, read_source

CHAPTER = (
    FRONT_MATTER
    + '''\
# A chapter

```{code-cell} ipython3
FACTOR = 2
```

```{code-cell} ipython3
:exercise: clipped

def clipped(x, top):
    """Twice x, at most top."""
    ### BEGIN SOLUTION
    return min(FACTOR * x, top)
    ### END SOLUTION
```

```{code-cell} ipython3
:test: clipped
:points: 2

import random

from gpulab import check, seed

check.equal(clipped(3, 100), 6, "clipped(3, 100)")
### BEGIN HIDDEN TESTS
draw = random.Random(seed())
for x in HIDDEN:
    check.equal(clipped(x, 50), min(2 * x, 50), f"clipped({x}, 50)")
### END HIDDEN TESTS
```
'''
)
RIGHT = Answer("clipped", AnswerKind.RIGHT, "plain", "def clipped(x, top):\n    return top if 2 * x > top else 2 * x")
NO_TOP = Answer("clipped", AnswerKind.WRONG, "no top", "def clipped(x, top):\n    return 2 * x", says="you returned")


def chapter(folder: Path, hidden: str) -> ChapterSource:
    """The chapter with these hidden inputs."""
    path = folder / "01_clipped.md"
    path.write_text(CHAPTER.replace("HIDDEN:", f"{hidden}:"), encoding="utf-8")
    return read_source(path)


def drawing(folder: Path, hidden: str) -> ChapterSource:
    """The chapter with these hidden inputs, whose visible part reads the seed, too."""
    chapter(folder, hidden)
    path = folder / "01_clipped.md"
    path.write_text(path.read_text().replace("check.equal(clipped(3,", "seed() and check.equal(clipped(3,"))
    return read_source(path)
