"""A course of one small chapter in a folder of its own, for tests: source, and on request built and released.

`make_course` writes the source alone, or with pieces replaced; `built_course` gives a copy of one that was built and
released once for the whole test run.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from grader.authoring.lint import checked_source
from grader.model.course import Course
from grader.model.findings import Finding, Findings

NAME = "01_small"
LIGHT = {"GPULAB_PRELOAD": "numpy gpulab gpulab.check"}
"""Environment of a grader that has only this small chapter to grade: it starts in a second instead of seven."""
ROOT = Path(__file__).parents[1]

FRONT_MATTER = """\
---
kernelspec:
  name: python3
  display_name: Python 3
  language: python
---

"""
"""How the source of a chapter begins."""
SOURCE = (
    FRONT_MATTER
    + '''\
# Small numbers

Two exercises. **Before you read on:** how much is twice 21?

```{code-cell} ipython3
:tags: [nbval-check-output]

scale = 2
print(f"scale {scale}, ratio {2 / 3}")
```

### Exercise: `double`

*About 1 line.*

```{code-cell} ipython3
:exercise: double

def double(number):
    """Twice the number."""
    ### BEGIN SOLUTION
    the_whole_secret = number + number
    return the_whole_secret
    ### END SOLUTION
```

<details><summary>Hint</summary>
Add it to itself.
</details>

```{code-cell} ipython3
:test: double
:points: 2

from gpulab import check, seed

check.equal(double(21), 42, "double(21)")
### BEGIN HIDDEN TESTS
import random

draw = random.Random(seed())
for _ in range(20):
    number = draw.randint(1000, 10**6)
    mistakes = {number * number: "that is the square, not the double"}
    check.equal(double(number), 2 * number, f"double({number})", mistakes=mistakes)
### END HIDDEN TESTS
```

```{code-cell} ipython3
:gpu_test: double
:points: 1

from gpulab import check, needs_gpu

needs_gpu()
check.equal(double(4), 8, "double(4)")
```

### Exercise: `KINDS`

```{code-cell} ipython3
:exercise: KINDS

KINDS = {"one": "", "two": ""}  # "odd" or "even"
### BEGIN SOLUTION
KINDS = {"one": "odd", "two": "even"}  # the author's own words
### END SOLUTION
```

```{code-cell} ipython3
:test: KINDS
:points: 3

from gpulab import check

check.equal(set(KINDS), {"one", "two"}, "the names in KINDS")
points = 0.0
### BEGIN HIDDEN TESTS
points = check.share(KINDS, {"one": "odd", "two": "even"}, 3.0, "KINDS")
### END HIDDEN TESTS
points
```

```{code-cell} ipython3
:tags: [demo]

for number in range(3):
    print(number, double(number))
```
'''
)


def make_course(folder: Path, changes: Mapping[str, str] | None = None, source: str = SOURCE) -> Course:
    """A course in `folder` with the small chapter's source.

    Args:
        folder: made if need be.
        changes: pieces of the source and what stands in their place; each must be there.
        source: another source.
    """
    for old, new in (changes or {}).items():
        assert old in source, f"not in the source: {old!r}"
        source = source.replace(old, new)
    (folder / "solutions").mkdir(parents=True, exist_ok=True)
    (folder / "solutions" / f"{NAME}.md").write_text(source, encoding="utf-8")
    shutil.copy(ROOT / "nbgrader_config.py", folder / "nbgrader_config.py")
    return Course(folder.resolve())


def built_course(folder: Path) -> Course:
    """A course in `folder` whose chapter is built and released."""
    shutil.copytree(_template(), folder, dirs_exist_ok=True)
    return Course(folder.resolve())


@functools.cache
def _template() -> Path:
    from grader.authoring.building import build
    from grader.authoring.releasing import release

    folder = Path(tempfile.mkdtemp(prefix="gpulab-tests-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    course = make_course(folder / "course")
    chapter = course.chapter(NAME)
    build(chapter)
    release(chapter)
    return course.root


def findings_of(source: Path) -> list[Finding]:
    """What `grader build` says is wrong with the source of a chapter."""
    try:
        checked_source(source)
    except Findings as error:
        return list(error.found)
    return []
