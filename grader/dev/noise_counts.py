"""Keeps the results of gradings next to busy neighbors in a file, so that several runs can collect thousands."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from grader.authoring.answers import Answer
from grader.model.course import CourseError
from grader.model.notebooks import Cell
from grader.model.records import make_folder, write_atomically

DECIDING = ("gpulab/virtual_gpu", "grader/exercises/measuring", "grader/dev/noise.py", "grader/model/limits.py")
"""Files and folders whose code decides, besides the test cell: the simulated GPU, and the experiment's limits."""
ROOT = Path(__file__).parents[2]


@dataclass
class Piece:
    """What came of gradings with consecutive seeds."""

    exercise: str
    neighbors: int
    of: str
    """Digest of the exercise: see `Counts.digest`."""
    first_seed: int
    right: int = 0
    """Gradings of right answers."""
    wrong: int = 0
    """Gradings of wrong and hostile answers."""
    mistaken: list[str] = field(default_factory=list)
    """Wrong verdicts: answer, seed and message."""
    pending: int = 0
    """Gradings that ended undecided."""
    unnamed: int = 0
    """Wrong answers that failed without the words that the bank wants."""
    seconds: float = 0.0
    longest_right_seconds: float = 0.0
    """Wall time of the longest grading of a right answer."""
    load: float = 0.0
    """Processes that wanted to run, the last minute's average, when the piece ended."""
    machine: str = ""
    date: str = ""

    @property
    def gradings(self) -> int:
        """How many; the last seed is `first_seed + gradings - 1`."""
        return self.right + self.wrong


class Counts:
    """The pieces in a file. Pieces of what an exercise was before a change stay there and do not count."""

    def __init__(self, path: Path) -> None:
        """Reads the file, if it is there.

        Raises:
            CourseError: it is not a file of pieces.
        """
        self.path = path
        self._pieces: list[Piece] = []
        if path.exists():
            try:
                self._pieces = [Piece(**one) for one in json.loads(path.read_text(encoding="utf-8"))]
            except (OSError, ValueError, TypeError) as error:
                raise CourseError(path, f"cannot be read ({error})", "Remove it, and grade again.") from None

    def keep(self, piece: Piece, seconds: float, load: float) -> None:
        """Writes the file with this piece, which may have been kept before.

        Raises:
            CourseError: it cannot be written.
        """
        piece.seconds, piece.load = round(seconds, 1), round(load, 1)
        if piece.gradings and not any(piece is one for one in self._pieces):
            self._pieces.append(piece)
        make_folder(self.path.parent)
        write_atomically(self.path, json.dumps([asdict(one) for one in self._pieces], indent=1) + "\n")

    def total(self, exercise: str, neighbors: int, cell: Cell, answers: list[Answer]) -> Piece:
        """All pieces of an exercise as it is now, next to so many neighbors, as one."""
        found = Piece(exercise, neighbors, self.digest(cell, answers), 0)
        for piece in self._of(found):
            found.right += piece.right
            found.wrong += piece.wrong
            found.mistaken += piece.mistaken
            found.pending += piece.pending
            found.unnamed += piece.unnamed
            found.seconds += piece.seconds
            found.longest_right_seconds = max(found.longest_right_seconds, piece.longest_right_seconds)
        return found

    def _of(self, wanted: Piece) -> Iterator[Piece]:
        for piece in self._pieces:
            if (piece.exercise, piece.neighbors, piece.of) == (wanted.exercise, wanted.neighbors, wanted.of):
                yield piece

    @staticmethod
    def digest(cell: Cell, answers: list[Answer]) -> str:
        """Changes when the test cell, an answer, the code of the simulated GPU, or the experiment's limits do."""
        code = [
            path.read_text(encoding="utf-8")
            for place in DECIDING
            for path in (sorted((ROOT / place).glob("*.py")) if (ROOT / place).is_dir() else [ROOT / place])
        ]
        parts = [cell.source, *code, *(f"{one}{one.says}{one.source}" for one in answers)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
