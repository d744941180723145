"""Many seeds: whether an answer gets its verdict, and a wrong one its message, whatever hidden inputs are drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from grader.authoring.answers import Answer, AnswerKind
from grader.authoring.gate import PATIENT, judge_cells
from grader.authoring.myst import ChapterSource
from grader.trials.runner import Runner, Trial
from grader.trials.tried_seeds import TriedSeeds, keys_of

PIECE = 5
"""Seeds that are tried, and recorded, at a time."""


@dataclass(frozen=True)
class Steadiness:
    """What many seeds made of the answers to one exercise."""

    exercise: str
    answers: int
    findings: tuple[str, ...]
    left_out: tuple[str, ...]
    """Answers that are not tried here, with the reason."""
    earlier: int = 0
    """Trials that an earlier run recorded, and that were not run again."""


def steadiness(
    source: ChapterSource,
    exercise: str,
    answers: list[Answer],
    seeds: int,
    jobs: int,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    record: TriedSeeds | None = None,
) -> Steadiness:
    """Which answers to one exercise get what they must not in some of `seeds` seeds, 1 and up.

    Args:
        source: of the chapter.
        exercise: its grade id.
        answers: its bank.
        seeds: how many.
        jobs: how many answers are tried at a time.
        on_progress: told after every few seeds how many of how many trials are done.
        record: what earlier runs have tried, which is not tried again; it is added to after every few seeds.
    """
    left_out = {str(one): why for one in answers if (why := _why_not(one))}
    tried = [one for one in answers if str(one) not in left_out]
    with Runner(source, exercise, jobs) as runner:
        rights = [one for one in tried if one.kind is AnswerKind.RIGHT]
        if not rights or not runner.tests:
            return Steadiness(exercise, 0, (), tuple(f"{one}: no test here" for one in tried))
        keys = keys_of(tried, runner.cells)
        done = record.seeds_of(keys) if record else dict.fromkeys(keys, frozenset[int]())
        todo = [
            _Todo(key, answer, seed)
            for first in range(1, seeds + 1, PIECE)
            for key, answer in zip(keys, tried, strict=True)
            for seed in range(first, min(first + PIECE, seeds + 1))
            if seed not in done[key]
        ]
        wrong: dict[str, list[tuple[int, str]]] = defaultdict(list)
        seconds = max(PATIENT.call_seconds, *(2 * runner.seconds_for(one.source)[0] for one in rights)) if todo else 0.0
        for first in range(0, len(todo), PIECE * len(tried)):
            piece = todo[first : first + PIECE * len(tried)]
            for one, found in zip(piece, _found(runner, piece, seconds), strict=True):
                if found:
                    wrong[one.key].append((one.seed, found[0]))
                elif record:
                    record.add(one.key, one.answer, one.seed)
            on_progress(first + len(piece), len(todo))
    findings = tuple(
        f"in {len(its)} of {seeds} seeds, the first is {min(its)[0]}: {min(its)[1]}" for its in wrong.values()
    )
    earlier = len(tried) * seeds - len(todo)
    return Steadiness(exercise, len(tried), findings, tuple(f"{one}: {why}" for one, why in left_out.items()), earlier)


@dataclass(frozen=True)
class _Todo:
    """A trial, and the key of its answer in the record."""

    key: str
    answer: Answer
    seed: int


def _found(runner: Runner, piece: list[_Todo], seconds: float) -> list[list[str]]:
    """What is wrong with the outcome of each trial."""
    outcomes = runner.run([Trial(one.answer.source, one.seed, seconds) for one in piece])
    return [judge_cells(one.answer, outcome.cells) for one, outcome in zip(piece, outcomes, strict=True)]


def _why_not(answer: Answer) -> str:
    if answer.kind is AnswerKind.HOSTILE:
        return "hostile answers run confined only"
    if answer.gpu:
        return "only a GPU can tell"
    return "ends by a limit of time in every seed" if answer.endless else ""
