"""Many seeds: whether an answer gets its verdict, and a wrong one its message, whatever hidden inputs are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.authoring.answers import Answer, Kind
from grader.authoring.myst import Source
from grader.authoring.verify import judge_cells
from grader.trials.runner import Outcome, Runner, Trial


@dataclass(frozen=True)
class Steadiness:
    """What many seeds made of the answers to one exercise."""

    exercise: str
    answers: int
    findings: tuple[str, ...]
    left_out: tuple[str, ...]
    """Answers that are not tried here, with the reason."""


def steadiness(
    source: Source,
    exercise: str,
    answers: list[Answer],
    seeds: int,
    jobs: int,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Steadiness:
    """Which answers to one exercise get what they must not in some of `seeds` seeds, 1 and up.

    Args:
        source: of the chapter.
        exercise: its grade id.
        answers: its bank.
        seeds: how many.
        jobs: how many answers are tried at a time.
        on_progress: told after every trial how many of how many are done.
    """
    left_out = {str(one): why for one in answers if (why := _why_not(one))}
    tried = [one for one in answers if str(one) not in left_out]
    with Runner(source, exercise, jobs) as runner:
        rights = [one for one in tried if one.kind is Kind.RIGHT]
        if not rights or not runner.tests:
            return Steadiness(exercise, 0, (), tuple(f"{one}: no test here" for one in tried))
        seconds = 2 * max(runner.seconds_for(right.source)[0] for right in rights)
        trials = [Trial(one.source, seed, seconds) for one in tried for seed in range(1, seeds + 1)]
        outcomes = runner.run(trials, on_progress)
    findings = []
    for place, answer in enumerate(tried):
        findings += _findings(answer, outcomes[place * seeds : (place + 1) * seeds])
    return Steadiness(exercise, len(tried), tuple(findings), tuple(f"{one}: {why}" for one, why in left_out.items()))


def _why_not(answer: Answer) -> str:
    if answer.kind is Kind.HOSTILE:
        return "hostile answers run confined only"
    if answer.gpu:
        return "only a GPU can tell"
    return "ends by a limit of time in every seed" if answer.endless else ""


def _findings(answer: Answer, outcomes: list[Outcome]) -> list[str]:
    wrong = [(seed, found) for seed, one in enumerate(outcomes, start=1) if (found := judge_cells(answer, one.cells))]
    if not wrong:
        return []
    seed, found = wrong[0]
    return [f"in {len(wrong)} of {len(outcomes)} seeds, the first is {seed}: {found[0]}"]
