"""Checks of rendered Prometheus pages: which rule of the format is broken, and whether a page agrees with its samples.

Nothing here reads a page: the test passes in a reader.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpulab.check.assertions import equal

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\[\\n"])*"'
_NUMBER = r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[iI]nf|NaN)"
_SAMPLE = re.compile(rf"({_NAME}(?:\{{(?:{_LABEL}(?:, ?{_LABEL})*,?)?\}})?) +{_NUMBER}")
_QUOTE = 'A quote inside a value is written \\".'
_TORN = "A newline inside a text is written \\n."
_TOGETHER = "All lines of a metric must be together, in one group."
_ESCAPED = {"\n": "\\n", '"': '\\"', "\\": "\\\\"}
_LETTERS = "All letters, such as ü, are written as they are."
_CHANGES: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.lower, "Capitals in a label stay capitals."),
    (str.strip, "Spaces and newlines at the ends of a label belong to it."),
    *(
        (lambda text, way=way: text.encode("ascii", way).decode(), _LETTERS)
        for way in ("backslashreplace", "xmlcharrefreplace", "namereplace", "replace", "ignore")
    ),
)
"""What a wrong page has made of the value of each label, and what to say about it."""


def broken_rule(page: str) -> str:
    """Which rule of the text format a page breaks first, with the line; empty if none is found."""
    if page and not page.endswith("\n"):
        return "the last line does not end with a newline."
    if page and page.count("\n") == page.count("\r\n"):
        return "its lines end with \\r\\n: end them with \\n alone."
    seen: set[str] = set()
    sampled: set[str] = set()
    closed: list[str] = []
    before = ""
    for number, line in enumerate(page.splitlines(), 1):
        where = f"line {number}, {line[:60]!r}"
        described = re.fullmatch(rf"# (HELP|TYPE) ({_NAME})(?: .*)?", line)
        sample = _SAMPLE.fullmatch(line)
        if not described and not sample:
            torn = before.startswith("# HELP") and line and not line.startswith("#")
            return f"{where}: {_TORN if torn else _reason(line)}"
        before = line
        name = described[2] if described else re.match(_NAME, line)[0]  # type: ignore[index]  # it matched above
        series = f"{described[1]} {name}" if described else sample[1]  # type: ignore[index]  # one of them matched
        if described and name in closed[:-1]:
            return f"{where}: {name} again. {_TOGETHER}"
        if series in seen:
            again = "There must be one, before the first line of the metric, not one for each sample."
            twice = "the same metric with the same labels appears a second time. Written twice, or without labels?"
            return f"{where}: {again if described else twice}"
        if described and name in sampled:
            return f"{where}: HELP and TYPE come before the first sample of the metric."
        if name in closed[:-1]:
            return f"{where}: {name} again. {_TOGETHER}"
        seen.add(series)
        sampled |= set() if described else {name}
        closed = closed if closed[-1:] == [name] else [*closed, name]
    return ""


def _reason(line: str) -> str:
    """Why a line is no sample."""
    if not line:
        return "Write no empty lines. Is every newline in a text written \\n?"
    if line.startswith("#"):
        kinds = "Write no comments but “# HELP name words” and “# TYPE name type”"
        return f"{kinds}. Is every newline in a HELP text written \\n?"
    if re.match(rf"{_SAMPLE.pattern}(?:# |{_NAME}[{{ ])", line):
        return "Each line ends with a newline: here two lines are one."
    if code := re.search(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4})", re.sub(r"\\\\", "", line)):
        kept = "All other letters, such as ü, are written as they are"
        return f'{code[0]} is no escape: there are \\\\, \\", and \\n. {kept}.'
    if unknown := re.search(r"\\[^\\n\"]", re.sub(r"\\\\", "", line)):
        return f'{unknown[0]} is no escape: there are \\\\, \\", and \\n. A backslash itself is written \\\\.'
    if re.fullmatch(rf"{_SAMPLE.pattern} +-?\d+", line):
        return "A second number is a time stamp: write none."
    if "{" not in line or "}" not in line:
        if re.fullmatch(rf"{_NAME}{_NUMBER}", line):
            return "Between the name and the value is a space."
        infinite = " Infinity is written +Inf." if "infinity" in line.lower() else ""
        torn = "}" in line or "{" in line or not re.match(rf"{_NAME} ", line)
        return _TORN if torn else f"The value is not a number.{infinite}"
    if not re.match(rf"{_NAME}\{{", line):
        return "The labels come right after the name, and the value comes last."
    if not re.match(r'[a-zA-Z_][a-zA-Z0-9_]*="|\}', line.partition("{")[2]):
        unquoted = re.match(r"[a-zA-Z_][a-zA-Z0-9_]*=", line.partition("{")[2])
        return f'That is not a label="value"{": the value stands in double quotes" if unquoted else ""}.'
    if re.match(rf"{_NAME}\{{(?:{_LABEL}(?:, ?{_LABEL})*,?)?\}}", line):
        return f"{line.rpartition(' ')[2]!r} is not a number."
    if re.match(rf"{_NAME}\{{(?:{_LABEL}, ?)*{_LABEL} ?[;:|&]", line):
        return "Between two labels is a comma."
    if _SAMPLE.fullmatch(line.replace('\\\\"', '\\"')):
        return f"{_QUOTE} Replace the backslashes first: here one that you had written was replaced, too."
    return _QUOTE


SampleRows = Sequence[Mapping[str, Any]]


def compare(render: Callable[[Any], Any], samples: SampleRows, what: str, read: Callable[[str], Any]) -> None:
    """Raises unless the page that `render` makes of the samples says exactly what they say.

    Args:
        render: the student's function.
        samples: as the exercise describes them.
        what: about this page, put so that it can stand before a colon.
        read: gives `values`, `types` and `helps` of a page, or raises a ValueError.
    """
    text = render(copy.deepcopy(list(samples)))
    if not isinstance(text, str):
        missing = "Is there a return statement? It is to return the page, not to print it."
        equal(text, "", f"{what}: what render_metrics returns", mistakes=[(None, missing)])
    if broken := broken_rule(text):
        texts = [label for one in samples for label in one["labels"].values()]
        if r"\t is no escape" in broken and any("\t" in label for label in texts):
            broken = broken.replace("A backslash itself is written \\\\.", "A tab is written as it is.")
        raise AssertionError(f"{what}: the page is not valid: {broken}")
    try:
        page = read(text)
    except ValueError as error:
        raise AssertionError(f"{what}: the page is not valid: {error}") from None
    more = sorted({*page.types} - {one["name"] for one in samples})
    if more and f"# TYPE {more[0]} " in str(render([])):
        raise AssertionError(
            f"{what}: {more[0]} is on the page, but no sample has this metric; even a page without samples has it. Is"
            " it left over from an earlier call? Begin each call with empty collections."
        )
    _describes(page, samples, what)
    wanted = {(one["name"], frozenset(one["labels"].items())): float(one["value"]) for one in samples}
    _has_labels(page.values, wanted, what)
    forms = ("%g", "%.2f", "%f", "%.0f", "%.3f", "%.1f")
    for key, value in wanted.items():
        short = [
            (float(form % value), "Rounded: a value must come back exactly. repr(value) keeps all digits.")
            for form in forms
        ]
        mistakes = [(-value, "The sign is lost.")] if value else []
        mistakes += [(wrong, note) for wrong, note in short if wrong != value]
        equal(page.values[key], value, f"{what}: value of {key[0]}, read back", mistakes=mistakes)


def _describes(page: Any, samples: SampleRows, what: str) -> None:
    for kind, found, key in (("TYPE", page.types, "type"), ("HELP", page.helps, "help")):
        wanted = {one["name"]: one[key] for one in samples}
        quoted = {name: words.replace('"', '\\"') for name, words in wanted.items()}
        untyped = " An untyped metric has a TYPE line, too." if {kind, *wanted.values()} == {"TYPE", "untyped"} else ""
        known: list[tuple[Any, str]] = [({}, f"There is no {kind} line.{untyped}")]
        unnamed = {words.partition(" ")[0]: words.partition(" ")[2] for words in wanted.values()}
        known.append((unnamed, f"After # {kind} comes the name of the metric, then the words."))
        known.append((quoted, "In a HELP text a quote is not escaped: the backslash would be shown."))
        counters = {one["name"] for one in samples if one["type"] == "counter" and not one["name"].endswith("_total")}
        renamed = {f"{name}_total" if name in counters else name: words for name, words in wanted.items()}
        known.append((renamed, "A counter's name stays as it is: add no _total."))
        typed = {name: words for name, words in wanted.items() if words != "untyped"}
        known.append((typed, "An untyped metric has a TYPE line, too."))
        for one in samples:
            known.append(
                (dict.fromkeys(wanted, one[key]), f"That is the {kind} of one metric for all: each has its own.")
            )
        for instead in (" ", ""):
            joined = {name: words.replace("\n", instead) for name, words in wanted.items()}
            known.append((joined, "A newline in a HELP text is written \\n: nothing else stands for it."))
        if kind == "TYPE" and found.keys() == wanted.keys():
            known.append((dict(found), "The TYPE of a metric is the type of its samples."))
        equal(found, wanted, f"{what}: {kind} of each metric, read back", mistakes=known)


def _has_labels(values: Mapping[Any, float], wanted: Mapping[Any, float], what: str) -> None:
    lost = [series for series in values if series not in wanted]
    if not lost and len(values) == len(wanted):
        return
    name, labels = lost[0] if lost else next(one for one in wanted if one not in values)
    known = [dict(one) for label, one in wanted if label == name]
    twice = [{key: text.replace("\n", "\\n") for key, text in one.items()} for one in known]
    again = [{key: text.replace('"', '\\"') for key, text in one.items()} for one in twice]
    if lost and not known:
        names = sorted({one for one, _ in wanted})
        equal(sorted({one for one, _ in values}), names, f"{what}: names of the samples, read back")
    note = "A label is missing or changed." if lost else "A sample is missing."
    missing = [wanted[one] for one in wanted if one not in values]
    if not lost and {*missing} <= {*values.values()}:
        note = "A sample is missing: each one has a line of its own, also if another one has the same value."
    if lost and dict(labels) in [*twice, *again]:
        note = "Escaped twice: replace the backslashes first, before you add any of your own."
    if lost and dict(labels) in [{key: text for key, text in one.items() if text} for one in known]:
        note = "A label whose value is empty is a label, too."
    for char, words in (("\n", "newline"), ('"', "quote"), ("\\", "backslash")):
        replaced = [
            {key: text.replace(char, new) for key, text in one.items()} for new in ("", " ", "'", "/") for one in known
        ]
        if lost and dict(labels) in replaced:
            note = f"A {words} in a label is written {_ESCAPED[char]}: nothing else stands for it."
    for change, words in _CHANGES:
        if lost and dict(labels) in [{key: change(text) for key, text in one.items()} for one in known]:
            note = words
    if lost and not labels and any(known):
        note = "The labels are missing."
    given = dict(labels) if lost else None
    equal(
        given, known[0] if len(known) == 1 else known, f"{what}: labels of {name}, read back", mistakes=[(given, note)]
    )
