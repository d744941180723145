"""Which services of the judge a test cell may use: those that it declares as its `needs`. In a notebook, all of them.

A service that is used without its processes would work in the judge's own process, and grade the same answer
differently. So it is refused instead.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpulab.check.outcomes import Undecided

_allowed: frozenset[str] | None = None


class Undeclared(Undecided):
    """A test cell uses a service that it does not declare."""


def allow(services: Iterable[str] | None) -> None:
    """Restricts this process to these services (`counting`, `speedup`, `virtual_gpu`, …); None lifts it."""
    global _allowed
    _allowed = None if services is None else frozenset(services)


def require(service: str) -> None:
    """Does nothing where the service may be used.

    Raises:
        Undeclared: a judge grades a test cell that does not declare it.
    """
    if _allowed is not None and service not in _allowed:
        remedy = f'Add ":needs: {service}" below the points of the test cell, and build the chapter again.'
        raise Undeclared(f"This test uses a service of the judge that its cell does not declare: {service}. {remedy}")
