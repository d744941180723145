"""The answer bank: for each exercise, answers that must pass, answers that must fail, and answers that attack.

A file `answers/<chapter>/<grade id>.py` in percent cells; each cell's body replaces the whole solution cell:

    # %% right: with a set per warp
    # %% wrong: pays per thread — says "a warp pays once"
    # %% wrong gpu: counts one direction — says "read and written"
    # %% hostile: returns an object equal to everything — earns 0
    # %% wrong endless: counts down from infinity — says "never end"
    # %% wrong: bits for bytes — says "divide by 8" — from "reference": " / 8" → ""

`gpu` marks what only a GPU row can tell, `cpu` what only the other row can; `endless` what has to be stopped: the gate
waits less long for it. `earns` gives points other than all (right) or none (wrong, hostile). `from` names another
answer of the same file, which this one changes as `answer_edits` says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from grader.authoring.answer_edits import BadEdit, apply, edits_of
from grader.model.course import CourseError, nearest
from grader.model.findings import Finding, Findings
from grader.model.notebooks import ChapterKey

HEADER = re.compile(
    r"^# %% (?P<kind>right|wrong|hostile)(?P<row> gpu| cpu)?(?P<endless> endless)?: (?P<title>.+?)"
    r"(?: — says \"(?P<says>[^\"]+)\")?(?: — earns (?P<earns>\d+(?:\.\d+)?))?"
    r"(?: — from \"(?P<base>[^\"]+)\"(?:: (?P<pairs>.+))?)?$"
)
FORM = (
    'Write "# %% right|wrong|hostile[ gpu| cpu][ endless]: title[ — says "words"][ — earns points]'
    '[ — from "title"[: "old" → "new"]]".'
)


class AnswerKind(StrEnum):
    """The verdict that an answer must get."""

    RIGHT = "right"
    WRONG = "wrong"
    HOSTILE = "hostile"


@dataclass(frozen=True)
class Answer:
    """One answer to one exercise, with the verdict that it must get."""

    exercise: str
    kind: AnswerKind
    title: str
    source: str
    says: str = ""
    """Words that the message to a wrong answer must contain, whatever their case."""
    earns: float | None = None
    """Points that the answer must earn; None: all for a right one, none for the others."""
    gpu: bool = False
    """Whether only a GPU row can tell it from a right one."""
    cpu: bool = False
    """Whether only the row that needs no GPU can: one on a simulated GPU tells a mean from a median."""
    endless: bool = False
    """Whether it has to be stopped by a limit of time."""
    where: str = ""
    """File and line, for messages."""

    def __str__(self) -> str:
        return f"{self.exercise}, {self.kind.value}: {self.title}"


@dataclass(frozen=True)
class Written:
    """An answer as it stands in its file."""

    answer: Answer
    """Its source is still empty."""
    body: tuple[str, ...]
    base: str = ""
    """Title of the answer that this one changes; empty when the body is the whole text."""
    pairs: str = ""
    """The changes in the header."""


def load(folder: Path, key: ChapterKey) -> list[Answer]:
    """All answers in a folder, in the order of the chapter's exercises.

    Raises:
        CourseError: there is no such folder.
        Findings: a file names no exercise, or something in it is wrong.
    """
    answers, found = read_bank(folder, key.name, key.exercises)
    if found:
        raise Findings(tuple(found))
    return answers


def read_bank(folder: Path, chapter: str, exercises: Sequence[str]) -> tuple[list[Answer], list[Finding]]:
    """All answers in a folder that can be read, in the order of the exercises, and what is wrong with the others.

    Raises:
        CourseError: there is no such folder.
    """
    if not folder.is_dir():
        raise CourseError(
            folder, "no such folder of answers", "Write one file for each exercise there, or name another."
        )
    answers: list[Answer] = []
    found: list[Finding] = []
    order = {exercise: place for place, exercise in enumerate(exercises)}
    for path in sorted(folder.glob("*.py"), key=lambda path: (order.get(path.stem, -1), path.stem)):
        if path.stem not in order:
            found.append(Finding(str(path), f"{chapter} has no exercise {path.stem}", nearest(path.stem, exercises)))
            continue
        of_file, faults = read_answers(path.read_text(encoding="utf-8"), path.stem, str(path))
        answers += of_file
        found += faults
    return answers, found


def missing(folder: Path, exercises: Sequence[str]) -> list[Finding]:
    """Exercises without two right answers or without a wrong one: nothing would show that their tests work.

    Counts answers with faults too, which are findings of their own.
    """
    found = []
    for exercise in exercises:
        path = folder / f"{exercise}.py"
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        rights, wrongs = (
            len(re.findall(rf"^# %% {kind}\b", text, re.MULTILINE)) for kind in (AnswerKind.RIGHT, AnswerKind.WRONG)
        )
        if rights < 2:
            what = f"needs two right answers, written differently, and has {('none', 'one')[rights]}"
            found.append(Finding(str(path), what, 'Add "# %% right: title".'))
        if not wrongs:
            found.append(Finding(str(path), "needs a wrong answer", 'Add "# %% wrong: title — says "its message"".'))
    return found


def parse(text: str, exercise: str, where: str) -> list[Answer]:
    """The answers in the text of one file.

    Raises:
        Findings: something in it is wrong.
    """
    answers, found = read_answers(text, exercise, where)
    if found:
        raise Findings(tuple(found))
    return answers


def read_answers(text: str, exercise: str, where: str) -> tuple[list[Answer], list[Finding]]:
    """The answers in the text of one file that can be read, expanded, and what is wrong with the others."""
    lines = text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("# %%")]
    if not starts:
        return [], [Finding(where, "holds no answers", 'Begin each with a line like "# %% right: title".')]
    written: list[Written] = []
    found: list[Finding] = []
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        one = _written(lines[start].rstrip(), lines[start + 1 : end], exercise, f"{where}:{start + 1}")
        if isinstance(one, Finding):
            found.append(one)
        else:
            written.append(one)
    answers = []
    for one in written:
        try:
            answers.append(replace(one.answer, source=_expanded(one, written)))
        except Findings as error:
            found += [finding for finding in error.found if finding not in found]
    return answers, sorted(found, key=lambda finding: int(finding.where.rpartition(":")[2]))


def _written(header: str, body: list[str], exercise: str, place: str) -> Written | Finding:
    match = HEADER.match(header)
    if match is None:
        return Finding(place, f"not a header: {header!r}", FORM)
    kind = AnswerKind(match["kind"])
    if kind is AnswerKind.WRONG and not match["says"]:
        return Finding(place, "a wrong answer must say which words its message holds", 'Add: — says "words".')
    earns = float(match["earns"]) if match["earns"] else None
    gpu, cpu = (match["row"] == f" {row}" for row in ("gpu", "cpu"))
    answer = Answer(
        exercise, kind, match["title"], "", match["says"] or "", earns, gpu, cpu, bool(match["endless"]), place
    )
    return Written(answer, tuple(body), match["base"] or "", match["pairs"] or "")


def _expanded(one: Written, others: Sequence[Written], above: tuple[Written, ...] = ()) -> str:
    """The whole text of an answer.

    Raises:
        Findings: it, or an answer that it is made from, changes one that is not there, or in a way that does not fit.
    """
    if not one.base:
        return "\n".join(one.body).strip("\n")
    try:
        base = _base(one, others, above)
    except BadEdit as error:
        raise Findings((_fault(one, error),)) from None
    text = _expanded(base, others, (*above, one))
    try:
        return apply(edits_of(one.pairs, one.body), text)
    except BadEdit as error:
        raise Findings((_fault(one, error),)) from None


def _base(one: Written, others: Sequence[Written], above: tuple[Written, ...]) -> Written:
    titles = [other.answer.title for other in others]
    if one.base not in titles:
        raise BadEdit(f'changes "{one.base}", and no answer in this file has this title', nearest(one.base, titles))
    if titles.count(one.base) > 1:
        raise BadEdit(f'changes "{one.base}", and {titles.count(one.base)} answers have this title', "Rename one.")
    base = others[titles.index(one.base)]
    if base is one or base in above:
        raise BadEdit(f'changes "{one.base}", which is made from it', "Write one of them out.")
    return base


def _fault(one: Written, error: BadEdit) -> Finding:
    file, _, line = one.answer.where.rpartition(":")
    return Finding(f"{file}:{int(line) + error.line}", f"{one.answer}: {error.what}", error.remedy)
