"""The notebook that is kept of a graded submission: it is recorded, shown in formgrader, and made into feedback."""

from __future__ import annotations

import re
from typing import Any

import nbformat

from grader.notebooks import Cell, ChapterKey, Role, visible
from grader.results import SubmissionResult
from grader.submission import Action, Submission

RUNS = re.compile(r"<(?=[a-zA-Z/!?])|\](?=[(:])")
"""Where Markdown has an HTML tag, or the address of a link: a space after it, and it is text."""


def compose(submission: Submission, key: ChapterKey, result: SubmissionResult) -> nbformat.NotebookNode:
    """The executed notebook: the student's cells with their outputs, test cells with the judge's.

    Test cells carry what the release shows of them, so that feedback made from this notebook gives no hidden test
    away; their outputs make nbgrader's reading of them come to the judged points.
    """
    judged = {cell.grade_id: cell.outputs for cell in result.cells}
    notebook = nbformat.v4.new_notebook()
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    )
    count = 0
    for step in submission.steps:
        if not step.code:
            ours = step.key is not None and step.source == key.released.get(step.key.id)
            # Formgrader shows Markdown to whoever grades with all that is in it: scripts, links that run scripts.
            cell = _cell("markdown", step.source if ours else RUNS.sub(r"\g<0> ", step.source), step.id)
        else:
            test = step.action is Action.TEST
            cell = _cell("code", visible(step.source) if test else step.source, step.id)
            cell.outputs, cell.execution_count = [], None
            grade_id = step.key.grade_id if step.key else ""
            outputs = judged.get(grade_id) if test else result.outputs.get(step.id)
            if outputs is not None:
                count += 1
                cell.execution_count = count
                cell.outputs = [
                    nbformat.from_dict({**output, "execution_count": count})
                    if output["output_type"] == "execute_result"
                    else nbformat.from_dict(output)
                    for output in outputs
                ]
        if step.key is not None and step.key.grade_id:
            cell.metadata["nbgrader"] = _settings(step.key)
        notebook.cells.append(cell)
    return notebook


def _cell(kind: str, source: str, name: str) -> nbformat.NotebookNode:
    """A cell; nbformat's own way of making one validates each by itself, which takes longer than all else here."""
    return nbformat.NotebookNode(cell_type=kind, id=name, metadata=nbformat.NotebookNode(), source=source)


def _settings(own: Cell) -> nbformat.NotebookNode:
    """nbgrader's metadata of a solution or test cell, as the release has it."""
    test = own.role is Role.TEST
    settings: dict[str, Any] = {
        "schema_version": 3,
        "grade_id": own.grade_id,
        "grade": test,
        "solution": not test,
        "locked": test,
        "task": False,
    }
    if test:
        settings["points"] = own.points
    return nbformat.from_dict(settings)
