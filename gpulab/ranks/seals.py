"""Seals what a program of ours reports from a process that also runs a student's script: no script can seal a report.

Whoever starts the program gives it a key in its environment. The program takes the key before it runs the script, and
seals its report when the script has ended. A report without the seal of a key that this process has given does not
count. A script could look for the key in the frames below it: that is for `grader.judging.review_flags` to see.
"""

from __future__ import annotations

import ast
import hashlib
import os
import secrets
from collections.abc import Callable, Mapping
from typing import Any

VARIABLE = "GPULAB_REPORT_KEY"
Seal = Callable[[Mapping[str, Any]], str]
"""A report, as plain values, to the text to leave."""
_given: list[str] = []
"""The keys that this process has given, as long as it lives: a judge's is a process per submission."""
_sha256, _repr = hashlib.sha256, repr  # as they are before a script runs, which may replace them


def key() -> dict[str, str]:
    """The environment of a program that is to seal its report, with a new key in it."""
    _given.append(secrets.token_hex(16))
    return {VARIABLE: _given[-1]}


def take() -> Seal:
    """What seals a report: called by the program before it runs the script. The key leaves the environment."""
    own = os.environ.pop(VARIABLE, "")

    def seal(report: Mapping[str, Any]) -> str:
        text = _repr(dict(report))
        return f"{_digest(own, text)} {text}"

    return seal


def opened(text: Any) -> dict[str, Any]:
    """The report in a text; empty where no key that this process has given sealed it."""
    if not isinstance(text, str):
        return {}
    digest, _, report = text.partition(" ")
    if not any(secrets.compare_digest(digest.encode(), _digest(one, report).encode()) for one in _given):
        return {}
    found: dict[str, Any] = ast.literal_eval(report)
    return found


def _digest(own: str, text: str) -> str:
    return _sha256(f"{own} {text} {own}".encode()).hexdigest()
