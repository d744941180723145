"""Holds a chapter's answer bank against readings that a GPU could have given, and against broken ones."""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import json
import math
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from courses import ROOT
from drawn import a_share

from gpulab.backend import current, use
from gpulab.check.outcomes import WrongAnswer
from grader.authoring.answers import Answer, AnswerKind
from grader.authoring.bank import Bank
from grader.authoring.lint.metadata import role_of
from grader.authoring.myst import ChapterSource
from grader.exercises.confront import Confrontation, Unusable
from grader.judging.shell import Outputs, make_shell
from grader.model.course import Course
from grader.model.notebooks import Role
from grader.trials.runner import given_names

SECONDS, SECONDS_OF_ENDLESS = 20, 2
"""For one answer and one reading, of the processor: a busy machine makes no answer endless."""
SECONDS_OF_DEADLOCKS = 15.0
"""For the ranks of an answer that must be refused, by the clock on the wall: ranks that wait for each other use no time
of the processor. All other answers get as much as a launch gets anywhere."""
SHARE = 1 / 6
"""Of an exercise's answers, in a run that draws."""
_bare: set[str] = set()
"""The names in a shell in which nothing has run."""


def findings(
    one: Confrontation,
    chapter: str,
    plausible: Mapping[str, Any],
    broken: Mapping[str, Any],
    passing: Mapping[str, str] | None = None,
    remembered: bool = False,
) -> list[str]:
    """What is not as it must be, one sentence each; the test says `== []`.

    Every right answer of the bank passes all plausible readings. Every wrong one is refused by one of them, or stands
    in `passing`. Broken readings are unusable, or are contradicted by the chapter's own solution.

    Args:
        one: the confrontation.
        chapter: the chapter's number.
        plausible: name → readings as some GPU would give them, with the spread that measurements show.
        broken: name → readings of a GPU that is disturbed, throttled, or misread.
        passing: title of a wrong answer → why no reading can tell it from a right one.
        remembered: whether an answer is called once with the same arguments, for all readings: for those that train.
    """
    found: list[str] = []
    memories: dict[str, dict[Any, Any] | None] = {}
    passing = dict(passing or {})
    answers = [answer for answer in bank_of(chapter, one.exercise) if answer.kind is not AnswerKind.HOSTILE]
    titles = {answer.title for answer in answers if answer.kind is AnswerKind.WRONG}
    for answer in a_share(answers, SHARE):
        must_fail = answer.kind is AnswerKind.WRONG and answer.title not in passing
        launch = SECONDS_OF_DEADLOCKS if must_fail else math.inf
        memory = memories.setdefault(str(answer), {} if remembered else None)
        tries = (
            (name, _refused(one, answer, chapter, readings, memory, launch)) for name, readings in plausible.items()
        )
        told = ((name, why) for name, why in tries if why)
        if answer.kind is AnswerKind.RIGHT:
            found += [f"refuses the right answer “{answer.title}” on {name}: {why}" for name, why in told]
            continue
        refused = next(told, None) is not None  # one is enough
        if not refused and answer.title not in passing:
            found.append(f"passes the wrong answer “{answer.title}”")
        elif refused and answer.title in passing:
            found.append(f"refuses “{answer.title}”, which `passing` lists")
    found += [f"`passing` lists “{title}”, which is no wrong answer" for title in passing if title not in titles]
    reference = next(one_ for one_ in bank_of(chapter, one.exercise) if one_.kind is AnswerKind.RIGHT)
    memory = memories.setdefault(str(reference), {} if remembered else None)
    found += [
        f"uses the broken readings “{name}”" for name, readings in broken.items()
        if not _refused(one, reference, chapter, readings, memory, unusable="unusable")
    ]  # fmt: skip
    return found


def bank_of(chapter: str, exercise: str) -> list[Answer]:
    """The bank's answers to one exercise."""
    found = Course(ROOT).chapter(chapter)
    return Bank(found, found.answers, frozenset({exercise})).answers


def _refused(
    one: Confrontation,
    answer: Answer,
    chapter: str,
    readings: Any,
    memory: dict[Any, Any] | None,
    launch: float = math.inf,
    unusable: str = "",
) -> str:
    """Why an answer is refused; empty when it passes."""
    limited = use(replace(current(), launch_seconds=launch))
    within = _within(SECONDS_OF_ENDLESS if answer.endless else SECONDS)
    try:
        with limited, within, contextlib.redirect_stdout(io.StringIO()):
            value = defined(answer, chapter)
            value = value if memory is None else _remembering(value, memory)
            one.check(value, json.loads(json.dumps(readings)))
    except Unusable as said:
        return unusable or (f"unusable: {said}" if answer.kind is AnswerKind.RIGHT else "")
    except WrongAnswer as wrong:
        return str(wrong)
    except Exception as error:  # what the answer raises fails it, as in a judge
        return f"{type(error).__name__}: {error}"
    return ""


def _remembering(function: Callable[..., Any], memory: dict[Any, Any]) -> Callable[..., Any]:
    """The function, which is not called a second time with arguments that `memory` has a value for."""

    @functools.wraps(function)
    def called(*arguments: Any) -> Any:
        if arguments not in memory:
            value = function(*arguments)
            memory[arguments] = bytes(value) if isinstance(value, memoryview) else value  # which copies of it are
        return copy.deepcopy(memory[arguments])

    return called


def defined(answer: Answer, chapter: str) -> Any:
    """The function or value that an answer's cell defines, below the chapter's own cells."""
    namespace = dict(given(chapter))
    exec(given_names(source_of(chapter), answer.exercise).needed(answer.source), namespace)
    exec(compile(answer.source, answer.where or "<answer>", "exec"), namespace)
    return namespace[answer.exercise]


@functools.cache
def source_of(chapter: str) -> ChapterSource:
    """The chapter as its author wrote it."""
    return Bank(Course(ROOT).chapter(chapter), Course(ROOT).chapter(chapter).answers).source


@functools.cache
def given(chapter: str) -> dict[str, Any]:
    """What the chapter's own cells define, demonstrations left out, with its solutions."""
    source = source_of(chapter)
    shell = make_shell(Outputs(None))
    _bare.update(() if _bare else shell.user_ns)  # before the first chapter: another one's names stay in the shell
    for cell in source.cells:
        if role_of(cell) in (Role.CODE, Role.SOLUTION) and "demo" not in cell.options.get("tags", []):
            with contextlib.redirect_stdout(io.StringIO()):
                shell.run_cell(cell.source, store_history=False)
    return {name: value for name, value in shell.user_ns.items() if name not in _bare} | {"__name__": "__main__"}


def sentences(confrontations: Iterable[Confrontation]) -> list[str]:
    """Those sentences for docs/gpu_rows.md that do not read as one."""
    return [one.what for one in confrontations if not (one.what[:1].isupper() and one.what.endswith("."))]


class _Endless(Exception):
    """An answer that does not end."""


@contextlib.contextmanager
def _within(seconds: int) -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise _Endless(f"not done after {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
