"""Where things are in a course, and the error that a person can fix.

A course is a folder that holds `nbgrader_config.py` and `solutions/`. This module finds it and names the files of a
chapter; it reads none of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.model.harmless_text import printable, printable_text


class CourseError(Exception):
    """Something that a person can fix; the command line prints it and exits with 2.

    Args:
        where: the file, folder, cell or option concerned.
        what: what is wrong with it, one sentence without a full stop.
        remedy: what to do next, one sentence.
    """

    def __init__(self, where: str | Path, what: str, remedy: str = "") -> None:
        super().__init__(str(where), what, remedy)  # all fields in args: survives pickling
        self.where, self.what, self.remedy = str(where), what, remedy

    def __str__(self) -> str:
        # Other people's files have a place in it: no name of theirs may make two lines of it, or drive the terminal.
        return printable(self.where) + printable_text(f": {self.what}." + (f" {self.remedy}" if self.remedy else ""))


@dataclass(frozen=True)
class Chapter:
    """The files of one chapter, whether or not they exist yet."""

    name: str
    root: Path

    @property
    def source(self) -> Path:
        """The MyST text that the chapter is written in."""
        return self.root / "solutions" / f"{self.name}.md"

    @property
    def solution(self) -> Path:
        """The built and executed notebook with answers and hidden tests."""
        return self.root / "solutions" / self.name / f"{self.name}.ipynb"

    @property
    def release(self) -> Path:
        """The notebook that students get."""
        return self.root / "notebooks" / self.name / f"{self.name}.ipynb"

    @property
    def answers(self) -> Path:
        """The folder of right, wrong and hostile answers."""
        return self.root / "answers" / self.name


@dataclass(frozen=True)
class Course:
    """A course folder."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> Course:
        """The course that `start` (default: the working directory) lies in.

        Raises:
            CourseError: neither it nor any folder above it is a course.
        """
        here = (start or Path.cwd()).resolve()
        for folder in (here, *here.parents):
            if (folder / "nbgrader_config.py").is_file() and (folder / "solutions").is_dir():
                return cls(folder)
        raise CourseError(here, "no course here or above", "Change into the folder that holds nbgrader_config.py.")

    @property
    def work(self) -> Path:
        """Everything that grading writes; never committed."""
        return self.root / "work"

    @property
    def submitted(self) -> Path:
        """Submissions: `submitted/<student>/<chapter>/<chapter>.ipynb`."""
        return self.work / "submitted"

    @property
    def results(self) -> Path:
        """Result files: `results/<chapter>/<student>.json`."""
        return self.work / "results"

    @property
    def autograded(self) -> Path:
        """Executed notebooks for formgrader: `autograded/<student>/<chapter>/<chapter>.ipynb`."""
        return self.work / "autograded"

    @property
    def feedback(self) -> Path:
        """Feedback pages: `feedback/<student>/<chapter>/<chapter>.html`."""
        return self.work / "feedback"

    @property
    def gradebook(self) -> Path:
        """nbgrader's database."""
        return self.work / "gradebook.db"

    @property
    def variants(self) -> Path:
        """Notebooks of single students: `variants/<student>/<chapter>/<chapter>.ipynb`."""
        return self.work / "variants"

    def reports(self, chapter: str) -> Path:
        """The folder of a chapter's report: `reports/<chapter>/`."""
        return self.work / "reports" / chapter

    def chapters(self) -> list[Chapter]:
        """All chapters that have a source, in order."""
        return [Chapter(path.stem, self.root) for path in sorted((self.root / "solutions").glob("[0-9]*.md"))]

    def chapter(self, name: str) -> Chapter:
        """The chapter called `name`; its number or any unambiguous beginning will do.

        Raises:
            CourseError: there is no such chapter.
        """
        name = name.removesuffix(".md").removesuffix(".ipynb").strip("/").split("/")[-1]
        known = [chapter.name for chapter in self.chapters()]
        exact = [other for other in known if other == name]
        if not exact and name.isdecimal():  # 1 is 01_…, and not 10_…
            exact = [other for other in known if _number(other) == int(name)]
        elif not exact and name:
            exact = [other for other in known if other.startswith(name)]
        if len(exact) == 1:
            return Chapter(exact[0], self.root)
        remedy = f"Did you mean {' or '.join(exact)}?" if exact else nearest(name, known)
        raise CourseError(name or "(empty name)", "no such chapter", remedy)


def _number(chapter: str) -> int:
    """The number that a chapter's name begins with; -1 when there is none."""
    digits = chapter.partition("_")[0]
    return int(digits) if digits.isdecimal() else -1


def nearest(name: str, known: Iterable[str]) -> str:
    """Which of the known names was probably meant, as a sentence; all of them when none is near."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known) or 'none'}."
