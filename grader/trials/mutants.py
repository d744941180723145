"""Mutation testing of the tests: of each right answer, mutants that earn full points although they are wrong.

A mutant that computes the same is equivalent; `answers/equivalent_mutants.toml` lists those that somebody has looked
at, each with its reason. Every other survivor is a hole in the hidden inputs.
"""

from __future__ import annotations

import ast
import math
import random
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grader.authoring.answers import Answer, AnswerKind
from grader.authoring.myst import ChapterSource
from grader.model.course import CourseError
from grader.trials.mutate import Mutant, mutants_of, program
from grader.trials.runner import Runner, Trial

EQUIVALENTS = "equivalent_mutants.toml"
SEEDS = (1, 2, 3)
"""A mutant that one of them does not tell from a right answer survives: every seed must."""


@dataclass(frozen=True)
class Survivor:
    """A mutant that earned full points."""

    answer: str
    """Title of the right answer that it was made from."""
    mutant: Mutant
    accepted: int
    """Of `SEEDS`."""

    def __str__(self) -> str:
        luck = "" if self.accepted == len(SEEDS) else f" (in {self.accepted} of {len(SEEDS)} seeds)"
        return f"{self.mutant.change}{luck} — from {self.answer!r}"


@dataclass(frozen=True)
class Survivors:
    """The results for the mutants of one exercise."""

    exercise: str
    tried: int
    equivalent: int
    """Survivors that the list explains."""
    found: tuple[Survivor, ...]
    unused: tuple[str, ...] = ()
    """Rows of the list that explain no survivor."""
    left_out: tuple[str, ...] = ()
    """Right answers that get no full points here, so that their mutants tell nothing, with what they are told."""


def equivalents(folder: Path, exercise: str) -> dict[str, str]:
    """Change → why it changes nothing, for the mutants of one exercise.

    Args:
        folder: of all answer banks.
        exercise: its grade id.

    Raises:
        CourseError: the file is no TOML of tables of strings, or a reason is missing.
    """
    path = folder / EQUIVALENTS
    if not path.exists():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CourseError(path, f"is no TOML: {error}", "Write one table per exercise, one row per change.") from None
    rows = table.get(exercise, {})
    if not all(isinstance(why, str) and why.strip() for why in rows.values()):
        raise CourseError(path, f"an equivalent mutant of {exercise} has no reason", "Say why it changes nothing.")
    return dict(rows)


def takes_nothing(rights: list[Answer], exercise: str) -> bool:
    """Whether the exercise is a function without parameters: every mutant that passes returns the right values."""
    functions = [
        node
        for right in rights
        for node in program(right.source).body
        if isinstance(node, ast.FunctionDef) and node.name == exercise
    ]
    return bool(functions) and all(not ast.unparse(one.args) for one in functions)


def survivors(
    source: ChapterSource,
    exercise: str,
    answers: list[Answer],
    known: dict[str, str],
    jobs: int,
    sample: float = 1.0,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Survivors:
    """The mutants of the right answers to one exercise that earn full points.

    Args:
        source: of the chapter.
        exercise: its grade id.
        answers: its bank; answers that only a GPU can tell are left out.
        known: the equivalent ones.
        jobs: how many are tried at a time.
        sample: the share of the mutants to try, at least one, drawn at random; the same ones each time.
        on_progress: told after every mutant how many of how many are done.
    """
    rights = [one for one in answers if one.kind is AnswerKind.RIGHT and not one.gpu and one.earns is None]
    with Runner(source, exercise, jobs) as runner:
        if not rights or not runner.tests:
            return Survivors(exercise, 0, 0, ())
        todo: dict[str, tuple[Answer, Mutant]] = {}
        seconds, left_out = 0.0, []
        for right in rights:
            taken, outcome = runner.seconds_for(right.source)
            if not outcome.accepted:
                left_out.append(f"{right}: {outcome.told or 'no message'}")
            else:
                seconds = max(seconds, taken)
                for mutant in mutants_of(right.source):
                    todo.setdefault(mutant.source, (right, mutant))
        chosen = list(todo.values())
        if sample < 1.0:
            chosen = random.Random(exercise).sample(chosen, math.ceil(sample * len(chosen)))
        left = [(right, mutant, 0) for right, mutant in chosen]
        for seed in SEEDS:
            trials = [Trial(mutant.source, (seed,), seconds) for _, mutant, _ in left]
            outcomes = runner.run(trials, on_progress)
            # An exception or a limit of time says nothing about luck: the other seeds are for wrong values.
            left = [
                (right, mutant, count + outcome.accepted)
                for (right, mutant, count), outcome in zip(left, outcomes, strict=True)
                if outcome.accepted or not outcome.broke
            ]
    if takes_nothing(rights, exercise):
        left = []
    found = [Survivor(right.title, mutant, count) for right, mutant, count in left if count]
    changes = {one.mutant.change for one in found}
    unused = () if sample < 1.0 else tuple(change for change in known if change not in changes)
    unexplained = tuple(one for one in found if one.mutant.change not in known)
    explained = len(found) - len(unexplained)
    return Survivors(exercise, len(chosen), explained, unexplained, unused, tuple(left_out))
