"""Assertions that say what came back, what was expected, and which misconception that is.

A check passes silently or raises `WrongAnswer`, an AssertionError with the same in fields and in its message:
`<what>: you returned X, expected Y. <what is wrong with it>`;
whatever a student returns, no other exception leaves it. NumPy scalars count as their Python types, `True` is not 1,
lists and tuples are interchangeable. `compare` decides equality, `values` the way values are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

from gpulab.check.compare import EXACT, LOOSE, UNWRITTEN, Rule, difference, token
from gpulab.check.outcomes import Mismatch, WrongAnswer, note_mismatches
from gpulab.check.patterns import pattern
from gpulab.check.rounding import coarser_type, has_16_bits, has_float32_digits, is_rounded
from gpulab.check.values import DictOf, TooLarge, plain, show

Mistakes = Mapping[Any, str] | Iterable[tuple[Any, str]] | None
"""Known wrong values and what to say about each: a dict, or pairs where values are unhashable or may coincide."""

ROUNDED = "Is it rounded? Return the number with all its digits."
FLOAT32 = "It has the digits of a float32 only: compute with Python's floats, or in float64."

BITS16 = "Every element fits into 16 bits: is something rounded to float16 or bfloat16 on the way?"


def equal(answer: Any, expected: Any, what: str, mistakes: Mistakes = None) -> None:
    """Passes if the answer equals the expected value exactly.

    Where an int is expected a float is refused; where a float is expected an int will do. Sets compare as sets,
    arrays and tensors by shape and elements.

    Args:
        answer: what the student returned.
        expected: the right value.
        what: what was asked, put so that it can stand before a colon: `"96 threads in warps of 32"`.
        mistakes: known wrong values; the first one equal to the answer, and not right after all, is named. That the
            right numbers were rounded is recognized in any case.

    Raises:
        WrongAnswer: it does not.
    """
    _compare(answer, expected, what, mistakes, EXACT, LOOSE)


def is_equal(answer: Any, value: Any) -> bool:
    """Whether an answer is this value, by value only: for a test that has to know before it says what is wrong.

    Unlike `==`, it takes whatever a student returns: an array is equal to an array only, and nothing is raised.
    """
    try:
        return difference(plain(answer), plain(value), LOOSE) is None
    except TooLarge:
        return False


def close(
    answer: Any, expected: Any, what: str, rtol: float = 1e-9, atol: float = 0.0, mistakes: Mistakes = None
) -> None:
    """Passes if |answer − expected| ≤ atol + rtol · |expected|, for numbers, lists and dicts of them, arrays, tensors.

    NaN and infinity pass only where they are expected. The other arguments are those of `equal`; a known wrong value is
    recognized within the same tolerance, 1e-6 at least.

    Raises:
        WrongAnswer: it is not close, or not of the expected kind or shape.
    """
    rule = Rule(rtol, atol, ints_apart=False)
    _compare(answer, expected, what, mistakes, rule, Rule(max(rtol, 1e-6), atol, ints_apart=False))


def keys(answer: Any, names: Iterable[str], what: str) -> None:
    """Passes if the answer is a dict with these keys, in any order, and no others.

    Args:
        answer: what the student returned.
        names: the keys.
        what: as for `equal`.

    Raises:
        WrongAnswer: it is not a dict, or a key is missing, or there is one that was not asked for.
    """
    wanted = list(names)
    expected = _with_keys(wanted)
    if not isinstance(answer, dict):
        note = NO_DICT.get(type(answer), "")
        _fail(Mismatch(what, show(_plain(answer, what)), expected, note))
    missing = [name for name in wanted if name not in answer]
    others = [name for name in answer if name not in wanted]
    told = [("Missing", missing), ("Not asked for", others)]
    if missing or others:
        got = _with_keys(list(answer)) if answer else "{}"
        _fail(Mismatch(what, got, expected, " ".join(f"{how}: {_listed(them)}." for how, them in told if them)))


NO_DICT = {
    type(None): "Is there a return statement?",
    list: "A list has no keys: return a dict.",
    tuple: "A tuple has no keys: return a dict.",
    set: "A set has no keys: each name in a dict has a value, as in {'name': 1}.",
}
"""Type of an answer that is no dict → what to say about it."""


def _with_keys(names: Sequence[Any]) -> str:
    return f"a dict with the key{'s' if len(names) > 1 else ''} {_listed(names)}"


def _listed(names: Iterable[Any]) -> str:
    return ", ".join(show(plain(name)) for name in names)


def series(
    answers: Iterable[Any],
    expected: Iterable[Any],
    whats: Iterable[str],
    mistakes: Iterable[tuple[list[Any], str]] = (),
    each: Iterable[Mistakes] = (),
    rtol: float | None = None,
) -> None:
    """Passes if every answer equals the expected value: several calls, where only all of them show which mistake it is.

    Args:
        answers: what the student returned, call by call.
        expected: the right values.
        whats: what was asked in each call, as in `equal`.
        mistakes: known wrong values of all calls, and what to say; the first that equals all answers is named.
        each: for each call, the mistakes to look for where no known values fit; as in `equal`.
        rtol: as in `close`; left out, values are compared as by `equal`.

    Raises:
        WrongAnswer: one does not; the message is about the first.
    """
    mine, right = list(answers), list(expected)
    rule = EXACT if rtol is None else Rule(rtol, ints_apart=False)
    loose = LOOSE if rtol is None else Rule(max(rtol, 1e-6), ints_apart=False)
    named = _named(list(mistakes), _plain(mine, "series"), plain(right), loose)
    others = list(each) or [None] * len(right)
    for answer, value, what, other in zip(mine, right, whats, others, strict=True):
        _compare(answer, value, what, [(answer, named)] if named else other, rule, loose)


def within(answer: Any, expected: float, what: str, factor: float, mistakes: Mistakes = None) -> None:
    """Passes if a measured value is at most `factor` times the expected one, and at least that part of it.

    Args:
        answer: what the student measured; a positive number.
        expected: the grader's own number, in the same unit; positive.
        what: what was measured.
        factor: ≥ 1.
        mistakes: known wrong values, recognized within the same factor, 1.25 at most.

    Raises:
        WrongAnswer: it is not.
    """
    mine, theirs = _plain(answer, what), float(expected)
    ratio = _ratio(mine, theirs)
    if _near(ratio, factor):
        return
    misconception = ""
    if ratio is None:
        misconception = _named(mistakes, mine, theirs, LOOSE)
        inside = difference(mine, theirs, LOOSE) or "A measured value is above 0, and finite."
    else:
        known = [(float(wrong), words) for wrong, words in _pairs(mistakes)]
        known = [(wrong, words) for wrong, words in known if wrong and wrong != theirs]  # 0 is no multiple of anything
        named = [words for wrong, words in known if _near(_ratio(mine, wrong), min(factor, 1.25))]
        misconception = named[0] if named else ""
        inside = f"Yours is {show(ratio)} times that."
    wanted = f"{show(theirs)} within a factor of {factor:g}"
    _fail(Mismatch(what, show(mine), wanted, misconception, inside))


def share(
    answers: Any,
    expected: Mapping[str, Any],
    points: float,
    what: str,
    mistakes: Mapping[str, Mistakes] | None = None,
) -> float:
    """The part of `points` that a dict of answers earns, each item counting the same.

    Prints one line for every item that is wrong or missing, and one that names items nobody asked for.

    Args:
        answers: the student's dict.
        expected: the right one.
        points: what all items together are worth.
        what: the name of the exercise.
        mistakes: for some items, known wrong values and what to say about each.

    Returns:
        A Python float in (0, points]; exactly `points` when every item is right.

    Raises:
        WrongAnswer: it is not a dict, or nothing in it is right.
    """
    mine = _plain(answers, what)
    if not isinstance(mine, DictOf):
        inside = difference(mine, plain(dict(expected)), EXACT) or ""
        _fail(Mismatch(what, show(mine), f"a dict with {len(expected)} items", difference=inside))
    given = {token(key): value for key, value in mine.pairs}
    lines, found = [], []
    for key, right in expected.items():
        place = token(plain(key))
        if place not in given:
            lines.append(f"{key!r}: no answer.")
            found.append(Mismatch(repr(key), expected=show(plain(right)), difference=f"{key!r}: no answer."))
            continue
        value = given.pop(place)
        item_inside = difference(value, plain(right), EXACT)
        if item_inside is not None:
            known = _named((mistakes or {}).get(key), value, plain(right), LOOSE)
            lines.append(f"{key!r}: you said {show(value)}. {known or item_inside or 'That is not it.'}")
            found.append(Mismatch(repr(key), show(value), show(plain(right)), known, item_inside))
    correct = len(expected) - len(lines)
    extra = [key for key, _ in mine.pairs if token(key) in given]
    if extra:
        lines.append(f"Not asked for: {show(extra)[1:-1]}.")
        found.append(Mismatch(what, show(extra), difference=lines[-1]))
    if not correct:
        raise WrongAnswer("\n  ".join([f"{what}: none of the {len(expected)} is right.", *lines]), *found)
    if lines:
        note_mismatches(found)
        print("\n  ".join([f"{what}: {correct} of {len(expected)} right.", *lines]))
    return float(points) if correct == len(expected) else float(points) * correct / len(expected)


def raises(
    kind: type[BaseException] | tuple[type[BaseException], ...], function: Callable[..., Any], *args: Any
) -> None:
    """Passes if `function(*args)` raises an exception of this kind.

    Raises:
        WrongAnswer: it returns, or raises another exception.
    """
    wanted = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
    called = f"called with {', '.join(show(_plain(argument, 'raises')) for argument in args) or 'no arguments'}"
    try:
        answer = function(*args)
    except kind:
        return
    except (Exception, SystemExit) as error:
        raised = type(error).__name__
        mismatch = Mismatch(called, raised, wanted, difference=f"It raised {raised}, expected {wanted}.")
        raise WrongAnswer(f"{called}: it raised {raised}, expected {wanted}.", mismatch) from None
    shown = show(_plain(answer, called))
    _fail(Mismatch(called, shown, wanted, difference="It should have raised an exception."))


def _compare(answer: Any, expected: Any, what: str, mistakes: Mistakes, rule: Rule, loose: Rule) -> None:
    mine, theirs = _plain(answer, what), plain(expected)
    inside = difference(mine, theirs, rule)
    if inside is None:
        return
    shown, wanted = show(mine), show(theirs)
    if shown == wanted:  # equal to six digits: show them all
        shown, wanted = show(mine, exact=True), show(theirs, exact=True)
    known = _named(mistakes, mine, theirs, loose)
    if "round" not in known.lower() and is_rounded(mine, theirs, clearly=not known):
        known = f"{known} Or is it rounded?" if known else ROUNDED
    if not known and has_float32_digits(mine, theirs):
        known = FLOAT32
    if not known and has_16_bits(mine, theirs):
        known = BITS16
    if not known:
        facts = f"{coarser_type(mine, theirs)} {pattern(mine, theirs, rule)}".strip()
        inside = f"{inside} {facts}".strip()
    _fail(Mismatch(what, shown, wanted, known, inside))


def _plain(answer: Any, what: str) -> Any:
    try:
        return plain(answer)
    except TooLarge as error:
        inside = f"You returned a value that cannot be compared: {error}."
        message = f"{what}: you returned a value that cannot be compared: {error}."
        raise WrongAnswer(message, Mismatch(what, difference=inside)) from None


def _pairs(mistakes: Mistakes) -> list[tuple[Any, str]]:
    return list(mistakes.items() if isinstance(mistakes, Mapping) else mistakes or ())


def _named(mistakes: Mistakes, answer: Any, expected: Any, rule: Rule) -> str:
    """What to say about the first known wrong value that the answer is, unless it is right in this case; else ""."""
    for wrong, note in _pairs(mistakes):
        value = plain(wrong)
        if difference(answer, value, rule) is None and difference(value, expected, rule) is not None:
            return note.strip()
    return ""


def _ratio(mine: Any, theirs: float) -> float | None:
    """The measured number as a multiple of the other one; None when it is not a positive finite number."""
    if type(mine) not in (int, float) or not 0 < mine < float("inf"):
        return None
    try:
        return float(mine) / theirs
    except OverflowError:
        return None


def _near(ratio: float | None, factor: float) -> bool:
    return ratio is not None and 1 / factor <= ratio <= factor


def _fail(wrong: Mismatch) -> NoReturn:
    # Where both look alike in the part that is shown, the place of the difference has to be named.
    alike = wrong.difference if wrong.got == wrong.expected and wrong.misconception else ""
    alike = alike.removesuffix(UNWRITTEN).strip()  # a question, which the known mistake answers
    words = f"{alike} {wrong.misconception or wrong.difference}".strip()
    message = f"{wrong.what}: you returned {wrong.got}, expected {wrong.expected}."
    raise WrongAnswer(f"{message} {words}" if words else message, wrong)
