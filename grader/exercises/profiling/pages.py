"""A strict reader of pages in Prometheus' text format, to grade rendered ones: it says where a page is wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

TYPES = ("counter", "gauge", "histogram", "summary", "untyped")


class FormatError(ValueError):
    """A page that Prometheus' text format does not allow; says where, and what to write instead."""


SampleKey = tuple[str, frozenset[tuple[str, str]]]
"""A time series: the metric's name, and its labels."""


@dataclass
class Page:
    """What a page says, escapes undone."""

    values: dict[SampleKey, float] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    helps: dict[str, str] = field(default_factory=dict)


_NAME, _LABEL = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*"), re.compile(r"\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*\"")
_ESCAPES = {"\\": "\\", "n": "\n", '"': '"'}


def read_page(text: str) -> Page:
    """Reads a page of version 0.0.4 as strictly as its description allows.

    Source: "Exposition formats" in the documentation of Prometheus. Stricter than the server in two things that the
    description demands and the server lets pass: lines of a metric stand together, and the last line ends.

    Raises:
        FormatError: it is not valid.
    """
    page, closed, current = Page(), set[str](), ""
    if text and not text.endswith("\n"):
        raise FormatError("the last line does not end with a newline.")
    for number, line in enumerate(text.split("\n"), 1):
        where = f"line {number}, {line[:60]!r}"
        words = line.split(maxsplit=3)
        if not words or (words[0].startswith("#") and words[:2] not in (["#", "HELP"], ["#", "TYPE"])):
            continue
        comment = words[0] == "#"
        found = None if comment else _NAME.match(line.strip())
        name = (words[2] if len(words) > 2 else "") if comment else (found.group() if found else "")
        if not _NAME.fullmatch(name):
            raise FormatError(f"{where}: expected the name of a metric here.{_TORN}")
        if name != current:
            if name in closed:
                raise FormatError(f"{where}: {name} again. All lines of a metric must be together, in one group.")
            closed.add(current)
            current = name
        if comment:
            _describe(page, words, where)
        else:
            _sample(page, name, line.strip()[len(name) :], where)
    return page


_TORN = " Or is there a newline in a text above that was not written \\n?"


def _describe(page: Page, words: list[str], where: str) -> None:
    kind, name, rest = words[1], words[2], words[3] if len(words) > 3 else ""
    kept = page.helps if kind == "HELP" else page.types
    if name in kept:
        raise FormatError(
            f"{where}: a second {kind} of {name}. There must be one, before the first line of the metric."
        )
    if any(series == name for series, _ in page.values):
        raise FormatError(f"{where}: {kind} of {name} after the metric's first line. It belongs before it.")
    if kind == "TYPE" and rest.strip() not in TYPES:
        raise FormatError(f"{where}: {rest.strip()!r} is not a type. The types are: {', '.join(TYPES)}.")
    kept[name] = rest.strip() if kind == "TYPE" else _help(rest)


def _help(text: str) -> str:
    """A help text without its escapes; here a quote needs none, and a backslash before one stays."""
    return re.sub(r"\\([\\n])", lambda found: _ESCAPES[found.group(1)], text)


def _sample(page: Page, name: str, rest: str, where: str) -> None:
    labels: dict[str, str] = {}
    if rest.startswith("{"):
        labels, rest = _labels(rest[1:], where)
    elif rest and not rest[0].isspace():
        raise FormatError(
            f"{where}: {name!r} is followed by {rest[0]!r}. A name has letters, digits and underscores.{_TORN}"
        )
    words = rest.split()
    if len(words) not in (1, 2):
        raise FormatError(f"{where}: after the labels comes {rest.strip()[:40]!r}, expected one number.{_TORN}")
    try:
        value = float(words[0].replace("_", "?"))  # Python reads 1_000 as a number, Prometheus does not
    except ValueError:
        raise FormatError(f"{where}: {words[0]!r} is not a number.") from None
    key = (name, frozenset(labels.items()))
    if key in page.values:
        raise FormatError(f"{where}: the same metric with the same labels appears a second time.")
    page.values[key] = value


def _labels(rest: str, where: str) -> tuple[dict[str, str], str]:
    """Labels up to the closing brace, and what comes after it."""
    labels: dict[str, str] = {}
    while not rest.lstrip().startswith("}"):
        found = _LABEL.match(rest)
        if not found:
            raise FormatError(
                f'{where}: {rest[:30]!r} is not a label="value" followed by a comma or a brace. '
                'A quote inside a value is written \\".'
            )
        value, rest = _value(rest[found.end() :], where)
        if found.group(1) in labels:
            raise FormatError(f"{where}: the label {found.group(1)!r} appears twice.")
        labels[found.group(1)] = value
        rest = rest.lstrip()
        if rest.startswith(","):
            rest = rest[1:]
        elif not rest.startswith("}"):
            raise FormatError(
                f"{where}: after the value of {found.group(1)!r} comes {rest[:20]!r}, expected a comma or a brace. "
                'A quote inside a value is written \\".'
            )
    return labels, rest.lstrip()[1:]


def _value(rest: str, where: str) -> tuple[str, str]:
    """A label's value up to its closing quote, escapes undone, and what comes after it."""
    value, at = "", 0
    while at < len(rest):
        if rest[at] == '"':
            return value, rest[at + 1 :]
        if rest[at] == "\\":
            at += 1
            if rest[at : at + 1] not in _ESCAPES or not rest[at : at + 1]:
                raise FormatError(
                    f"{where}: \\{rest[at : at + 1]} is not an escape. A backslash itself is written \\\\."
                )
            value += _ESCAPES[rest[at]]
        else:
            value += rest[at]
        at += 1
    raise FormatError(
        f'{where}: a value that does not end on its line. A newline inside a value is written \\n, a quote \\", '
        "a backslash \\\\."
    )
