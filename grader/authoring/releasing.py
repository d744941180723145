"""What students get: the built notebook without answers, hidden tests and outputs, and the proof that it is.

nbgrader cuts the answers out; the proof does not trust it and looks for every line of them. Recording the assignment in
the gradebook is up to `gradebook`: nothing here touches a database.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import compute_checksum
from traitlets.config import Config

from grader.authoring.building import draft, files_below
from grader.authoring.lint import checked_source
from grader.model.course import Chapter, CourseError
from grader.model.findings import Finding, Findings
from grader.model.notebook_io import to_text, write
from grader.model.notebooks import HIDDEN, SOLUTION, Role, cells_of, read_own, visible

TELLING = 20
"""Characters, spaces aside, from which on a line of an answer is nobody's but the answer's."""

MARKERS = ("BEGIN SOLUTION", "END SOLUTION", "BEGIN HIDDEN TESTS", "END HIDDEN TESTS")
FROM_THE_BUILD = ("chapter", "source_sha256")
"""What the release keeps of the built notebook's own metadata: neither where nor on what it was executed."""


def release(chapter: Chapter, *, report: Callable[[str], None] = lambda text: None) -> bool:
    """Makes the student notebook from the built one, and proves it clean; gives whether a file changed.

    Args:
        chapter: the chapter, built from its current source.
        report: told what is being done, a few words at a time.

    Raises:
        CourseError: the built notebook is missing or older than its source, nbgrader refuses it, or the folder cannot
            be written.
        Findings: something that students must not see would be released. Nothing is written then.
    """
    solution = _built(chapter)
    report("taking out answers and hidden tests")
    text, others = generate(chapter, solution)
    report("looking for what must not be in it")
    if found := _proof(chapter, solution, text, others):
        raise Findings(tuple(found))
    changed = write(chapter.release, text.encode())
    for name, data in others.items():
        changed |= write(chapter.release.parent / name, data)
    return changed


def check_release(chapter: Chapter) -> list[Finding]:
    """Where the student release gives something away, or is not what a release would make. Writes nothing.

    Raises:
        CourseError: the chapter is not built from its current source, or nbgrader refuses it.
    """
    solution = _built(chapter)
    folder, remedy = chapter.release.parent, f'Run "grader release {chapter.name}".'
    if not chapter.release.is_file():
        return [Finding(_shown(chapter.release), "not released yet", remedy)]
    text, others = generate(chapter, solution)
    there = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files_below(folder)}
    try:
        found = _proof(chapter, solution, chapter.release.read_text(encoding="utf-8"), there)
    except (ValueError, nbformat.ValidationError):
        return [Finding(_shown(chapter.release), "not a notebook", remedy)]
    if not found and chapter.release.read_bytes() != text.encode():
        found.append(Finding(_shown(chapter.release), "not what the built notebook releases to", remedy))
    for name in sorted(others.keys() - there.keys()):
        found.append(Finding(_shown(folder / name), "missing in the release", remedy))
    for name in sorted(there.keys() - others.keys()):
        found.append(Finding(_shown(folder / name), "not from the chapter", "Delete it."))
    for name in sorted(there.keys() & others.keys()):
        if there[name] != others[name]:
            found.append(Finding(_shown(folder / name), "not the chapter's own", remedy))
    return found


def generate(chapter: Chapter, solution: NotebookNode) -> tuple[str, dict[str, bytes]]:
    """The release of a built notebook, as text, and the files that go beside it; made in a temporary folder.

    Raises:
        CourseError: nbgrader refuses the notebook; its own words are in the message.
    """
    with tempfile.TemporaryDirectory(prefix="grader-release-") as folder:
        root = Path(folder).resolve()
        source = root / "source" / chapter.name
        source.mkdir(parents=True)
        (source / f"{chapter.name}.ipynb").write_text(to_text(solution), encoding="utf-8")
        for path in files_below(chapter.solution.parent):
            target = source / path.relative_to(chapter.solution.parent)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        _generate_assignment(root, chapter)
        released = root / "release" / chapter.name
        notebook = nbformat.read(released / f"{chapter.name}.ipynb", as_version=4)
        others = {path.relative_to(released).as_posix(): path.read_bytes() for path in files_below(released)}
    own = notebook.metadata.get("gpulab", {})
    notebook.metadata["gpulab"] = {name: own[name] for name in FROM_THE_BUILD if name in own}
    return to_text(notebook), others


def _generate_assignment(root: Path, chapter: Chapter) -> None:
    """nbgrader's own `generate_assignment`, as with `--no-db`, without its talk and the user's configuration."""
    said = _Messages()
    log = logging.Logger("nbgrader")  # its own, not the global one of that name: nobody else's handlers see it
    log.addHandler(said)
    config = Config()
    config.SaveCells.enabled = False
    config.GenerateAssignment.no_database = True
    directory = CourseDirectory(root=str(root), assignment_id=chapter.name, config=config, log=log)
    converter = GenerateAssignment(coursedir=directory, config=config, log=log)
    try:
        converter.start()
    except NbGraderException as error:
        reason = said.reason() or str(error).splitlines()[0].rstrip(".")
        raise CourseError(_shown(chapter.solution), f"nbgrader refuses it ({reason})", "Fix the source.") from None


class _Messages(logging.Handler):
    """Keeps what nbgrader says, for the case that it fails."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())

    def reason(self) -> str:
        """The last line of the first traceback: what the others are consequences of."""
        for text in self.texts:
            if text.startswith("Traceback"):
                return text.strip().splitlines()[-1].rstrip(".")
        return ""


def prove_clean(solution: NotebookNode, released: NotebookNode) -> list[str]:
    """What is in a release that must not be, or is not as it must be; nothing when it is clean.

    Args:
        solution: the built notebook.
        released: what students would get.

    Returns:
        One sentence without a full stop for each fault.
    """
    return [*_structure_faults(solution, released), *leaks(secrets_of(solution), texts_of(released))]


def secrets_of(solution: NotebookNode) -> set[str]:
    """Lines that no student may see: those of answers and hidden tests, less what stands in plain sight anyway.

    A long line of an answer is a secret even if it stands elsewhere too: then the chapter itself gives it away.
    """
    answers: set[str] = set()
    hidden: set[str] = set()
    shown = []
    for cell in cells_of(solution):
        if cell.role is Role.SOLUTION:
            answers |= _lines("\n".join(SOLUTION.findall(cell.source)))
            shown.append(SOLUTION.sub("", cell.source))
        elif cell.role is Role.TEST:
            hidden |= _lines("\n".join(HIDDEN.findall(cell.source)))
            shown.append(visible(cell.source))
        else:
            shown.append(cell.source)
    in_sight = "\n".join(shown)
    telling = {line for line in answers if len(line.replace(" ", "")) >= TELLING and not line.startswith("#")}
    return telling | {line for line in answers | hidden if line not in in_sight}


def _lines(code: str) -> set[str]:
    """The lines that say something: not brackets, not `return x`, not imports, which tests share with the text."""
    lines = {line.strip() for line in code.splitlines()}
    return {line for line in lines if len(line.replace(" ", "")) >= 8 and not line.startswith(("import ", "from "))}


def leaks(secrets: set[str], texts: list[str]) -> Iterator[str]:
    """A sentence without a full stop for every secret line, and every marker of nbgrader's, that is in the texts."""
    everything = "\n".join(texts)
    for secret in sorted(secrets):
        if secret in everything:
            yield f"holds a line of an answer or hidden test: {secret!r}"
    for marker in MARKERS:
        if marker in everything:
            yield f"holds a marker {marker!r}"


def texts_of(value: Any) -> list[str]:
    """Every string in a notebook, its keys too."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (str(key), *texts_of(item))]
    if isinstance(value, list):
        return [text for item in value for text in texts_of(item)]
    return []


def _structure_faults(solution: NotebookNode, released: NotebookNode) -> Iterator[str]:
    wanted, found = [cell.id for cell in solution.cells], [cell.get("id") for cell in released.cells]
    if wanted != found:
        odd = sorted(set(wanted) ^ {str(name) for name in found}) or ["their order"]
        yield f"has other cells than the built notebook: {', '.join(odd)}"
        return
    if "jupytext" in texts_of(released.metadata):
        yield "has jupytext metadata"
    for own, cell, theirs in zip(cells_of(solution), released.cells, solution.cells, strict=True):
        name = own.grade_id or own.id
        if cell.cell_type != theirs.cell_type:
            yield f"cell {name} is of another type"
            continue
        if cell.get("outputs") or cell.get("execution_count") is not None:
            yield f"cell {name} has outputs"
        if own.role in (Role.SOLUTION, Role.TEST):
            yield from _graded_faults(name, own.role, cell, theirs)
        elif cell.source != theirs.source:
            yield f"cell {name} says something else"


def _graded_faults(name: str, role: Role, cell: NotebookNode, built: NotebookNode) -> Iterator[str]:
    """Faults of an answer cell or a test cell."""
    settings = cell.metadata.get("nbgrader", {})
    if any(settings.get(key) != value for key, value in built.metadata.nbgrader.items()):
        yield f"cell {name} has other nbgrader settings"
    elif settings.get("checksum") != compute_checksum(cell):
        yield f"cell {name} has a wrong checksum"
    if cell.metadata.get("deletable") is not False:
        yield f"cell {name} can be deleted"
    if role is Role.TEST and cell.metadata.get("editable") is not False:
        yield f"cell {name} can be edited"
    if role is Role.TEST and _lines_of(cell.source) != _lines_of(visible(built.source)):
        yield f"cell {name} does not show its visible test"
    if role is Role.SOLUTION and "raise NotImplementedError()" not in cell.source:
        yield f"cell {name} is not blank"


def _lines_of(code: str) -> list[str]:
    return [line for line in code.splitlines() if line.strip()]  # nbgrader leaves no blank line behind, `visible` one


def _proof(chapter: Chapter, solution: NotebookNode, text: str, others: dict[str, bytes]) -> list[Finding]:
    remedy = f'Fix the source, then run "grader build {chapter.name}" and "grader release {chapter.name}".'
    faults = [
        Finding(_shown(chapter.release), fault, remedy)
        for fault in prove_clean(solution, nbformat.reads(text, as_version=4))
    ]
    secrets = secrets_of(solution)
    for name, data in others.items():
        told = leaks(secrets, [data.decode(errors="replace")])
        faults += [Finding(_shown(chapter.release.parent / name), leak, "Take it out of the folder.") for leak in told]
    return faults


def _built(chapter: Chapter) -> NotebookNode:
    """The built notebook, if its cells are those of the source; when it was executed does not matter here."""
    remedy = f'Run "grader build {chapter.name}".'
    notebook = read_own(chapter.solution, remedy)
    wanted = draft(checked_source(chapter.source))
    if [_cell(cell) for cell in notebook.cells] != [_cell(cell) for cell in wanted.cells]:
        raise CourseError(_shown(chapter.solution), "not built from the source as it is now", remedy)
    return notebook


def _cell(cell: NotebookNode) -> tuple[Any, ...]:
    return cell.get("id"), cell.cell_type, cell.source, cell.metadata


def _shown(path: Path) -> str:
    return "/".join(path.parts[-3:])
