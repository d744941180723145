"""Which chapter a submitted notebook is of: by its cells' grade ids, else by its name. Runs and fixes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping

from grader.model.course import Course
from grader.model.untrusted_cells import MAX_CONTAINERS


def chapter_of(
    data: bytes, file: str, wanted: str | None, known: Mapping[str, frozenset[str]]
) -> tuple[str, tuple[str, ...]]:
    """The chapter that a notebook is of, and what is to be said about it.

    Args:
        data: the notebook, or whatever it is.
        file: its name.
        wanted: the chapter that was asked for; None for any.
        known: chapter → grade ids of its cells.

    Raises:
        ValueError: it is none, or of another chapter than was asked for; the text says which.
    """
    by_name = next((chapter for chapter in known if chapter in file), None)
    try:
        ids = ids_in(data)
    except (ValueError, RecursionError):
        if (chapter := wanted or by_name) is None:
            raise ValueError("not a whole notebook, and its name is no chapter's") from None
        return chapter, ("damaged: it cannot be read as a notebook",)
    common = {chapter: len(ids & own) for chapter, own in known.items()}
    best = max(common, key=lambda chapter: common[chapter], default=None)
    if best is not None and common[best]:
        if wanted not in (None, best):
            raise ValueError(f"a notebook of {best}")
        return best, ()
    if (chapter := wanted or by_name) is None:
        raise ValueError("a notebook of none of the chapters; --chapter takes it as one of that chapter")
    return chapter, ("has none of the chapter's cells by name; grading looks for them by content",)


def ids_in(data: bytes) -> frozenset[str]:
    """Grade ids of a notebook's cells.

    Raises:
        ValueError: it is none.
    """
    if data.count(b"[") + data.count(b"{") > MAX_CONTAINERS:
        raise ValueError("more lists and objects than a notebook has")
    notebook = json.loads(data)
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise ValueError("no notebook")
    ids = set()
    for cell in notebook["cells"]:
        metadata = cell.get("metadata") if isinstance(cell, dict) else None
        settings = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        if isinstance(settings, dict) and isinstance(settings.get("grade_id"), str):
            ids.add(settings["grade_id"])
    return frozenset(ids)


def grade_ids(course: Course, chapter: str) -> frozenset[str]:
    """Grade ids of a chapter, as released; none where it is not released yet."""
    try:
        return ids_in(course.chapter(chapter).release.read_bytes())
    except (OSError, ValueError):
        return frozenset()
