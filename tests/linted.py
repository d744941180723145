"""Linting a small source with one fault in it."""

from __future__ import annotations

from pathlib import Path

from courses import NAME, findings_of, make_course

from grader.model.findings import Finding

DOUBLE = "def double(number):"
TEST = 'check.equal(double(21), 42, "double(21)")'
HIDDEN = "### BEGIN HIDDEN TESTS\nimport random"
LAST_HIDDEN = "### END HIDDEN TESTS\n```\n\n```{code-cell} ipython3\n:gpu_test: double"
DEMO = "for number in range(3):"
PLAIN_CELL = "```{code-cell} ipython3\n:tags: [demo]\n"
ANSWER = """\
    ### BEGIN SOLUTION
    the_whole_secret = number + number
    return the_whole_secret
    ### END SOLUTION"""

Fault = tuple[str, str, str, str]
"""What is replaced, by what, a line of the result where the finding must point, words of the message."""


def lint(folder: Path, old: str, new: str) -> tuple[str, list[Finding]]:
    course = make_course(folder, {old: new})
    source = course.root / "solutions" / f"{NAME}.md"
    return source.read_text(), findings_of(source)


def lines_of(text: str, piece: str) -> set[int]:
    """Lines at which a piece begins, and those of the fence above it."""
    at = text.index(piece)
    line = text.count("\n", 0, at) + 1
    fence = text.rfind("```{code-cell}", 0, at)
    return {line, text.count("\n", 0, fence) + 1}


def check_one_finding(fault: Fault, folder: Path) -> None:
    """Passes if it is reported once, at the line or at the cell's fence, in words that say what and what to do."""
    old, new, place, words = fault
    text, found = lint(folder, old, new)
    assert len(found) == 1, "\n".join(map(str, found)) or "nothing found"
    message = str(found[0])
    assert words in message
    assert message.startswith(f"solutions/{NAME}.md:")
    assert "\n" not in message and found[0].remedy
    if place:
        assert int(found[0].where.rpartition(":")[2]) in lines_of(text, place), message
