"""What a test cell needs besides the student's process: declared in its metadata, `:needs: counting`.

The driver starts processes by this declaration alone. That it agrees with the cell's code is for lint to check.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any


class Need(StrEnum):
    """A service of the judge that a test cell calls."""

    COUNTING = "counting"
    """`trace.counting`: a clean process, in which only the exercise's own cell has run, counts memory accesses."""
    SPEEDUP = "speedup"
    """`speedup.against`, `speedup.same`: a clean process for the exercise and another one for the reference."""
    SCRIPTS = "scripts"
    """`launch.script`: a process that starts the student's script as several ranks."""
    VIRTUAL_GPU = "virtual_gpu"
    """`virtual_gpu.running`: a clean process on a simulated GPU, with a clock that the judge has."""
    LISTENING = "listening"
    """`launch.listening`: a process that starts the ranks of the student's functions, and counts their messages."""
    TIMELINE = "timeline"
    """`streams.timeline`: a clean process, in which only the exercise's own cell has run, simulates streams."""


FUNCTIONS: dict[tuple[str, str], Need] = {
    ("trace", "counting"): Need.COUNTING,
    ("speedup", "against"): Need.SPEEDUP,
    ("speedup", "same"): Need.SPEEDUP,
    ("virtual_gpu", "running"): Need.VIRTUAL_GPU,
    ("launch", "script"): Need.SCRIPTS,
    ("launch", "listening"): Need.LISTENING,
    ("streams", "timeline"): Need.TIMELINE,
}
"""(module of `gpulab`, function in it) → what a test cell that uses it must declare."""


def declared_words(value: Any) -> tuple[str, ...]:
    """The words of a `needs` entry, which is one word or a list of them."""
    return (value,) if isinstance(value, str) else tuple(value or ())


def needs_of(words: Iterable[str]) -> frozenset[Need]:
    """The needs that these words name.

    Raises:
        ValueError: a word is no need; lint refuses such a source.
    """
    return frozenset(map(Need, words))


def calls_of(need: Need) -> str:
    """The functions behind a need, as an author writes them: `speedup.against or speedup.same`."""
    return " or ".join(f"{module}.{function}" for (module, function), one in FUNCTIONS.items() if one is need)
