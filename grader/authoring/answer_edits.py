"""Answers that say only what they change in another one: the notation, and the text that comes out.

    # %% wrong: bits for bytes — says "divide by 8" — from "reference": " / 8" → ""

    # %% wrong: no guard — says "out of bounds" — from "reference"
    # -     if i < out.size:
    # -         out[i] = a[i] + b[i]
    # +     out[i] = a[i] + b[i]

In the header, several pairs of text are separated by commas, and quoted with `"` or with backticks. In the body, lines
are written as in a diff: `# - ` is taken out, `# + ` is put in, `#   ` stays and shows the place; a blank line
separates one place from the next. What is taken out must stand exactly once in the answer that is changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

PAIR = re.compile(r"""(?:"([^"]*)"|`([^`]*)`) → (?:"([^"]*)"|`([^`]*)`)""")
PAIRS = re.compile(f"{PAIR.pattern}(?:, {PAIR.pattern})*")
LINE = re.compile(r"# (?P<sign>[-+ ])(?: (?P<text>.*))?|#")


class BadEdit(Exception):
    """An edit that cannot be read or applied.

    Args:
        what: what is wrong, as a sentence without a full stop.
        remedy: what to do.
        line: line of the body that it concerns, counted from 1; 0 is the header.
    """

    def __init__(self, what: str, remedy: str, line: int = 0) -> None:
        super().__init__(what, remedy, line)
        self.what, self.remedy, self.line = what, remedy, line


@dataclass(frozen=True)
class Edit:
    """One piece of text and what stands in its place."""

    old: str
    new: str
    whole_lines: bool = False
    """Whether the pieces are lines, each with its end."""
    line: int = 0
    """Line of the body that it begins in; 0 is the header."""

    def places(self, text: str) -> list[int]:
        """Where the old piece begins."""
        found, at = [], text.find(self.old)
        while at >= 0:
            if not self.whole_lines or at == 0 or text[at - 1] == "\n":
                found.append(at)
            at = text.find(self.old, at + 1)
        return found


def edits_of(pairs: str, body: Sequence[str]) -> list[Edit]:
    """The edits that an answer's header and the lines below it ask for.

    Raises:
        BadEdit: they cannot be read, or there are none.
    """
    edits = [*_pairs(pairs), *_hunks(body)]
    if not edits:
        raise BadEdit("changes nothing", 'Write — from "title": "old" → "new", or lines "# - old" and "# + new" below.')
    return edits


def apply(edits: Sequence[Edit], base: str) -> str:
    """The base with all edits made.

    Raises:
        BadEdit: a piece does not stand in the base exactly once, or two pieces overlap.
    """
    text, spans = base + "\n", []
    for edit in edits:
        places, shown = (
            edit.places(text),
            edit.old.strip("\n").splitlines()[0].strip() if edit.old.strip() else edit.old,
        )
        if not places:
            raise BadEdit(f"the text to replace, {shown!r}, is not in the answer", "Copy it from there.", edit.line)
        if len(places) > 1:
            what = f"the text to replace, {shown!r}, is in the answer {len(places)} times"
            raise BadEdit(what, "Take more of what surrounds it, until it is there once.", edit.line)
        spans.append((places[0], edit))
    spans.sort(key=lambda span: span[0])
    done, at = [], 0
    for start, edit in spans:
        if start < at:
            raise BadEdit("two of its changes overlap", "Make one change of them.", edit.line)
        done += [text[at:start], edit.new]
        at = start + len(edit.old)
    return "".join([*done, text[at:]]).strip("\n")


def _pairs(text: str) -> list[Edit]:
    if text and not PAIRS.fullmatch(text):
        raise BadEdit(f"cannot read the change {text!r}", 'Write "old" → "new", or `old` → `new`, separated by commas.')
    edits = []
    for quoted_old, ticked_old, quoted_new, ticked_new in PAIR.findall(text):
        if not (quoted_old or ticked_old):
            raise BadEdit("replaces an empty text", "Say which text the new one stands in place of.")
        edits.append(Edit(quoted_old or ticked_old, quoted_new or ticked_new))
    return edits


def _hunks(body: Sequence[str]) -> list[Edit]:
    edits: list[Edit] = []
    old: list[str] = []
    new: list[str] = []
    begin = 0
    for number, line in enumerate([*body, ""], start=1):
        if line.strip():
            sign, text = _signed(line, number)
            begin = begin or number
            old += [text] if sign != "+" else []
            new += [text] if sign != "-" else []
            continue
        if begin:
            edits.append(_hunk(old, new, begin))
        old, new, begin = [], [], 0
    return edits


def _signed(line: str, number: int) -> tuple[str, str]:
    match = LINE.fullmatch(line.rstrip())
    if match is None:
        remedy = 'Write "# - old", "# + new" or "#   same", or take — from "…" out of the header.'
        raise BadEdit(f"{line.strip()!r} is not a line of a change", remedy, number)
    return match["sign"] or " ", match["text"] or ""


def _hunk(old: list[str], new: list[str], line: int) -> Edit:
    if not old:
        raise BadEdit("does not say where the new lines stand", 'Write the line before them too: "#   same".', line)
    if old == new:
        raise BadEdit("changes nothing", 'Write "# - old" and "# + new" lines.', line)
    return Edit("".join(f"{text}\n" for text in old), "".join(f"{text}\n" for text in new), whole_lines=True, line=line)
