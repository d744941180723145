"""Counts of 53 launches by another emulator of PTX, where they are at hand; they are not part of the project."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from pathlib import Path

import pytest

from . import bank

LAUNCHES = 53
Counts = dict[str, tuple[int, ...]]


def recording() -> Path | None:
    """The file with them, if there is one."""
    places = (parent / "shared" / "counts" / "launches.csv" for parent in bank.ROOT.parents)
    return next((place for place in places if place.is_file()), None)


def recorded_counts(place: Path) -> dict[tuple[str, str], Counts]:
    """Exercise and title of an answer → space and kind → elements, requests, sectors or wavefronts."""
    found: dict[tuple[str, str], Counts] = defaultdict(dict)
    with place.open() as rows:
        for row in csv.DictReader(rows):
            numbers = tuple(int(row[f"ptx_{what}"]) for what in ("elements", "requests", "sectors_or_wavefronts"))
            written = row["answer"].replace("bours", "bors")  # spelled the British way there
            title = re.sub(r"^(wrong|right)( gpu)?: | — says.*", "", written)
            found[row["exercise"], title][row["access"]] = numbers
    return found


def differences(place: Path) -> dict[tuple[str, str], tuple[Counts, Counts]]:
    """Exercise and title of each answer that is counted otherwise here → counts here, and there."""
    known = {(exercise, answer.title): answer for exercise in bank.INPUTS for answer in bank.answers(exercise)}
    found = {}
    for key, counts in recorded_counts(place).items():
        engine = bank.Ptx()
        bank.execute(known[key], pytest.MonkeyPatch(), engine)
        if engine.sums() != counts:
            found[key] = (engine.sums(), counts)
    return found
