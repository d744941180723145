"""The options that make a code cell an exercise or a test, and the notebook metadata that they stand for.

    :exercise: saxpy          the answer: students fill it in
    :test: saxpy              its test, with   :points: 2
    :gpu_test: saxpy          its test that needs a GPU, with   :points: 3   and perhaps   :needs: speedup

nbgrader wants seven fields for each of these; a name and the points decide all of them. Where options stand in a file
is up to `myst`; whether a test finds its exercise is `lint.metadata`'s.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from grader.model.needs import Need


@dataclass(frozen=True)
class Naming:
    """What an option that names an exercise makes of its cell."""

    suffix: str
    """The grade id is the exercise's name followed by this."""
    graded: bool
    """Whether the cell is a test, which earns points and which students cannot edit, or the answer."""
    tags: tuple[str, ...] = ()

    def settings(self, name: str) -> dict[str, Any]:
        """nbgrader's fields."""
        return {
            "schema_version": 3,
            "grade": self.graded,
            "grade_id": name + self.suffix,
            "locked": self.graded,
            "solution": not self.graded,
            "task": False,
        }


NAMING = {
    "exercise": Naming("", graded=False),
    "test": Naming("_test", graded=True),
    "gpu_test": Naming("_gpu", graded=True, tags=("gpu",)),
}
TEST_OPTIONS = {"points": ("nbgrader", "points"), "needs": ("needs",)}
"""Options that a test cell may have besides, and the path of their value in the notebook's metadata."""
PLAIN_OPTIONS = ("tags", "nbval_rtol")
"""Options that every code cell may have, and that the notebook keeps as they are."""
KNOWN = (*NAMING, *TEST_OPTIONS, *PLAIN_OPTIONS)
NAME = re.compile(r"[A-Za-z0-9_-]{1,59}")  # nbgrader's letters; with "_test" no longer than a cell id may be


def expand(options: Mapping[str, Any]) -> dict[str, Any]:
    """The notebook metadata that a cell's options stand for.

    Args:
        options: a cell's options, in which `option_faults` finds nothing.
    """
    metadata = {name: value for name, value in options.items() if name in PLAIN_OPTIONS}
    for option, naming in NAMING.items():
        if option in options:
            metadata["nbgrader"] = naming.settings(options[option])
            if naming.tags:
                metadata["tags"] = [*naming.tags, *(tag for tag in options.get("tags", []) if tag not in naming.tags)]
    for option, (*path, last) in TEST_OPTIONS.items():
        if option in options:
            place = metadata
            for name in path:
                place = place.setdefault(name, {})
            place[last] = options[option]
    return metadata


def option_faults(options: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What is wrong with a cell's options: the option concerned, what, and what to do."""
    for option in options:
        if option == "nbgrader":
            yield option, "nbgrader's settings are written out here", _short_form(options["nbgrader"])
        elif option not in KNOWN:
            near = difflib.get_close_matches(str(option), KNOWN, n=1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(KNOWN)}."
            yield option, f"the cell's metadata has an unknown entry {option!r}", remedy
    named = [option for option in options if option in NAMING]
    for option in named[1:]:
        what = f"a cell with :{named[0]}: cannot have :{option}: too"
        yield option, what, "Write one of them: an exercise and its tests are cells of their own."
    for option in named[:1]:
        yield from _name_faults(option, options[option])
    test = next((option for option in named if NAMING[option].graded), "")
    for option in TEST_OPTIONS:
        if option in options and not test and "nbgrader" not in options:
            what = f"a cell with :{option}: is no test" if named else f":{option}: stands in a cell without :test: name"
            yield option, what, f"Only a cell with :test: or :gpu_test: has :{option}:."
    if test and len(named) == 1:
        yield from _points_faults(test, options)
    if "needs" in options:
        yield from _need_faults(options["needs"])


def _name_faults(option: str, name: Any) -> Iterator[tuple[str, str, str]]:
    if not isinstance(name, str):
        what = f":{option}: is {name!r}, which YAML reads as a {type(name).__name__}"
        yield option, what, f'Write the exercise\'s name, in quotes if need be: :{option}: "…".'
    elif not NAME.fullmatch(name):
        yield option, f":{option}: is {name!r}", "Use 1 to 59 letters, digits, _ and -."
    elif name.endswith(("_test", "_gpu")):
        short = name.removesuffix("_test").removesuffix("_gpu")
        yield (
            option,
            f":{option}: ends in {name[len(short) :]}",
            f"Write :{option}: {short}; the build adds the ending.",
        )


def _points_faults(test: str, options: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    points = options.get("points")
    if "points" not in options:
        yield test, f'the test of "{options[test]}" has no points', 'Add ":points: 2" below it.'
    elif isinstance(points, bool) or not isinstance(points, int | float):
        yield "points", f":points: is {points!r}, not a number", 'Write ":points: 2".'
    elif not 0 < points < 1000:
        yield "points", f":points: is {points}", "Give the test more than 0 and fewer than 1000 points."


def _need_faults(value: Any) -> Iterator[tuple[str, str, str]]:
    known = [need.value for need in Need]
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not words or len(set(map(str, words))) < len(words):
        what = f":needs: is {value!r}, not a list of different words"
        yield "needs", what, f'Write ":needs: {known[0]}"; known are {", ".join(known)}.'
        return
    for word in words:
        if word not in known:
            near = difflib.get_close_matches(str(word), known, n=1)
            remedy = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(known)}."
            yield "needs", f"the test has an unknown need {word!r}", remedy


def _short_form(settings: Any) -> str:
    """The remedy for fields that are written out."""
    fields = settings if isinstance(settings, dict) else {}
    identity = str(fields.get("grade_id", "name"))
    if not fields.get("grade"):
        return f"Write :exercise: {identity} below the fence."
    option = "gpu_test" if identity.endswith("_gpu") else "test"
    name = identity.removesuffix("_gpu").removesuffix("_test")
    return f"Write :{option}: {name} and :points: {fields.get('points', 2)} below the fence."
