"""A course of one small chapter, and results for it, for the tests of what comes after grading."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader.preprocessors import ClearHiddenTests, ClearOutput, ClearSolutions, ComputeChecksums, LockCells

from grader.model.course import Chapter, Course
from grader.model.notebooks import cells_of, visible
from grader.model.results import CellResult, SubmissionResult, Verdict

NAME = "01_small"
ROOT = Path(__file__).parents[1]

SOLUTIONS = {
    "double": "def double(x):\n    ### BEGIN SOLUTION\n    return the_secret_way(x) * 2\n    ### END SOLUTION",
    "KINDS": "KINDS = {}\n### BEGIN SOLUTION\nKINDS = {'a': 'the secret kind', 'b': 'another'}\n### END SOLUTION",
    "bandwidth": "def bandwidth(n):\n    ### BEGIN SOLUTION\n    return 2 * n\n    ### END SOLUTION",
}


def _test(points: int, shown: str, hidden: str, last: str = "") -> tuple[int, str]:
    return points, f"{shown}\n### BEGIN HIDDEN TESTS\n{hidden}\n### END HIDDEN TESTS\n{last}".strip()


TESTS = {
    "double_test": _test(2, "assert double(1) == 2", "assert double(7041) == 14082"),
    "KINDS_test": _test(2, "share = 0.0", "share = 1.75 if KINDS['a'] == 'the secret kind' else 0.0", "share"),
    "bandwidth_test": _test(3, "assert bandwidth(1) == 2", "assert bandwidth(5) == 10"),
    "bandwidth_gpu": _test(3, "import gpulab\ngpulab.needs_gpu()", "assert bandwidth(2) == 4"),
}


def nbgrader_settings(grade_id: str, points: float | None = None) -> dict[str, Any]:
    """Metadata of a solution cell, or of a test cell when it has points."""
    grade = points is not None
    settings = {"schema_version": 3, "grade": grade, "grade_id": grade_id, "locked": grade, "solution": not grade}
    return {"nbgrader": settings | {"task": False} | ({"points": points} if grade else {})}


def solved_notebook() -> nbformat.NotebookNode:
    """The chapter as the instructor has it."""
    cells = [new_markdown_cell("# Small\n\nWhat is $2x$?", id="title"), new_code_cell("import math", id="imports")]
    cells[1].metadata["tags"] = ["demo"]
    for name, source in SOLUTIONS.items():
        cells.append(new_code_cell(source, id=name, metadata=nbgrader_settings(name)))
        for test, (points, code) in TESTS.items():
            if test.startswith(f"{name}_"):
                cells.append(new_code_cell(code, id=test, metadata=nbgrader_settings(test, points)))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def released_notebook() -> nbformat.NotebookNode:
    """The chapter as nbgrader releases it."""
    notebook, resources = solved_notebook(), {}
    for step in (LockCells, ClearSolutions, ClearOutput, ClearHiddenTests, ComputeChecksums):
        notebook, resources = step().preprocess(notebook, resources)
    return notebook


def small_course(folder: Path) -> tuple[Course, Chapter]:
    """A course folder with one chapter, built and released; nothing is graded."""
    course, chapter = Course(folder), Chapter(NAME, folder)
    for path, notebook in ((chapter.solution, solved_notebook()), (chapter.release, released_notebook())):
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    chapter.source.write_text("# the source\n")
    (folder / "nbgrader_config.py").write_bytes((ROOT / "nbgrader_config.py").read_bytes())
    return course, chapter


def judged(grade_id: str, verdict: Verdict, earned: float = 0.0, message: str = "", possible: float = 0) -> CellResult:
    """A cell result with the outputs that carry it into nbgrader."""
    possible = possible or TESTS[grade_id][0]
    outputs: tuple[dict[str, Any], ...] = ()
    if verdict is Verdict.PASSED:
        earned = possible
    elif verdict is Verdict.PARTIAL:
        printed = new_output("stream", name="stdout", text=message + "\n")
        outputs = (printed, new_output("execute_result", data={"text/plain": repr(earned)}, execution_count=1))
    else:
        outputs = (new_output("error", ename=str(verdict), evalue=message, traceback=[f"{verdict}: {message}"]),)
    return CellResult(grade_id, verdict, earned, possible, message, 0.5, outputs)


def result_of(student: str, *cells: CellResult, **fields: Any) -> SubmissionResult:
    """A student's result: these cells, and full points for every test that is not among them."""
    given = {cell.grade_id: cell for cell in cells}
    every = tuple(given.get(name) or judged(name, Verdict.PASSED) for name in TESTS)
    return SubmissionResult(student, NAME, every, **fields)


def composed(result: SubmissionResult, answers: dict[str, str] | None = None) -> nbformat.NotebookNode:
    """The release with a student's answers, and the judge's outputs in the test cells."""
    notebook = released_notebook()
    outputs = {cell.grade_id: cell.outputs for cell in result.cells}
    for cell, known in zip(notebook.cells, cells_of(deepcopy(notebook)), strict=True):
        cell.source = (answers or {}).get(known.grade_id, visible(cell.source))
        if cell.cell_type == "code":
            cell.outputs = [nbformat.from_dict(output) for output in outputs.get(known.grade_id, ())]
    return notebook
