"""What becomes of one file of a download. A leaf: `collect` decides, `intake.disk` does it, the command shows it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from grader.intake.ledger import Taken
from grader.intake.sources import DownloadEntry
from grader.model.harmless_text import printable


class FileState(StrEnum):
    """What becomes of one file of a download."""

    TAKEN = "taken"
    REPLACED = "replaced"
    """Taken; an earlier one was put aside."""
    UNCHANGED = "there already"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Decision:
    """What is to become of one file, and why."""

    state: FileState
    file: str
    """Path in the download."""
    student: str = ""
    chapter: str = ""
    notes: tuple[str, ...] = ()
    taken: Taken | None = None
    """What the ledger is to say; None when skipped."""
    entry: DownloadEntry | None = None

    @property
    def why(self) -> str:
        """The notes as one line, without anything of a name that could drive a terminal."""
        return printable("; ".join(self.notes))
