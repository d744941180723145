"""Calls that parse, compile or execute what somebody else made: called here, or in a confined process of the judge's.

Compilers and file formats read files that they are told to read, and crash on what they do not expect. In a notebook
that is its owner's own business. In the judge, which holds the hidden tests, such a call goes to a process as confined
as the student's own; `grader.judging.confined` starts it, and only plain values come back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from gpulab.backend import current

Value = TypeVar("Value")
SECONDS = 20.0


def in_judge() -> bool:
    """Whether this process is a judge's, which hands such calls to others."""
    return current().confined is not None


def refuse_in_judge(what: str, instead: str) -> None:
    """Ends a call that would run a student's work in the judge itself.

    Raises:
        RuntimeError: this is a judge's process.
    """
    if in_judge():
        raise RuntimeError(f"{what} would run a student's kernel in the judge. A test cell calls {instead}.")


def exception(module: str, name: str, text: str) -> Exception | None:
    """The exception of gpulab's that a confined process tells of; None if there is none of this name."""
    kind = getattr(sys.modules.get(module), name, None)
    if module.partition(".")[0] == "gpulab" and isinstance(kind, type) and issubclass(kind, Exception):
        return kind(text)
    return None


def call(function: Callable[..., Value], *arguments: Any, what: str, seconds: float = SECONDS) -> Value:
    """What the function returns for these arguments; in the judge, from a confined process that is started for it.

    Args:
        function: at the top level of its module, which may import what a student's process can: not the grader.
        arguments: plain values: numbers, text, bytes, containers, arrays, tensors.
        what: what it does, as the beginning of a sentence for the student: "Compiling SAXPY_CU".
        seconds: that it may take there.

    Raises:
        Exception: what the function raises, if that is a built-in exception or one of gpulab's; in the judge with its
            text alone. There also the judge's own, when the process ends, takes too long, or sends something else.
    """
    run = current().confined
    if run is None:
        return function(*arguments)
    value: Value = run(function, arguments, what, seconds)
    return value
