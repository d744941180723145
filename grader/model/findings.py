"""What a check found wrong in the course, and the error that carries several findings at once.

A leaf: the checks make findings, the command line prints them.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.model.course import CourseError


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that is wrong, in the form of `CourseError`: where, what, what to do next."""

    where: str
    """`file:line`, or a file."""
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}." + (f" {self.remedy}" if self.remedy else "")


class Findings(CourseError):
    """One or more findings that stop a command; its text is one line for each.

    Args:
        found: at least one finding.
    """

    def __init__(self, found: tuple[Finding, ...]) -> None:
        super().__init__(found[0].where, found[0].what, found[0].remedy)
        self.found = found
        self.args = (found,)  # what pickle calls the class with

    def __str__(self) -> str:
        return "\n".join(map(str, self.found))
