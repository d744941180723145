"""The answer bank: for each exercise, answers that must pass, answers that must fail, and answers that attack.

A file `answers/<chapter>/<grade id>.py` in percent cells; each cell's body replaces the whole solution cell:

    # %% right: with a set per warp
    # %% wrong: pays per thread — says "a warp pays once"
    # %% wrong gpu: counts one direction — says "read and written"
    # %% hostile: returns an object equal to everything — earns 0
    # %% wrong endless: counts down from infinity — says "never end"

`gpu` marks what only a GPU row can tell; `endless` what has to be stopped: the gate waits less long for it. `earns`
gives points other than all (right) or none (wrong, hostile).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from grader.course import CourseError, nearest
from grader.notebooks import ChapterKey

HEADER = re.compile(
    r"^# %% (?P<kind>right|wrong|hostile)(?P<gpu> gpu)?(?P<endless> endless)?: (?P<title>.+?)"
    r"(?: — says \"(?P<says>[^\"]+)\")?(?: — earns (?P<earns>\d+(?:\.\d+)?))?$"
)


class Kind(StrEnum):
    """What must become of an answer."""

    RIGHT = "right"
    WRONG = "wrong"
    HOSTILE = "hostile"


@dataclass(frozen=True)
class Answer:
    """One answer to one exercise, with the verdict that it must get."""

    exercise: str
    kind: Kind
    title: str
    source: str
    says: str = ""
    """Words that the message to a wrong answer must contain, whatever their case."""
    earns: float | None = None
    """Points that the answer must earn; None: all for a right one, none for the others."""
    gpu: bool = False
    """Whether only a GPU row can tell it from a right one."""
    endless: bool = False
    """Whether it has to be stopped by a limit of time."""
    where: str = ""
    """File and line, for messages."""

    def __str__(self) -> str:
        return f"{self.exercise}, {self.kind.value}: {self.title}"


def load(folder: Path, key: ChapterKey) -> list[Answer]:
    """All answers in a folder, in the order of the chapter's exercises.

    Raises:
        CourseError: there is no such folder, a file names no exercise, or a header is malformed.
    """
    if not folder.is_dir():
        raise CourseError(
            folder, "no such folder of answers", "Write one file for each exercise there, or name another."
        )
    answers: list[Answer] = []
    for path in sorted(folder.glob("*.py"), key=lambda path: _place(path.stem, key)):
        if path.stem not in key.exercises:
            raise CourseError(path, f"{key.name} has no exercise {path.stem}", nearest(path.stem, key.exercises))
        answers += parse(path.read_text(), path.stem, str(path))
    return answers


def parse(text: str, exercise: str, where: str) -> list[Answer]:
    """The answers in the text of one file.

    Raises:
        CourseError: a header is malformed, a wrong answer lacks its words, or nothing is there.
    """
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("# %%")]
    if not starts:
        raise CourseError(where, "holds no answers", 'Begin each with a line like "# %% right: title".')
    answers = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        place = f"{where}:{start + 1}"
        match = HEADER.match(lines[start].rstrip())
        if match is None:
            remedy = 'Write "# %% right|wrong|hostile[ gpu][ endless]: title[ — says "words"][ — earns points]".'
            raise CourseError(place, f"not a header: {lines[start]!r}", remedy)
        kind = Kind(match["kind"])
        if kind is Kind.WRONG and not match["says"]:
            raise CourseError(place, "a wrong answer must say which words its message holds", 'Add: — says "words".')
        earns = float(match["earns"]) if match["earns"] else None
        source = "\n".join(lines[start + 1 : end]).strip("\n")
        gpu, endless = bool(match["gpu"]), bool(match["endless"])
        answers.append(Answer(exercise, kind, match["title"], source, match["says"] or "", earns, gpu, endless, place))
    return answers


def _place(exercise: str, key: ChapterKey) -> int:
    return key.exercises.index(exercise) if exercise in key.exercises else -1
