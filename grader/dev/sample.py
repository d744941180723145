"""Makes a class of submissions to try the grader on: what students send, and what some try, from the answer bank.

The same bank gives the same class, byte for byte. Knows nothing of grading; what each submission must earn is in the
tests.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.model.course import Chapter, Course, CourseError
from grader.model.notebooks import Role, cells_of, load_key, read_own
from grader.model.records import make_folder, write_atomically

Notebook = dict[str, Any]

SPY = '''\
# The answers must lie somewhere near this notebook.
import json
from pathlib import Path


def answer_found(name):
    """The source of the answer to an exercise, from any notebook in this folder or the one above."""
    for path in sorted([*Path(".").rglob("*"), *Path("..").rglob("*")]):
        try:
            cells = json.loads(path.read_text())["cells"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        for cell in cells:
            source = "".join(cell["source"])
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == name and "BEGIN SOLUTION" in source:
                return source
    return ""
'''


@dataclass(frozen=True)
class SampleMaterial:
    """What submissions are made from."""

    released: Notebook
    right: dict[str, list[str]]
    """Exercise → sources of right answers, in the bank's order."""
    wrong: dict[str, list[str]]
    hostile: dict[str, list[str]]

    @property
    def exercises(self) -> list[str]:
        """Grade ids of the exercises, in the chapter's order."""
        return list(self.right)

    def solved(self, which: int = 0) -> dict[str, str]:
        """A right answer to every exercise: the first, or the last with -1."""
        return {name: sources[which] for name, sources in self.right.items()}

    def mistaken(self, which: int) -> dict[str, str]:
        """A wrong answer to every exercise that has so many."""
        return {name: sources[which % len(sources)] for name, sources in self.wrong.items() if sources}

    def notebook(self, answers: dict[str, str]) -> Notebook:
        """The released notebook with these solution cells filled in."""
        notebook = copy.deepcopy(self.released)
        for cell in notebook["cells"]:
            settings = cell["metadata"].get("nbgrader", {})
            if settings.get("solution") and settings["grade_id"] in answers:
                cell["source"] = answers[settings["grade_id"]]
        return notebook


@dataclass(frozen=True)
class Student:
    """One of the class."""

    name: str
    make: Callable[[SampleMaterial], Notebook]
    beside: bool = False
    """Whether the notebook lies right in the student's folder instead of in a folder of the chapter's name."""
    cut: bool = False
    """Whether the file breaks off in the middle."""


def _blank(bank: SampleMaterial) -> Notebook:
    return bank.notebook({})


def _solved(bank: SampleMaterial) -> Notebook:
    return bank.notebook(bank.solved())


def _solved_differently(bank: SampleMaterial) -> Notebook:
    return bank.notebook(bank.solved(-1))


def _half(bank: SampleMaterial) -> Notebook:
    done = bank.exercises[: (len(bank.exercises) + 1) // 2]
    return bank.notebook({name: bank.right[name][0] for name in done})


def _one_slip(bank: SampleMaterial) -> Notebook:
    slip = next(name for name in reversed(bank.exercises) if bank.wrong[name])
    return bank.notebook(bank.solved() | {slip: bank.wrong[slip][0]})


def _mistaken(which: int) -> Callable[[SampleMaterial], Notebook]:
    return lambda bank: bank.notebook(bank.mistaken(which))


def _cells_deleted(bank: SampleMaterial) -> Notebook:
    """Solved, but every second test cell is gone, and the first exercise with its answer."""
    notebook = _solved(bank)
    tests = [cell for cell in notebook["cells"] if cell["metadata"].get("nbgrader", {}).get("grade")]
    gone = [cell["id"] for cell in tests[::2]]
    gone += [
        cell["id"]
        for cell in notebook["cells"]
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == bank.exercises[0]
    ]
    notebook["cells"] = [cell for cell in notebook["cells"] if cell["id"] not in gone]
    return notebook


def _metadata_stripped(bank: SampleMaterial) -> Notebook:
    """Solved, then sent through a tool that keeps text only."""
    notebook = _solved(bank)
    notebook["metadata"] = {}
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"] = {}
        cell["id"] = f"cell-{number}"
    return notebook


def _spy(bank: SampleMaterial) -> Notebook:
    """Has no answers of its own, and looks for ours."""
    notebook = bank.notebook({name: f'exec(answer_found("{name}"))' for name in bank.exercises})
    notebook["cells"].insert(
        0,
        {
            "cell_type": "code",
            "execution_count": None,
            "id": "spy",
            "metadata": {},
            "outputs": [],
            "source": SPY,
        },
    )
    return notebook


def _with(body: str) -> Callable[[SampleMaterial], Notebook]:
    """Solved, but the middle one of the functions is a cell that does this; `NAME` stands for the function's name."""

    def make(bank: SampleMaterial) -> Notebook:
        functions = [name for name in bank.exercises if not name.isupper()]
        victim = functions[len(functions) // 2]
        return bank.notebook(bank.solved() | {victim: body.replace("NAME", victim)})

    return make


def _hostile(bank: SampleMaterial) -> Notebook:
    return bank.notebook({name: sources[0] for name, sources in bank.hostile.items() if sources})


STUDENTS = (
    Student("anna-solved", _solved),
    Student("bela-differently", _solved_differently),
    Student("carla-blank", _blank),
    Student("dmitri-half", _half),
    Student("elif-one-slip", _one_slip),
    Student("farid-mistaken", _mistaken(0)),
    Student("grace-mistaken", _mistaken(1)),
    Student("hugo-mistaken", _mistaken(2)),
    Student("ines-cells-deleted", _cells_deleted),
    Student("jonas-no-metadata", _metadata_stripped),
    Student("kaya-loops", _with("def NAME(*arguments):\n    while True:\n        pass")),
    Student("liam-exits", _with("import os\n\nos._exit(0)")),
    Student("mia-spies", _spy),
    Student("noor-hostile", _hostile),
    Student("omar-cut-off", _solved, cut=True),
    Student("zoë-solved", _solved, beside=True),
)


def make_class(course: Course, chapter: Chapter, folder: Path) -> list[str]:
    """Names of the students whose submissions now lie in `folder`.

    Args:
        course: the course; its answer bank is used.
        chapter: the chapter, built and released.
        folder: made if it is not there. Submissions of an earlier sample class are written again.

    Raises:
        CourseError: the chapter has no release or no answers, or the folder holds other submissions.
    """
    names = {student.name for student in STUDENTS}
    others = sorted(path.name for path in folder.glob("[!.]*") if path.name not in names) if folder.is_dir() else []
    if others:
        raise CourseError(
            folder,
            f"holds submissions that are no sample ({', '.join(others[:3])}{', …' if len(others) > 3 else ''})",
            'Keep them apart: give the sample class a folder of its own with "--into".',
        )
    bank = _bank(chapter)
    for student in STUDENTS:
        home = folder / student.name
        target = (home if student.beside else home / chapter.name) / f"{chapter.name}.ipynb"
        text = json.dumps(student.make(bank), ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        make_folder(target.parent)
        write_atomically(target, text[: len(text) // 2] if student.cut else text)
    return [student.name for student in STUDENTS]


def _bank(chapter: Chapter) -> SampleMaterial:
    """The chapter's release and answers."""
    from grader.authoring import answers

    key = load_key(chapter)
    released = read_own(chapter.release, f'Run "grader release {chapter.name}".')
    sources: dict[str, dict[str, list[str]]] = {kind: {} for kind in ("right", "wrong", "hostile")}
    names = [cell.grade_id for cell in cells_of(released) if cell.role is Role.SOLUTION]
    for kind in sources:
        sources[kind] = {name: [] for name in names}
    for answer in answers.load(chapter.answers, key):
        if not answer.gpu and answer.exercise in sources[answer.kind]:
            sources[answer.kind][answer.exercise].append(answer.source)
    lacking = [name for name in names if not sources["right"][name]]
    if lacking or not names:
        raise CourseError(
            chapter.answers,
            f"no right answer for {', '.join(lacking) or 'any exercise'}",
            f'Add "# %% right: …" to {(lacking or ["<exercise>"])[0]}.py there.',
        )
    return SampleMaterial(json.loads(json.dumps(released)), sources["right"], sources["wrong"], sources["hostile"])
