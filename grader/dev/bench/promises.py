"""What the project has promised of its speed, and what a measurement says of it."""

from __future__ import annotations

from dataclasses import dataclass

BUSY_LOAD = 0.5
"""Above this, other work on the machine distorts the numbers."""


@dataclass(frozen=True)
class Target:
    """One thing that the project has promised of itself."""

    what: str
    measured: float
    wanted: float
    at_least: bool
    """Whether `wanted` is the least that is allowed; otherwise it is the most."""
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether the measured number keeps the promise."""
        return self.measured >= self.wanted if self.at_least else self.measured <= self.wanted
