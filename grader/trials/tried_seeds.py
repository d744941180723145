"""Which answers have been tried with which seeds, in a file, so that many seeds can be tried in pieces."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import gpulab
import grader
from grader.authoring.answers import Answer

PACKAGES = (Path(gpulab.__file__).parent, *(Path(grader.__file__).parent / one for one in ("exercises", "judging")))
"""What decides about an outcome besides the test and the answer."""


@dataclass(frozen=True)
class TriedSeeds:
    """Trials that came out as they must. Lines are only appended, so several commands can share the file."""

    path: Path

    def seeds_of(self, keys: Iterable[str]) -> dict[str, frozenset[int]]:
        """The seeds that each key has been tried with."""
        found: dict[str, set[int]] = defaultdict(set)
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                found[row["key"]].add(row["seed"])
        return {key: frozenset(found[key]) for key in keys}

    def add(self, key: str, answer: Answer, seed: int) -> None:
        """Writes down that the answer came out as it must with this seed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        row = {"key": key, "answer": str(answer), "seed": seed}
        with self.path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row) + "\n")


def keys_of(answers: Sequence[Answer], cells: object) -> list[str]:
    """A key for each answer, which changes with the answer, the test, and the code that they run in.

    Args:
        answers: to one exercise.
        cells: the cells that are run before and after an answer, as plain values.
    """
    setting = hashlib.sha256(json.dumps(cells).encode())
    for package in PACKAGES:
        for path in sorted(package.rglob("*.py")):
            setting.update(path.read_bytes())
    return [
        hashlib.sha256(
            json.dumps([setting.hexdigest(), one.exercise, one.kind, one.source, one.says, one.earns]).encode()
        ).hexdigest()
        for one in answers
    ]
