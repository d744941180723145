"""Downloads as a learning platform packs them, for tests of what is taken from them."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from recorded_class import NAME, released_notebook

from grader.intake import collect, disk
from grader.intake.decisions import Decision
from grader.intake.sources import opened
from grader.model.course import Course

NOON = (2026, 11, 20, 12, 0, 0)
OTHER = "02_other"
IPYNB = f"{NAME}.ipynb"


def notebook(answer: str = "") -> bytes:
    """A submission; another answer gives another file."""
    filled = released_notebook()
    filled.cells[2].source += f"\n# {answer}"
    text: str = nbformat.writes(filled)
    return text.encode()


Member = tuple[str, bytes] | tuple[str, bytes, tuple[int, ...]]


def zipped(path: Path, *members: Member) -> Path:
    """An archive; members without a time are all of one moment, as when a platform writes it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data, *time in members:
            info = zipfile.ZipInfo(name, date_time=(time or [NOON])[0])  # type: ignore[arg-type]
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return path


def collected(course: Course, path: Path, **wishes: Any) -> list[Decision]:
    with opened(path) as source:
        decisions = collect.plan(course, source, path.stem, collect.Wishes(**wishes))
        return disk.carry_out(course, source, decisions)


def moodle(name: str, file: str = IPYNB) -> str:
    return f"{name}_assignsubmission_file/{file}"


def told(decisions: Sequence[Decision]) -> list[tuple[str, str]]:
    return [(one.student, one.state.value) for one in decisions]
