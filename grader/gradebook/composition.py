"""The notebook that is kept of a graded submission: it is recorded, shown in formgrader, and made into feedback."""

from __future__ import annotations

import re
from typing import Any

import nbformat

from grader.model.notebooks import Cell, ChapterKey, Role, visible
from grader.model.results import SubmissionResult
from grader.model.submission import Action, Submission

RUNS = re.compile(r"<(?=[a-zA-Z/!?])|\](?=[(:])")
"""Where Markdown has an HTML tag, or the address of a link: a space after it, and it is text."""
MARKUP = ("text/html", "image/svg+xml", "text/markdown", "text/latex")
"""Formats that viewers parse before they show them."""
MAX_MARKUP = 300_000
"""Characters of one output in such a format. What cleans it needs seconds for that, and hours for a million."""
MAX_MARKUP_TOGETHER = 2_000_000
MAX_OPEN_TAGS = 200
"""Tags open at a time: cleaning takes the square of it."""
MAX_COLORED = 5_000
"""Characters of a student's cell whose Python is colored where it is shown. nbconvert takes the square of a cell's
length for some texts, and the cube for blank lines: 20 kB of them, and no page is ever done."""
MAX_COLORED_TOGETHER = 100_000
MAX_PROSE = 10_000
"""Characters of a student's Markdown that is shown as such; a table takes the square of its rows."""
MAX_PROSE_TOGETHER = 100_000
MAX_COLORS = 2_000
"""Codes of terminals in one output that are shown as colors; nbconvert takes the square of their number."""
MAX_COLORS_TOGETHER = 20_000
MAX_TEXT_TOGETHER = 1_000_000
"""Characters of printed text that are shown of a notebook; the result file has all that was kept."""
MAX_OUTPUTS_TOGETHER = 2_000
CODE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~])?")
TAG = re.compile(r"<(?:(/)[a-zA-Z]|(?!(?:area|br|col|hr|img|input|link|meta|wbr)\b)[a-zA-Z](?![^<>]*/>))")
MAX_BLANK = re.compile(r"\s{500}")


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
    code_room, prose_room, outputs_room = MAX_COLORED_TOGETHER, MAX_PROSE_TOGETHER, _OutputsRoom()
    for step in submission.steps:
        if not step.code:
            ours = step.key is not None and step.source == key.released.get(step.key.id)
            # Formgrader shows the grader Markdown with all that is in it: scripts, links that run scripts.
            cell = _cell("markdown", step.source if ours else RUNS.sub(r"\g<0> ", step.source), step.id)
            if not ours:
                if len(step.source) > min(MAX_PROSE, prose_room):
                    cell.cell_type = "raw"  # shown as it is
                else:
                    prose_room -= len(step.source)
        else:
            test = step.action is Action.TEST
            cell = _cell("code", visible(step.source) if test else step.source, step.id)
            if not test and step.source != key.released.get(step.id):
                if len(step.source) > min(MAX_COLORED, code_room) or MAX_BLANK.search(step.source):
                    cell.metadata["magics_language"] = "text"  # what nbconvert asks for before it takes the notebook's
                else:
                    code_room -= len(step.source)
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
                cell.outputs = [output for output in cell.outputs if test or outputs_room.takes(output)]
        if step.key is not None and step.key.grade_id:
            cell.metadata["nbgrader"] = _settings(step.key)
        notebook.cells.append(cell)
    return notebook


def _cell(kind: str, source: str, name: str) -> nbformat.NotebookNode:
    """A cell; nbformat's own way of making one validates each by itself, which takes longer than all else here."""
    return nbformat.NotebookNode(cell_type=kind, id=name, metadata=nbformat.NotebookNode(), source=source)


class _OutputsRoom:
    """How much of a student's outputs a page can still show."""

    def __init__(self) -> None:
        self.markup, self.colors = MAX_MARKUP_TOGETHER, MAX_COLORS_TOGETHER
        self.text, self.outputs = MAX_TEXT_TOGETHER, MAX_OUTPUTS_TOGETHER

    def takes(self, output: nbformat.NotebookNode) -> bool:
        """Whether the output is shown; takes out of it what would take for ever."""
        self.outputs -= 1
        if self.outputs < 0:
            return False
        if self.outputs == 0:
            output.clear()
            output.update(nbformat.v4.new_output("stream", text="[This output and those after it are not shown.]\n"))
            return True
        self.markup -= _lighten(output, self.markup)
        for place, key in ((output, "text"), (output.get("data", {}), "text/plain")):
            if isinstance(place.get(key), str):
                place[key] = self._plain(place[key])
        if "traceback" in output:
            output.traceback = [self._plain(line) for line in output.traceback]
        return True

    def _plain(self, text: str) -> str:
        """The text, as far as there is room, in colors if they are few."""
        if len(text) > self.text:
            text = f"{text[: max(self.text, 0)]}\n[{len(text) - max(self.text, 0)} more characters are not shown]\n"
        self.text -= len(text)
        colors = text.count("\x1b")
        if colors > min(MAX_COLORS, self.colors):
            return CODE.sub("", text)
        self.colors -= colors
        return text


def _lighten(output: nbformat.NotebookNode, room: int) -> int:
    """Takes out of an output what would take for ever to show. How many characters of markup are left in it."""
    data = output.get("data", {})
    kept = 0
    for kind in MARKUP:
        size = len(data.get(kind, ""))
        if size > min(MAX_MARKUP, room - kept) or (size and _open_tags(data[kind]) > MAX_OPEN_TAGS):
            del data[kind]
            data.setdefault("text/plain", f"[{kind} of {size} characters: too large or too deep to be shown]")
        else:
            kept += size
    return kept


def _open_tags(markup: str) -> int:
    """The most tags that are open at a time; those that nobody closes count, as browsers and cleaners take them."""
    most = now = 0
    for match in TAG.finditer(markup):
        now += -1 if match[1] else 1
        now = max(now, 0)
        most = max(most, now)
    return most


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
