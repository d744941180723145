"""A chapter's source to its executed notebook, byte for byte the same at every build.

A chapter is run again only when its code, `gpulab` or the course's data changed; otherwise it keeps its outputs, and
where its tests alone changed, all outputs but theirs: a machine without a GPU can fix a test of a chapter that was
executed on one. What
may stand in a source is up to `lint`, running it is `execution`'s.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import platform
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader.authoring.execution import CELL_SECONDS, CellFailed, gpu_name, output_texts, run
from grader.authoring.lint import checked_source, lint_cells
from grader.authoring.lint.metadata import role_of
from grader.authoring.myst import ChapterSource, SourceCell, read_source
from grader.model.course import Chapter, CourseError
from grader.model.dependencies import needed_files
from grader.model.findings import Finding, Findings
from grader.model.notebook_io import KERNELSPEC, LANGUAGE_INFO, stable_ids, to_text, write
from grader.model.notebooks import Role, read_own

Report = Callable[[str], None]
OnProgress = Callable[[int, int], None]
"""Called with the number of cells run, and of all."""

EXECUTED = ("executed_on", "inputs_sha256", "shown_sha256")
"""What a notebook's metadata say of its last execution."""


def build(
    chapter: Chapter,
    *,
    execute: bool | None = None,
    report: Report = lambda text: None,
    on_cell: OnProgress = lambda done, total: None,
    cell_seconds: int = CELL_SECONDS,
) -> bool:
    """Makes the chapter's executed notebook from its source; gives whether the file changed.

    Args:
        chapter: the chapter.
        execute: run the cells; None: only if something that they depend on changed; False: never, and changed cells
            have no outputs.
        report: told what is being done, a few words at a time.
        on_cell: called before each cell.
        cell_seconds: wall time that one cell may take.

    Raises:
        Findings: the source has faults, a cell fails, or its outputs are not fit to publish; the notebook stays as it
            was.
        CourseError: the source is not there, or the notebook cannot be written.
    """
    source = checked_source(chapter.source)
    notebook = draft(source)
    earlier = _earlier(chapter)
    stamp, digests = _stamp(earlier), input_digests(chapter, notebook)
    current = stamp.get("inputs_sha256") == digests["inputs_sha256"]
    if execute or (execute is None and not current):
        _run(chapter, source, notebook, report, on_cell, cell_seconds)
        executed = {"executed_on": _machine(), **digests}
        if not execute and stamp.get("shown_sha256") == digests["shown_sha256"]:
            _keep_outputs(notebook, earlier)
            executed["executed_on"] = stamp["executed_on"]
    else:
        _keep_outputs(notebook, earlier)
        executed = {name: stamp[name] for name in EXECUTED} if current else {}
    notebook.metadata["gpulab"] = _own_metadata(source, notebook, executed)
    return write(chapter.solution, to_text(notebook).encode())


def check_build(chapter: Chapter) -> list[Finding]:
    """Where the chapter's source has faults, or its notebook is not what a build would make of it. Runs no cell.

    Raises:
        CourseError: the source is not there or not text.
    """
    try:
        source = read_source(chapter.source)
    except Findings as error:
        return list(error.found)
    if found := lint_cells(source):
        return found
    where, remedy = _shown(chapter.solution), f'Run "grader build {chapter.name}".'
    if not chapter.solution.exists():
        return [Finding(where, "not built yet", remedy)]
    earlier = _earlier(chapter)
    if earlier is None:
        return [Finding(where, "not a notebook", remedy)]
    notebook, stamp = draft(source), _stamp(earlier)
    if any(stamp.get(name) != digest for name, digest in input_digests(chapter, notebook).items()):
        return [Finding(where, "its code, gpulab or the course's data changed since it was executed", remedy)]
    if stamp.get("outputs_sha256") != _outputs_digest(earlier):
        again = f'Run "grader build --execute {chapter.name}".'
        return [Finding(where, "its outputs are not those of its last build", again)]
    _keep_outputs(notebook, earlier)
    executed = {name: stamp.get(name) for name in EXECUTED}
    notebook.metadata["gpulab"] = _own_metadata(source, notebook, executed)
    if chapter.solution.read_bytes() != to_text(notebook).encode():
        return [Finding(where, f"{_first_difference(notebook, earlier)} is not what the source says", remedy)]
    return []


def is_current(chapter: Chapter) -> bool:
    """Whether nothing that the outputs of the built notebook depend on has changed since it was executed."""
    stamp = _stamp(_earlier(chapter))
    notebook = draft(read_source(chapter.source))
    return stamp.get("inputs_sha256") == input_digests(chapter, notebook)["inputs_sha256"]


def carry_over(chapter: Chapter, earlier: NotebookNode, current: bool) -> None:
    """Writes the notebook of a source in which only names changed, with outputs that it had under the old ones.

    Args:
        chapter: the chapter, under its new name.
        earlier: its notebook before, with the new names and ids in its cells.
        current: whether its outputs were those of its source.

    Raises:
        Findings: the source has faults.
        CourseError: the notebook cannot be written.
    """
    source = checked_source(chapter.source)
    notebook = draft(source)
    _keep_outputs(notebook, earlier)
    executed = {name: value for name, value in _stamp(earlier).items() if name in EXECUTED}
    if current:
        executed |= input_digests(chapter, notebook)
    notebook.metadata["gpulab"] = _own_metadata(source, notebook, executed)
    write(chapter.solution, to_text(notebook).encode())


def draft(source: ChapterSource) -> NotebookNode:
    """The notebook that a source describes, with stable ids and no outputs."""
    cells = [
        (new_code_cell if cell.kind == "code" else new_markdown_cell)(cell.source, metadata=cell.options)
        for cell in source.cells
    ]
    for cell, name in zip(cells, stable_ids(cells), strict=True):
        cell["id"] = name
    return new_notebook(cells=cells, metadata={"kernelspec": dict(KERNELSPEC), "language_info": dict(LANGUAGE_INFO)})


def input_digests(chapter: Chapter, notebook: NotebookNode) -> dict[str, str]:
    """Hashes of all that the outputs depend on, and of all that those of other cells than tests depend on.

    That is the code cells, what they name of `gpulab`, of `grader.exercises` and of `data/`, and the files next to
    the notebook.
    """
    specification = importlib.util.find_spec("gpulab")
    code = Path(specification.origin).parent if specification and specification.origin else chapter.root / "gpulab"
    hidden = Path(__file__).resolve().parents[1] / "exercises"
    shared = [*files_below(code), *files_below(hidden), *files_below(chapter.root / "data")]
    beside = files_below(chapter.solution.parent)

    def digest_of(cells: list[NotebookNode]) -> str:
        digest = hashlib.sha256()
        for cell in cells:
            digest.update(repr((cell.source, sorted(cell.metadata.get("tags", [])))).encode())
        for path in (*needed_files([cell.source for cell in cells], shared), *beside):
            digest.update(repr((path.parent.name, path.name, path.read_bytes())).encode())
        return digest.hexdigest()

    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = [cell for cell in cells if not _is_test(cell)]
    return {"inputs_sha256": digest_of(cells), "shown_sha256": digest_of(shown)}


def files_below(folder: Path) -> list[Path]:
    """The files of a folder that are part of the course: no notebooks, nothing that Python or Jupyter left there."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and path.suffix not in (".ipynb", ".pyc")
        and not any(part.startswith((".", "__pycache__")) for part in path.relative_to(folder).parts)
    )


def _run(
    chapter: Chapter,
    source: ChapterSource,
    notebook: NotebookNode,
    report: Report,
    on_cell: OnProgress,
    cell_seconds: int,
) -> None:
    folder = chapter.solution.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot be made ({error.strerror})"
        raise CourseError(folder, what, "Make the folder above it writable.") from None
    before, started = set(files_below(folder)), time.monotonic()
    count = len(notebook.cells)
    report("starting a kernel")
    try:
        run(
            notebook,
            folder,
            skipped_tag="" if gpu_name() else "gpu",
            on_cell=lambda index: on_cell(index, count),
            cell_seconds=cell_seconds,
        )
    except CellFailed as error:
        cell = source.cells[error.index]
        line = cell.body_line + error.line - 1 if error.line else cell.line
        remedy = f'Fix it, then run "grader build {chapter.name}".'
        raise Findings((source.finding(line, f"{cell.label} {error.reason}", remedy),)) from None
    left = sorted(path.name for path in set(files_below(folder)) - before)
    found = [
        *_output_findings(chapter, source, notebook),
        *(
            Finding(_shown(folder / name), "left behind by a cell", "Let it write to a temporary folder; delete this.")
            for name in left
        ),
    ]
    if found:
        raise Findings(tuple(found))
    report(f"{count} cells in {time.monotonic() - started:.0f} s")


def _output_findings(chapter: Chapter, source: ChapterSource, notebook: NotebookNode) -> Iterator[Finding]:
    """Outputs that would cost students points, or tell them where the author works."""
    private = {f"{folder}/" for folder in (chapter.root, Path(sys.prefix), Path.home())} | {"/ipykernel_"}
    for cell, built in zip(source.cells, notebook.cells, strict=True):
        if role_of(cell) is Role.TEST:
            yield from _test_output_findings(source, cell, built.outputs)
        shown = next((path for text in output_texts(built) for path in sorted(private) if path in text), None)
        if shown:
            what = f"{cell.label} shows a path of this machine ({shown}…)"
            yield source.finding(cell.line, what, "Print something else, or fix what it warns of.")


def _test_output_findings(source: ChapterSource, cell: SourceCell, outputs: list[NotebookNode]) -> Iterator[Finding]:
    points = cell.settings["points"]
    for output in outputs:
        if output.output_type == "stream" and output.name == "stderr":
            what = f"{cell.label} writes to stderr, for which nbgrader takes all points ({output.text.strip()[:80]})"
            yield source.finding(cell.line, what, "Silence it.")
        elif output.output_type == "execute_result":
            value = output.data.get("text/plain", "")
            if not _is_number(value, points):
                what = f"{cell.label} ends in {value[:80]} for the right answer, and is worth {points}"
                yield source.finding(cell.line, what, "End it in the points earned, a Python float, or in a statement.")


def _is_number(text: str, value: float) -> bool:
    try:
        return float(text) == value
    except ValueError:
        return False


def _earlier(chapter: Chapter) -> NotebookNode | None:
    """The notebook of the last build, if there is one that can be read."""
    try:
        return read_own(chapter.solution, "")
    except CourseError:
        return None


def _stamp(notebook: NotebookNode | None) -> dict[str, Any]:
    stamp = notebook.metadata.get("gpulab", {}) if notebook is not None else {}
    return stamp if isinstance(stamp, dict) else {}


def _own_metadata(source: ChapterSource, notebook: NotebookNode, executed: dict[str, Any]) -> dict[str, Any]:
    """What the notebook says about its making; no date and no path, which would differ at every build."""
    made = {"chapter": source.name, "source_sha256": source.digest, "outputs_sha256": _outputs_digest(notebook)}
    return made | executed


def _machine() -> dict[str, str]:
    torch = importlib.metadata.version("torch")
    return {"device": gpu_name() or "cpu", "python": platform.python_version(), "torch": torch}


def _keep_outputs(notebook: NotebookNode, earlier: NotebookNode | None) -> None:
    """Gives each code cell the outputs that the same cell has in an earlier build; to one that has run, its number."""
    had = {cell.get("id"): cell for cell in earlier.cells if cell.cell_type == "code"} if earlier else {}
    for cell in notebook.cells:
        old = had.get(cell.id)
        if cell.cell_type != "code" or old is None:
            continue
        if old.source == cell.source:
            cell.outputs, cell.execution_count = old.outputs, old.execution_count
        elif cell.execution_count:
            cell.execution_count = old.execution_count


def _is_test(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("grade"))


def _outputs_digest(notebook: NotebookNode) -> str:
    outputs = [(cell.outputs, cell.execution_count) for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256(json.dumps(outputs, sort_keys=True).encode()).hexdigest()


def _first_difference(notebook: NotebookNode, earlier: NotebookNode) -> str:
    for position, (wanted, found) in enumerate(zip(notebook.cells, earlier.cells, strict=False), start=1):
        if wanted != found:
            return f"cell {position} ({wanted.id})"
    return "the number of cells" if len(notebook.cells) != len(earlier.cells) else "the notebook's metadata"


def _shown(path: Path) -> str:
    return "/".join(path.parts[-3:])
