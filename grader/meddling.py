"""Tells a person which cells to look at: what is counted or timed runs in one process with the code that counts and
projects, so an answer that names that code, or rewrites a library under it, deserves a glance. It costs no points.
"""

from __future__ import annotations

import re

from grader.notebooks import ChapterKey, Role
from grader.submission import Submission

WATCHED = re.compile(r"contest\.(?:against|same)\(|\btrace\.counting\(")
"""In a test: its exercise is timed or counted."""
INTERNALS = re.compile(
    r"""
    \bgpulab\s*\.\s*(?:contest|trace|chapters|device|check|values)\b | \bfrom\s+gpulab\b[^\n]*\b(?:contest|chapters)\b |
    \bgrader\b | \bsys\s*\.\s*(?:modules|_getframe|settrace|setprofile)\b | \bctypes\b | \bgc\s*\.\s*\w+ |
    \b__(?:torch_function|torch_dispatch|array|class|globals|code|dict)__\b |
    \b(?:torch|numpy|np|numba|cuda|time|builtins)(?:\s*\.\s*\w+)+\s*=(?!=) | \bsetattr\s*\(
    """,
    re.VERBOSE,
)


def notes(submission: Submission, key: ChapterKey) -> list[str]:
    """A sentence for each such cell."""
    watched = {test.exercise for test in key.tests if WATCHED.search(test.source)}
    found = []
    for step in submission.steps:
        own = step.key
        if own is not None and own.role is Role.SOLUTION and own.grade_id in watched:
            named = INTERNALS.search(step.source)
            if named:
                what = " ".join(named[0].split())
                found.append(f"The cell {own.grade_id}, which is counted or timed, says {what!r}: look at it yourself.")
    return found
