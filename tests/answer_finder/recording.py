"""The calls that test cells make of right answers, recorded: arguments and results, exercise by exercise.

The right answers are those of the chapters themselves. They run in this process: record in a child.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import json
import linecache
import pickle
import random
import signal
import statistics
import time
from collections.abc import Callable
from typing import Any

from answer_finder.known import Call, Exercise
from grader.model.course import Chapter
from grader.model.notebooks import Cell, ChapterKey, Role, load_key

MOST_CALLS = 3
MOST_DECISIONS = 12
"""Calls with results that are true or false: of these, three tell too little."""
SECONDS_OF_CALLS = 1.0
"""Of the processor: no more calls are recorded of an exercise whose calls have taken so long. One result of those, such
as a trained network or a file, tells enough."""
SECONDS = 60.0
"""For the calls of one test cell; what has been recorded until then is kept."""
MOST_BYTES = 4_000_000
"""Of one call, pickled."""


class _Enough(BaseException):
    """Enough calls have been recorded, or enough time has passed."""


def recorded(chapter: Chapter) -> list[Exercise]:
    """The exercises of a built chapter with the first calls that their tests make."""
    import matplotlib
    import torch

    matplotlib.use("agg")
    torch.set_num_threads(1)
    key = load_key(chapter)
    names = _solved(key)
    found: list[Exercise] = []
    for cell in key.tests:
        if cell.grade_id.endswith("_test"):
            found += _of_test(key, cell, names)
    return found


def _solved(key: ChapterKey) -> dict[str, Any]:
    """The names that the chapter's own cells define, demonstrations left out."""
    names: dict[str, Any] = {"__name__": "__main__", "display": lambda *_: None}
    for cell in key.cells:
        if cell.role is Role.SOLUTION or (cell.role is Role.CODE and "demo" not in cell.tags):
            place = f"<{cell.id}>"
            # Triton reads the source of a kernel, as it can in a notebook.
            linecache.cache[place] = (len(cell.source), None, cell.source.splitlines(keepends=True), place)
            with contextlib.suppress(Exception):  # a cell for a GPU, or one that shows an error
                exec(compile(cell.source, place, "exec"), names)
    return names


def _of_test(key: ChapterKey, cell: Cell, names: dict[str, Any]) -> list[Exercise]:
    from gpulab.backend import Backend, use
    from gpulab.ranks import launch

    name = cell.exercise
    right, answer = names.get(name), key.cell(name)
    calls: list[Call] = []
    seconds: list[float] = []
    launches: list[tuple[launch.Job, launch.Run]] = []

    def record(*arguments: Any, **named: Any) -> Any:
        kept = copy.deepcopy((arguments, named))
        started = time.process_time()
        result = right(*arguments, **named)  # type: ignore[misc]
        seconds.append(time.process_time() - started)
        with contextlib.suppress(Exception):
            if len(pickle.dumps((kept, result))) < MOST_BYTES:
                calls.append(Call(*kept, copy.deepcopy(result)))
        enough = len(calls) >= (MOST_DECISIONS if isinstance(result, bool) else MOST_CALLS)
        if enough or (calls and sum(seconds) > SECONDS_OF_CALLS):
            raise _Enough
        return result

    def started(job: launch.Job) -> launch.Run:
        run = launch.run(job)
        launches.append((job, run))
        raise _Enough

    record.__name__ = name
    namespace = dict(names)
    namespace[name] = record if callable(right) else right
    random.seed(20)
    backend = Backend(seed=20, script=started if isinstance(right, str) else None)
    with contextlib.suppress(BaseException), _limited(), use(backend):
        exec(compile(cell.source, f"<{cell.id}>", "exec"), namespace)
    parameters: tuple[str, ...] = ()
    if callable(right):
        parameters = right.__code__.co_varnames[: right.__code__.co_argcount]
        calls = [call for call in calls if call.result is not None]
    value = None if callable(right) else right
    known = Exercise(
        key.name,
        name,
        parameters,
        tuple(calls),
        value,
        _numbers(answer),
        launches=any(kind in answer.source for kind in ("cuda.jit", "triton.jit")),
        measures=bool(calls) and _measures(right, calls[0]),
        seconds=statistics.median_high(seconds or [0.0]),
    )
    return [known, *_parts(known), *_launched(known, launches)]


def _measures(right: Callable[..., Any], call: Call) -> bool:
    """Whether the right result is another number when the function is called again."""
    if not isinstance(call.result, float):
        return False
    return bool(right(*copy.deepcopy(call.arguments), **copy.deepcopy(call.named)) != call.result)


@contextlib.contextmanager
def _limited() -> Any:
    def stop(number: int, frame: object) -> None:
        raise _Enough

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _numbers(answer: Cell) -> tuple[float, ...]:
    """Numbers that stand in the answer, small ones left out."""
    found = {node.value for node in ast.walk(ast.parse(answer.source)) if isinstance(node, ast.Constant)}
    numbers = {one for one in found if isinstance(one, (int, float)) and not isinstance(one, bool)}
    return tuple(sorted(one for one in numbers if abs(one) > 2))[:4]


def _parts(known: Exercise) -> list[Exercise]:
    """An exercise that returns several files, file by file: the others are given."""
    found = []
    for call in known.calls[:1]:
        files = dict(_files(call.result))
        for place, content in files.items():
            given = {"problem": call.arguments[0]} | {
                f"other{number}": other for number, (at, other) in enumerate(files.items()) if at != place
            }
            one = Call(tuple(given.values()), {}, content)
            found.append(Exercise(known.chapter, f"{known.name}{place}", tuple(given), (one,), None, known.numbers))
    return found


def _files(value: Any, place: str = "") -> list[tuple[str, bytes]]:
    if isinstance(value, bytes) and place:
        return [(place, value)]
    items = value.items() if isinstance(value, dict) else ()
    return [file for name, inner in items for file in _files(inner, f"{place}[{name!r}]")]


def _launched(known: Exercise, launches: list[Any]) -> list[Exercise]:
    """What a script did as a call: problem, indices of rank 0 and batch → the weights that it left."""
    from gpulab.training.problem import Problem

    found = []
    for job, run in launches:
        told = {name: value for one in run.ranks for name, value in one.left.items()}
        weights = next((value for value in told.values() if isinstance(value, dict)), None)
        fields = dict(job.environment).get("PROBLEM")
        if weights is None or fields is None:
            continue
        problem = Problem(**json.loads(fields))
        samples = [json.loads(value) for one in run.ranks for value in one.left.values() if isinstance(value, str)]
        batch = int(dict(job.environment).get("BATCH_SIZE", problem.batch_size))
        values = (problem, samples, batch // len(run.ranks), batch / problem.batch_size)
        names = ("problem", "samples", "each", "lr")
        call = Call(values, {}, weights)
        found.append(Exercise(known.chapter, f"{known.name}, as a call", names, (call,), None, ()))
    return found
