"""Compares an answer with readings of the GPU on which it is graded: `confront("occupancy", occupancy)`.

A hidden test calls it. An exercise has a `Confrontation` in the `CONFRONTATIONS` of its topic's `confrontations.py`.
Its readings are taken once per machine (`taking`), before anything is graded, and the chapter's own solution is held
against them there: readings that it contradicts are never used. Without a GPU there are no readings, and `confront`
does nothing.

A topic's module also says how the other exercises of its chapter are checked on the GPU: `ON_DEVICE`, exercise → (how,
a piece of the test that runs it there); `NONE`, exercise → why nothing of it runs on one. docs/gpu_rows.md is made of
all three.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from grader import exercises
from grader.model import readings

MODULE = "confrontations"


class Absent(Exception):
    """This machine lacks what a reading needs: a second GPU, a driver's counter. The message says what."""


class Unusable(Exception):
    """Readings that no GPU gives, or that spread too much to judge by. The message says which."""


@dataclass(frozen=True)
class Confrontation:
    """How one exercise is checked on the GPU.

    `take` imports what it needs itself: the module is imported by every judge on a machine with a GPU.
    """

    exercise: str
    """Its grade id."""
    what: str
    """What is compared with what, in one sentence, for docs/gpu_rows.md."""
    take: Callable[[], Any]
    """The readings, as values that JSON can hold. Runs on the GPU, alone. Raises Absent."""
    check: Callable[[Any, Any], None]
    """(answer, readings) → nothing. A pure function. Raises WrongAnswer, as `gpulab.check` does, and Unusable."""


def confront(exercise: str, answer: Any) -> None:
    """Compares an answer with this machine's readings for its exercise, where there are any that can be used.

    Args:
        exercise: its grade id.
        answer: what the student wrote: a function or a value.

    Raises:
        WrongAnswer: the GPU contradicts the answer.
        KeyError: nothing is declared for this exercise.
    """
    taken = readings.at_hand()
    if taken is None:
        return
    try:
        declared()[exercise].check(answer, taken)
    except Unusable:
        return


@functools.cache
def declared() -> dict[str, Confrontation]:
    """Every confrontation there is, by exercise."""
    return {one.exercise: one for module in topics() for one in module.CONFRONTATIONS}


def topics() -> list[ModuleType]:
    """The modules that declare confrontations, sorted by topic."""
    found = sorted(one.name for one in pkgutil.iter_modules(exercises.__path__) if one.ispkg)
    specs = (importlib.util.find_spec(f"{exercises.__name__}.{name}.{MODULE}") for name in found)
    return [importlib.import_module(spec.name) for spec in specs if spec]
