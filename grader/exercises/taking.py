"""Takes a chapter's readings of this machine's GPU, in a process of its own: `python -m grader.exercises.taking`.

Reads one JSON object from standard input, `{"cells": [source, …], "exercises": [grade ids]}`. Writes lines of JSON: a
list of those exercises that have a confrontation, then for each of them `[exercise, state, why, readings]`. The
chapter's own solutions are run here and compared with what was read. The process ends after the first reading that
fails, because a CUDA error stays with a process; `grader.machine.kept_readings` starts another for the rest.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpulab.check.outcomes import WrongAnswer
from grader.exercises.confront import Absent, Confrontation, Unusable, declared
from grader.model.readings import ReadingState

Say = Callable[[list[Any]], None]


def take(one: Confrontation, reference: Callable[[], Any]) -> tuple[ReadingState, str, Any]:
    """State, reason, and readings of one exercise.

    Args:
        one: what to read.
        reference: gives the chapter's own answer; raises KeyError where its cell did not run.
    """
    taken: Any = None
    try:
        taken = json.loads(json.dumps(one.take()))
        one.check(reference(), taken)
    except Absent as absent:
        return ReadingState.ABSENT, str(absent), None
    except Unusable as unusable:
        return ReadingState.UNUSABLE, str(unusable), taken
    except WrongAnswer as wrong:
        return ReadingState.REFUSED, str(wrong), taken
    except Exception as error:
        return ReadingState.FAILED, f"{type(error).__name__}: {error}", taken
    return ReadingState.GOOD, "", taken


def serve(request: Mapping[str, Any], say: Say, gpu: bool) -> None:
    """Takes the readings of every exercise that the request names and that has a confrontation; stops at a failure.

    Args:
        request: see above.
        say: writes a line.
        gpu: whether there is one.
    """
    wanted = [name for name in request["exercises"] if name in declared()]
    namespace = _run(request["cells"]) if wanted and gpu else {}
    say(wanted)
    if not gpu:
        for name in wanted:
            say([name, ReadingState.ABSENT, "there is no GPU here", None])
        return
    for name in wanted:
        state, why, taken = take(declared()[name], lambda name=name: namespace[name])  # type: ignore[misc]
        say([name, state, why, taken])
        if state is ReadingState.FAILED:
            return


def _run(cells: Sequence[str]) -> dict[str, Any]:
    """What a notebook knows after these cells; one that raises leaves out what it would have defined."""
    from grader.judging.shell import Outputs, make_shell

    shell = make_shell(Outputs(None))
    for source in cells:
        shell.run_cell(source, store_history=False)
    found: dict[str, Any] = shell.user_ns
    return found


def main() -> None:
    """Serves the request on standard input; what else is printed goes nowhere."""
    from gpulab.measuring.devices import has_gpu

    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def say(line: list[Any]) -> None:
        replies.write(json.dumps(line) + "\n")
        replies.flush()

    request = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        serve(request, say, has_gpu())


if __name__ == "__main__":
    main()
