"""Finds the first difference between a student's value and the expected one, and says in a few words where it lies.

Works on what `values.plain` gives. What to say about the whole, and which misconception it is, is up to `check`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from gpulab.check.values import DictOf, Foreign, PlainArray, SetOf, article, show
from gpulab.unwritten import never_written


@dataclass(frozen=True)
class Rule:
    """When two numbers count as equal."""

    rtol: float = 0.0
    atol: float = 0.0
    ints_apart: bool = True
    """Whether a float is refused where an int is expected."""


EXACT = Rule()
LOOSE = Rule(ints_apart=False)
"""By value only: what a known wrong value is recognized with."""


UNWRITTEN = "That is what gpulab.empty fills arrays with: has any thread written this element?"


def difference(answer: Any, expected: Any, rule: Rule) -> str | None:
    """Where two plain values first differ, in a sentence; "" when the values themselves say it all; None if equal."""
    if isinstance(expected, PlainArray):
        return _arrays(answer, expected, rule)
    if isinstance(expected, (list, tuple)):
        return _sequences(answer, expected, rule)
    if isinstance(expected, SetOf):
        return _sets(answer, expected)
    if isinstance(expected, DictOf):
        return _dicts(answer, expected, rule)
    if isinstance(expected, (int, float, complex)):
        return _numbers(answer, expected, rule)
    if type(answer) is not type(expected) or isinstance(expected, Foreign):
        return _wrong_kind(answer, expected)
    if answer == expected:
        return None
    if isinstance(expected, str) and answer.strip().lower() == expected.strip().lower():
        return "Capitals and spaces matter."
    return ""


def token(value: Any, ints_apart: bool = True) -> Any:
    """Something hashable that is equal for equal plain values; tells `True` from 1, and 1 from 1.0 if `ints_apart`."""
    if isinstance(value, (list, tuple)):
        return ("sequence", tuple(token(part, ints_apart) for part in value))
    if isinstance(value, SetOf):
        return ("set", frozenset(token(part, ints_apart) for part in value.elements))
    if isinstance(value, DictOf):
        return ("dict", frozenset((token(key, ints_apart), token(part, ints_apart)) for key, part in value.pairs))
    if isinstance(value, (PlainArray, Foreign)):
        return (type(value).__name__, id(value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return ("number" if not ints_apart else type(value).__name__, value if value == value else "nan")
    return (type(value).__name__, value)


def _wrong_kind(answer: Any, expected: Any) -> str:
    wanted = article(expected)
    if answer is None:
        return "You returned None: is there a return statement, and is it reached?"
    if isinstance(answer, PlainArray) and answer.values.size == 1 and isinstance(expected, (int, float)):
        return f"You returned a {answer.kind} with one element, expected {wanted}: take the number out with .item()."
    if isinstance(answer, PlainArray) and isinstance(expected, list):
        return f"You returned a {answer.kind}, expected {wanted}: .tolist() makes one."
    if isinstance(answer, (str, bytes, int, float, complex)):
        return f"You returned {article(answer)} ({show(answer)}), expected {wanted}."
    if isinstance(answer, Foreign) and answer.article == "a function":
        return f"You returned a function, expected {wanted}: was it called?"
    if isinstance(answer, Foreign):
        return f"It must be {wanted}."
    return f"You returned {article(answer)}, expected {wanted}."


def _numbers(answer: Any, expected: complex, rule: Rule) -> str | None:
    kinds: tuple[type, ...]
    if isinstance(expected, bool):
        kinds = (bool,)
    elif isinstance(expected, int) and rule.ints_apart:
        kinds = (int,)
    else:
        kinds = (int, float, complex) if isinstance(expected, complex) else (int, float)
    if type(answer) not in kinds:
        return _wrong_kind(answer, expected)
    if answer == expected or (answer != answer and expected != expected):
        return None
    if isinstance(expected, bool):
        return ""
    if not _finite(answer):
        return "" if not _finite(expected) else "That is not a finite number."
    return None if _finite(expected) and _close(answer, expected, rule) else ""


def _finite(number: complex) -> bool:
    # An int is finite however large; isfinite would overflow on it.
    return isinstance(number, int) or number - number == 0


def _close(answer: complex, expected: complex, rule: Rule) -> bool:
    if not rule.rtol and not rule.atol:
        return False
    try:
        return bool(abs(answer - expected) <= rule.atol + rule.rtol * abs(expected))
    except OverflowError:  # ints beyond the range of floats
        if isinstance(answer, complex) or isinstance(expected, complex):
            return False
        allowed = Fraction(rule.atol) + Fraction(rule.rtol) * abs(Fraction(expected))
        return abs(Fraction(answer) - Fraction(expected)) <= allowed


def _sequences(answer: Any, expected: list[Any] | tuple[Any, ...], rule: Rule) -> str | None:
    if not isinstance(answer, (list, tuple)):
        return _wrong_kind(answer, expected)
    for place, (mine, theirs) in enumerate(zip(answer, expected, strict=False)):
        inside = difference(mine, theirs, rule)
        if inside is not None and len(answer) == len(expected):
            return _at(f"[{place}]", mine, theirs, inside)
    if len(answer) != len(expected):
        return f"It has {_count(len(answer), 'item')} instead of {len(expected)}."
    return None


def _sets(answer: Any, expected: SetOf) -> str | None:
    if not isinstance(answer, SetOf):
        return _wrong_kind(answer, expected)
    mine, theirs = _by_token(answer.elements, expected.elements)
    return _surplus(mine, theirs, "")


def _dicts(answer: Any, expected: DictOf, rule: Rule) -> str | None:
    if not isinstance(answer, DictOf):
        return _wrong_kind(answer, expected)
    mine, theirs = _by_token([key for key, _ in answer.pairs], [key for key, _ in expected.pairs])
    surplus = _surplus(mine, theirs, " keys")
    if surplus is not None:
        return surplus
    answers = dict(zip(mine, (part for _, part in answer.pairs), strict=True))
    for (place, key), (_, part) in zip(theirs.items(), expected.pairs, strict=True):
        inside = difference(answers[place], part, rule)
        if inside is not None:
            return _at(f"[{show(key)}]", answers[place], part, inside)
    return None


def _by_token(answer: Any, expected: Any) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Both collections as token → element; where floats are expected, ints will do."""
    ints_apart = not any(isinstance(element, float) for element in expected)
    mine, theirs = ({token(element, ints_apart): element for element in side} for side in (answer, expected))
    return mine, theirs


def _surplus(mine: dict[Any, Any], theirs: dict[Any, Any], noun: str) -> str | None:
    missing = [element for place, element in theirs.items() if place not in mine]
    unexpected = [element for place, element in mine.items() if place not in theirs]
    sentences = [
        f"{word}{noun}: {show(elements)[1:-1]}."
        for word, elements in (("Missing", missing), ("Unexpected", unexpected))
        if elements
    ]
    return " ".join(sentences) or None


def _arrays(answer: Any, expected: PlainArray, rule: Rule) -> str | None:
    if not isinstance(answer, PlainArray):
        return _wrong_kind(answer, expected)
    mine, theirs = answer.values, expected.values
    if mine.shape != theirs.shape:
        return f"Its shape is {mine.shape} instead of {theirs.shape}."
    if _family(mine) != _family(theirs) or (rule.ints_apart and theirs.dtype.kind in "iu" and mine.dtype.kind == "f"):
        return f"Its elements are {answer.dtype} instead of {expected.dtype}."
    wrong = unequal(mine, theirs, rule)
    count = int(wrong.sum())
    if count == 0:
        return None
    index = tuple(int(axis[0]) for axis in wrong.nonzero())
    values = f"{show(mine[index].item(), exact=True)} instead of {show(theirs[index].item(), exact=True)}"
    differ = f"{count} of {mine.size} elements differ, the first"
    if count == 1:
        differ = f"1 of {mine.size} elements differs" if mine.size > 1 else "The only element differs"
    said = f"{differ} at {list(index)}: {values}."
    return f"{said} {UNWRITTEN}" if never_written(mine[index]) else said


def _family(array: Any) -> str:
    return "number" if array.dtype.kind in "iufc" else str(array.dtype.kind)


def unequal(mine: Any, theirs: Any, rule: Rule) -> Any:
    """For each element of two NumPy arrays of one shape whether they differ."""
    import numpy

    if _family(mine) != "number":
        return mine != theirs
    with numpy.errstate(all="ignore"):
        same = (mine == theirs) | ((mine != mine) & (theirs != theirs))
        if rule.rtol or rule.atol:
            wide = [side.astype("complex128" if side.dtype.kind == "c" else "float64") for side in (mine, theirs)]
            near = abs(wide[0] - wide[1]) <= rule.atol + rule.rtol * abs(wide[1])
            same = same | (near & numpy.isfinite(wide[1]))
    return ~same


def _at(place: str, answer: Any, expected: Any, inside: str) -> str:
    """The difference at `place` inside a container; `inside` may point further in."""
    if inside.startswith("At ["):
        return f"At {place}{inside.removeprefix('At ')}"
    if isinstance(expected, PlainArray) or inside.startswith(("Missing", "Unexpected")):
        return f"At {place}: {inside}"  # it names the index: arrays that differ far inside look alike
    exact = show(answer) == show(expected)
    said = f"At {place}: {show(answer, exact)} instead of {show(expected, exact)}"
    floating = type(answer) is float and type(expected) is int and answer == expected
    return f"{said}: expected an int, not a float." if floating else f"{said}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
