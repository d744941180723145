"""Gives a chapter another number: files, folders, and every mention of it, without running a cell.

A chapter's number stands in the names of its files only; all else that says it is found by the patterns below and
rewritten. What grading has written below `work/` keeps the old names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from grader.authoring import building, launcher, releasing
from grader.authoring.lint import checked_source
from grader.model.course import Chapter, Course, CourseError
from grader.model.notebook_io import stable_ids
from grader.model.notebooks import read_own

ONE = re.compile(r"\b(?P<before>[Cc]hapter\s+)(?P<numbers>\d{1,2})\b(?![.,]\d)")
SEVERAL = re.compile(
    r"\b(?P<before>[Cc]hapters\s+)"
    r"(?P<numbers>\d{1,2}(?:(?:,\s+(?:and\s+|or\s+)?|\s+(?:and|or|to)\s+|–|-)\d{1,2})*)\b(?![.,]\d)"
)
COMMAND = re.compile(r"(?P<before>\bgrader [a-z]+ |\bCHAPTER=|--chapter )(?P<numbers>\d\d(?: \d\d)*)\b")
TABLE_ROW = re.compile(r"^(?P<before>\| )(?P<numbers>\d\d)(?= \|.*\b\d\d_[a-z])", re.MULTILINE)
PROSE = (ONE, SEVERAL, COMMAND, TABLE_ROW)

TEXT = {".md", ".py", ".toml", ".yml", ".yaml", ".json", ".j2", ".sh", ".csv", ".txt", ".html", ""}
LEFT_OUT = {".git", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", "__pycache__", "work", "dist"}
HISTORY = "CHANGELOG.md"
"""Says what was, so its numbers stay."""


@dataclass(frozen=True)
class Renumbering:
    """Which chapters get which names."""

    names: Mapping[str, str]
    """Old name → new name, of the chapters that move."""

    def text(self, text: str, prose: bool = True) -> str:
        """A text with the new names; with `prose`, numbers that are said to be a chapter's are new, too."""
        numbers = {int(_split(old)[0]): _split(new)[0] for old, new in self.names.items()}

        def number(match: re.Match[str]) -> str:
            new = numbers.get(int(match[0]))
            return match[0] if new is None else new if len(match[0]) > 1 else str(int(new))

        def mention(match: re.Match[str]) -> str:
            return match["before"] + re.sub(r"\d+", number, match["numbers"])

        for pattern in PROSE if prose else ():
            text = pattern.sub(mention, text)
        names = "|".join(map(re.escape, self.names))
        return re.sub(rf"(?<![A-Za-z0-9])(?:{names})(?![A-Za-z0-9_])", lambda match: self.names[match[0]], text)

    def value(self, value: Any) -> Any:
        """The same for every text in a notebook's cell or output."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(one) for one in value]
        if isinstance(value, dict):
            return type(value)({name: self.value(one) for name, one in value.items()})
        return value


def plan(course: Course, chapter: Chapter, number: int) -> Renumbering:
    """What has to be renamed for a chapter to get a number: one that has the number moves up by one, and so on.

    Raises:
        CourseError: the number is out of range, or is the chapter's own.
    """
    if not 1 <= number <= 99:
        raise CourseError(str(number), "not a number for a chapter", "Give one from 1 to 99.")
    names = {int(_split(one.name)[0]): one.name for one in course.chapters() if one.name != chapter.name}
    if int(_split(chapter.name)[0]) == number:
        raise CourseError(chapter.name, f"has the number {number} already", "Give another number.")
    moved, at, name = {}, number, chapter.name
    while name:
        moved[name] = f"{at:02}_{_split(name)[1]}"
        name, at = names.get(at, ""), at + 1
    if at > 100:
        raise CourseError(chapter.name, "the chapters above it would pass number 99", "Give a lower number.")
    return Renumbering(moved)


def renumber(course: Course, change: Renumbering) -> list[Path]:
    """Carries out a plan; gives the files that changed or moved, relative to the course.

    Built notebooks keep their outputs, and count as executed if they did before.

    Raises:
        CourseError: a source has faults, or a file cannot be written. Nothing has changed if a source has faults.
    """
    built = {
        change.names.get(one.name, one.name): (_rewritten(one, change), building.is_current(one))
        for one in course.chapters()
        if checked_source(one.source) and one.solution.is_file()
    }
    released = {change.names.get(one.name, one.name) for one in course.chapters() if one.release.is_file()}
    changed = [*_rewrite_texts(course.root, change), *_rename(course.root, change)]
    for chapter in course.chapters():
        if chapter.name in built:
            earlier, current = built[chapter.name]
            building.carry_over(chapter, earlier, current)
            if chapter.name in released:
                releasing.release(chapter)
    if released:
        launcher.refresh(course)
    return changed


def mentions(course: Course, change: Renumbering) -> dict[Path, int]:
    """How many lines of each text file a plan would rewrite; changes nothing."""
    counts = {}
    for path, old, new in _texts(course.root, change):
        lines = sum(one != other for one, other in zip(old.splitlines(), new.splitlines(), strict=True))
        counts[path.relative_to(course.root)] = lines
    return counts


def _rewritten(chapter: Chapter, change: Renumbering) -> NotebookNode:
    """The built notebook with the new names, and with the ids that its cells then have."""
    notebook = read_own(chapter.solution, f'Run "grader build {chapter.name}".')
    for cell in notebook.cells:
        cell.source = change.value(cell.source)
        if cell.cell_type == "code":
            cell.outputs = change.value(cell.outputs)
    for cell, name in zip(notebook.cells, stable_ids(notebook.cells), strict=True):
        cell.id = name
    return notebook


def _files(root: Path) -> Iterator[Path]:
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if not any(part in LEFT_OUT or part.endswith(".egg-info") for part in parts):
            yield path


def _texts(root: Path, change: Renumbering) -> Iterator[tuple[Path, str, str]]:
    """Text files that mention a chapter, with what they say and what they will say. Tests have courses of their own."""
    for path in _files(root):
        if not path.is_file() or path.is_symlink() or path.suffix not in TEXT or path.name == HISTORY:
            continue
        try:
            old = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        new = change.text(old, prose=path.relative_to(root).parts[0] != "tests")
        if new != old:
            yield path, old, new


def _rewrite_texts(root: Path, change: Renumbering) -> list[Path]:
    changed = []
    for path, _, new in list(_texts(root, change)):
        path.write_text(new, encoding="utf-8")
        changed.append(path.relative_to(root))
    return changed


def _rename(root: Path, change: Renumbering) -> list[Path]:
    """Renames what is called like a chapter, with or without an ending."""
    folders: dict[Path, list[Path]] = {}
    for path in _files(root):
        if path.name.partition(".")[0] in change.names:
            folders.setdefault(path.parent, []).append(path)
    renamed = []
    for _, paths in sorted(folders.items(), key=lambda item: -len(item[0].parts)):  # what is inside a folder first
        aside = [path.rename(path.with_name(f"{path.name}.renumbered")) for path in paths]  # two may swap names
        for path, between in zip(paths, aside, strict=True):
            stem, dot, suffix = path.name.partition(".")
            renamed.append(between.rename(path.with_name(change.names[stem] + dot + suffix)).relative_to(root))
    return renamed


def _split(name: str) -> tuple[str, str]:
    number, _, topic = name.partition("_")
    return number, topic
