"""What the reading exercises of the tensor-core chapter need: the menu of codes, and how a set of them earns points.

Which codes are right is in the chapter's hidden tests, not here: this file lies open in front of every student.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Mapping
from typing import Any

MENU = {
    "input_width": "the features or channels that enter the network are not a multiple of 8",
    "hidden_width": "a size between two layers is not a multiple of 8",
    "output_width": "the outputs of the network are not a multiple of 8",
    "batch_size": "the batch size asked for is not a multiple of 8",
    "short_batch": "the last batch is cut short, and what is left is not a multiple of 8",
    "image_size": "height and width of the images are not multiples of 8",
    "kernel_size": "the kernel of a convolution is not a multiple of 8",
    "power_of_two": "a size between two layers is a multiple of 8, but not a power of two",
    "no_activation": "two layers follow each other with no activation between",
    "math_heavy": "an activation is math-heavy",
    "wrong_width": "the first layer expects another width than the data has",
    "wrong_classes": "there are not as many outputs as classes",
    "shrinking": "convolutions without padding shrink the picture, so that the result no longer fits the mask",
    "fed_loader": "the model is given the loader, not a batch",
    "syntax": "it is not Python: a comma is missing",
}
"""Code → what it says about a program."""


def on_the_menu(found: Any, what: str) -> None:
    """Fails unless `found` is a set; prints a line for every element that is not on the menu.

    Raises:
        AssertionError: it is no set.
    """
    if not isinstance(found, (set, frozenset)):
        note = "{} is an empty dict; write set()." if isinstance(found, dict) and not found else "Write {…}."
        raise AssertionError(f"{what}: a {type(found).__name__} is not a set of codes. {note}")
    for code in sorted(found - MENU.keys(), key=repr):
        near = difflib.get_close_matches(str(code), MENU, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "It counts as a false alarm."
        print(f"{what}: {str(code)[:40]!r} is not on the menu. {hint}")


def credit(found: Any, faults: Mapping[str, str], innocents: Mapping[str, str], points: float, what: str) -> float:
    """The part of `points` that a set of codes earns: (hits − false alarms) / faults.

    Prints a line for every fault that was missed and for every false alarm.

    Args:
        found: the student's set.
        faults: each code that belongs into it → a hint for whoever missed it.
        innocents: codes that do not → why not.
        points: what all faults together are worth.
        what: the name of the exercise.

    Returns:
        A Python float in (0, points]; exactly `points` when just the faults were found.

    Raises:
        AssertionError: it is no set, or earns nothing.
    """
    if not isinstance(found, (set, frozenset)):
        on_the_menu(found, what)
    hits = found & faults.keys()
    alarms = sorted(found - faults.keys(), key=repr)
    lines = [f"{str(code)[:40]!r} is a false alarm. {innocents.get(code, 'It is not on the menu.')}" for code in alarms]
    lines += [f"Missed: {hint}" for code, hint in faults.items() if code not in hits]
    head = f"{what}: {len(hits)} of {len(faults)} faults found, {len(alarms)} false alarms."
    if len(hits) <= len(alarms):
        raise AssertionError("\n  ".join([head, *lines]))
    if lines:
        print("\n  ".join([head, *lines]))
    return float(points) if not lines else float(points) * (len(hits) - len(alarms)) / len(faults)


def networks() -> list[tuple[str, list[dict[str, Any]], int]]:
    """The networks of the three programs, once they are Python, as `review` takes them: title, layers, batch size."""

    def linear(*sizes: int) -> list[dict[str, Any]]:
        pairs = itertools.pairwise(sizes)
        return [{"kind": "linear", "in_features": first, "out_features": last} for first, last in pairs]

    def conv(first: int, last: int) -> dict[str, Any]:
        return {"kind": "conv", "in_channels": first, "out_channels": last}

    relu = {"kind": "relu"}
    first, second, third = linear(64, 40, 80, 16)
    return [
        ("wine", linear(256, 96, 48, 20, 5), 256),
        ("minerals", [first, dict(relu), second, dict(relu), third], 64),
        ("cells", [conv(3, 48), dict(relu), conv(48, 96), dict(relu), conv(96, 1), {"kind": "sigmoid"}], 32),
    ]
