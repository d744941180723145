"""Which services of the judge a test cell may use: those that it declares as its `needs`. In a notebook, all of them.

A service that is used without its processes would work in the judge's own process, and grade the same answer
differently. So it is refused instead.
"""

from __future__ import annotations

from gpulab.backend import current
from gpulab.check.outcomes import Undecided


class Undeclared(Undecided):
    """A test cell uses a service that it does not declare."""


def require(service: str) -> None:
    """Does nothing where the service may be used.

    Raises:
        Undeclared: a judge grades a test cell that does not declare it.
    """
    allowed = current().services
    if allowed is not None and service not in allowed:
        remedy = f'Add ":needs: {service}" below the points of the test cell, and build the chapter again.'
        raise Undeclared(f"This test uses a service of the judge that its cell does not declare: {service}. {remedy}")
