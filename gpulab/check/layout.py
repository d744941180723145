"""A message of a check as lines: what was called, what came back, what was expected, and the hint, each on its own."""

from __future__ import annotations

import re
import textwrap

WIDTH = 84
"""Characters per line: fits a notebook's cell, and stock nbgrader's Validate, which cuts lines at 87."""

_SENTENCE = re.compile(
    r"(?P<what>.+?): you returned (?P<got>.+?), expected (?P<expected>.+?)\.(?:\s+(?P<hint>\S.*))?", re.DOTALL
)
"""The form of `gpulab.check`'s messages, which tests that compare by themselves keep to."""


def lines(message: str, width: int = WIDTH) -> list[str]:
    """The message, folded; one that says what was returned and expected says each on a line of its own.

    Args:
        message: of a failed check. Its own line breaks stay.
        width: in characters; a longer word stands alone on its line.
    """
    form = _SENTENCE.fullmatch(message)
    if form is None:
        return [folded for line in message.split("\n") for folded in _folded(line, width, "")]
    parts = [("", form["what"]), ("  you returned: ", form["got"]), ("  expected:     ", form["expected"])]
    parts += [("  ", line) for line in (form["hint"] or "").split("\n") if line]
    return [folded for label, text in parts for folded in _folded(label + text, width, " " * len(label))]


def _folded(line: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]
