"""Code as a sequence of tokens that stays the same when it is renamed, reformatted or commented.

One scanner for Python, CUDA C++ and text that does not parse: what students submit is all three. A name that an author
can choose becomes `n`; keywords, builtins and what stands after a dot keep their text, since those say what is called.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMMENTS = {
    False: r"(?P<comment>\#[^\n]*)",
    True: r"(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z)|\#[^\n]*)",
}
"""By whether the text is CUDA C++: there `//` begins a comment, and in Python it divides."""
SCANNERS = {
    c_code: re.compile(
        r"""
        (?P<string>[rbfuRBFU]{0,2}(?:
            \"{3}(?:[^\\]|\\.)*?(?:\"{3}|\Z) | '{3}(?:[^\\]|\\.)*?(?:'{3}|\Z)
          | "(?:[^"\\\n]|\\[^\n])*(?:"|\\?$|\\?\Z) | '(?:[^'\\\n]|\\[^\n])*(?:'|\\?$|\\?\Z)))
      | """
        + comment
        + r"""
      | (?P<name>[^\W\d]\w*)
      | (?P<number>(?:0[xX][\da-fA-F_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)[fFuUlLj]*)
      | (?P<space>\s+|\\\n)
      | (?P<mark><<<|>>>|\*\*=?|//=?|->|:=|[-+*/%&|^<>=!]=|&&|\|\||<<=?|>>=?|.)
        """,
        re.VERBOSE | re.DOTALL | re.MULTILINE,
    )
    for c_code, comment in _COMMENTS.items()
}
# What is not closed ends with its line or the text: looked for again and again, it would take the square of the length.
C_CODE = re.compile(r"__global__|__device__|\#include|;[ \t]*\n")
C_WORDS = frozenset(
    re.findall(
        r"\w+",
        "auto bool break case char const continue default do double else enum extern float for if inline int long "
        "return short signed sizeof static struct switch template typename unsigned using void volatile while "
        "blockIdx blockDim threadIdx gridDim __global__ __device__ __shared__ __restrict__ __syncthreads",
    )
)
KEPT = frozenset(keyword.kwlist) | frozenset(name for name in dir(builtins) if name.islower()) | C_WORDS
"""Names that keep their text: an author cannot rename them."""
STATEMENTS = frozenset(keyword.kwlist)
"""A bracket after one of these stands around an expression, and is no call."""
LONG_LINE = 80
"""Characters beyond which a string of one line with line ends in it is taken for code: formatters join lines so."""
DEPTH = 2
"""Scripts in a string in a script: deeper ones are one token."""


@dataclass(frozen=True)
class CodeTokens:
    """Normalized tokens in order, and the line of the source that each stands on, counted from 0."""

    texts: list[str]
    lines: list[int]


def tokens_of(source: str) -> CodeTokens:
    """The tokens of a cell; a string of several lines (a kernel, a script) counts as the code that is in it."""
    scanned: list[tuple[str, int]] = []
    _scan(source, 0, DEPTH, scanned)
    kept = list(_without_layout(scanned))
    return CodeTokens([text for text, _ in kept], [line for _, line in kept])


def _scan(source: str, line: int, depth: int, found: list[tuple[str, int]]) -> None:
    """Appends the normalized tokens, without comments, docstrings and white space, each with its line."""
    before, opens_statement = "", True
    for match in SCANNERS[C_CODE.search(source) is not None].finditer(source):
        kind, text = match.lastgroup, match[0]
        if kind == "space":
            if "\n" in text:
                line += text.count("\n")
                opens_statement = True
            continue
        if kind == "comment":
            line += text.count("\n")
            continue
        if kind == "name":
            found.append((text if text in KEPT or before == "." else "n", line))
        elif kind == "mark":
            found.append((text, line))
        elif kind == "number":
            found.append((text.lower().replace("_", "").rstrip("f"), line))
        else:
            _scan_string(text, line, depth, opens_statement, found)
            line += text.count("\n")
        before, opens_statement = text, text in (":", ";")


def _scan_string(text: str, line: int, depth: int, docstring: bool, found: list[tuple[str, int]]) -> None:
    """A docstring is nothing, a text of several lines its own tokens, and any other string one token."""
    written_as_one = "\n" not in text and len(text) > LONG_LINE and "\\n" in text
    if depth == 0 or ("\n" not in text and not written_as_one):
        found.append(("s", line))
    elif not docstring:
        found.append(("s", line))
        inner = text.lstrip("rbfuRBFU").strip("\"'")
        start = len(found)
        _scan(inner.replace("\\n", "\n") if written_as_one else inner, line, depth - 1, found)
        if written_as_one:
            found[start:] = [(token, line) for token, _ in found[start:]]


def _without_layout(tokens: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """The tokens without what a formatter puts in or takes out.

    That is brackets around an expression, commas before a closing bracket, and semicolons.
    """
    calls: list[bool] = []
    comma: tuple[str, int] | None = None
    before = ""
    for token in tokens:
        text = token[0]
        if comma is not None:
            if text not in ")]}":
                yield comma
            comma = None
        if text == "(":
            calls.append(before in (")", "]") or (before.isidentifier() and before not in STATEMENTS))
            if calls[-1]:
                yield token
        elif text == ")":
            if not calls or calls.pop():
                yield token
        elif text == ",":
            comma = token
        elif text != ";":
            yield token
        before = text
    if comma is not None:
        yield comma
