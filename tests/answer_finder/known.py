"""What the search knows of an exercise: the calls that its tests make and their right results, or its right value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """A call that a test made, with its right result."""

    arguments: tuple[Any, ...]
    named: dict[str, Any]
    result: Any


@dataclass(frozen=True)
class Exercise:
    """What is known of an exercise."""

    chapter: str
    name: str
    parameters: tuple[str, ...]
    """Of its function; empty for a value."""
    calls: tuple[Call, ...]
    value: Any
    """Of an exercise that is no function."""
    numbers: tuple[float, ...]
    """That stand in the right answer."""
    launches: bool = False
    """Whether its tests count kernels, so that a right result earns nothing without one."""
    measures: bool = False
    """Whether it measures: its result differs from call to call."""

    seconds: float = 0.0
    """Of the processor, that the right answer takes for a call: the median."""

    @property
    def decides(self) -> bool:
        """Whether its results are true or false."""
        return bool(self.calls) and all(isinstance(call.result, bool) for call in self.calls)

    @property
    def makes_file(self) -> bool:
        """Whether its result is the content of a file, which takes long to make."""
        return bool(self.calls) and isinstance(self.calls[0].result, bytes)


@dataclass(frozen=True)
class Finding:
    """Something in a module that gives a right result."""

    module: str
    what: str
    exercise: str

    def __str__(self) -> str:
        return f"{self.module}: {self.what} answers {self.exercise}"
