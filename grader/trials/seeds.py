"""Many seeds: whether an answer gets its verdict, and a wrong one its message, whatever hidden inputs are drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.authoring.answers import Answer, AnswerKind
from grader.authoring.gate import PATIENT, judge_cells
from grader.authoring.myst import ChapterSource
from grader.trials.runner import Runner, Trial
from grader.trials.tried_seeds import TriedSeeds, keys_of

PIECE = 10
"""Seeds that are tried, and recorded, at a time; if the runner is lasting, the visible part of the test is tried once
for them all, and only the first if no test reads it. One that comes out as it must not is tried again by itself, and
that counts."""


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
        at_once = PIECE if runner.lasting else 1
        todo = [
            _Todo(key, answer, left)
            for first in range(1, seeds + 1, at_once)
            for key, answer in zip(keys, tried, strict=True)
            if (left := tuple(one for one in range(first, min(first + at_once, seeds + 1)) if one not in done[key]))
        ]
        gradings, graded = sum(len(one.seeds) for one in todo), 0
        wrong: dict[str, list[tuple[int, str]]] = defaultdict(list)
        seconds = max(PATIENT.call_seconds, *(2 * runner.seconds_for(one.source)[0] for one in rights)) if todo else 0.0
        size = PIECE // at_once * len(tried)
        for piece in (todo[first : first + size] for first in range(0, len(todo), size)):
            for one, seed, found in _found(runner, piece, seconds):
                if found:
                    wrong[one.key].append((seed, found[0]))
                elif record:
                    record.add(one.key, one.answer, seed)
            graded += sum(len(one.seeds) for one in piece)
            on_progress(graded, gradings)
    findings = tuple(
        f"in {len(its)} of {seeds} seeds, the first is {min(its)[0]}: {min(its)[1]}" for its in wrong.values()
    )
    earlier = len(tried) * seeds - gradings
    return Steadiness(exercise, len(tried), findings, tuple(f"{one}: {why}" for one, why in left_out.items()), earlier)


@dataclass(frozen=True)
class _Todo:
    """A trial, and the key of its answer in the record."""

    key: str
    answer: Answer
    seeds: tuple[int, ...]


def _found(runner: Runner, piece: Sequence[_Todo], seconds: float) -> list[tuple[_Todo, int, list[str]]]:
    """What is wrong with the outcome of each trial and seed; if anything is, when that seed is tried by itself."""
    asked = [(one, seed) for one in piece for seed in one.seeds]
    outcomes = runner.run([Trial(one.answer.source, one.seeds, seconds) for one in piece])
    found = [judge_cells(one.answer, outcome.cells) for (one, _), outcome in zip(asked, outcomes, strict=True)]
    again = [number for number, its in enumerate(found) if its and len(asked[number][0].seeds) > 1]
    alone = [Trial(asked[number][0].answer.source, (asked[number][1],), seconds) for number in again]
    for number, outcome in zip(again, runner.run(alone), strict=True):
        found[number] = judge_cells(asked[number][0].answer, outcome.cells)
    return [(one, seed, its) for (one, seed), its in zip(asked, found, strict=True)]


def _why_not(answer: Answer) -> str:
    if answer.kind is AnswerKind.HOSTILE:
        return "hostile answers run confined only"
    if answer.gpu:
        return "only a GPU can tell"
    return "ends by a limit of time in every seed" if answer.endless else ""
