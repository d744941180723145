"""What a student sends holds up nobody else: reading, composing and showing end, and soon."""

from __future__ import annotations

import json
import time

import nbformat
import pytest
from hostile import chapter
from nbconvert.exporters import HTMLExporter
from traitlets.config import Config

from grader.gradebook.composition import compose
from grader.judging.outputs import KeptOutputs
from grader.model.results import Output, SubmissionResult
from grader.model.submission import parse
from grader.processes.time_limit import TimeLimitReached, within

pytestmark = pytest.mark.long

MOST_SECONDS = 5.0
"""Of CPU; what is held up takes minutes, or does not end."""
CELLS = {
    "blank lines": "\n " * 10_000,
    "names without end": "x." * 100_000,
    "fields without end": 'f"' + "{x}" * 160_000 + '"',
}
OUTPUTS: dict[str, Output] = {
    "open tags": {"output_type": "display_data", "data": {"image/svg+xml": "<div>" * 50_000}, "metadata": {}},
    "attributes": {
        "output_type": "display_data",
        "data": {"text/html": "<a " + " ".join(f"a{i}=1" for i in range(100_000)) + ">", "text/plain": "a"},
        "metadata": {},
    },
    "colors": {"output_type": "stream", "name": "stdout", "text": "\x1b[31ma" * 33_000},
    "colors of a result": {
        "output_type": "display_data",
        "data": {"text/plain": "\x1b[38;2;1;2;3ma" * 12_000},
        "metadata": {},
    },
    "colors of an error": {"output_type": "error", "ename": "E", "evalue": "", "traceback": ["\x1b[31ma" * 800] * 40},
    "rows": {"output_type": "display_data", "data": {"text/markdown": "|a|\n|-|\n" * 60_000}, "metadata": {}},
}


def notebook_with(source: str, kind: str = "code") -> bytes:
    """The chapter as released, with one more cell."""
    notebook = chapter.notebook({})
    extra = {"execution_count": None, "outputs": []} if kind == "code" else {}
    notebook["cells"].append({"cell_type": kind, "id": "own", "metadata": {}, "source": source, **extra})
    return json.dumps(notebook).encode()


@pytest.mark.parametrize("source", CELLS.values(), ids=CELLS)
def test_a_cell_holds_up_nobody(source: str) -> None:
    """Read in a thread beside those that keep other submissions' clocks, and shown in formgrader's only process."""
    started = time.process_time()
    show(notebook_with(source), {})
    assert time.process_time() - started < MOST_SECONDS


def test_prose_holds_up_nobody() -> None:
    started = time.process_time()
    page = show(notebook_with("|a|\n|-|\n" * 50_000, "markdown"), {})
    assert time.process_time() - started < MOST_SECONDS
    assert "|-|" in page


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
def test_an_output_holds_up_nobody(output: Output) -> None:
    started = time.process_time()
    show(notebook_with("pass"), {"own": (output,)})
    assert time.process_time() - started < MOST_SECONDS


def test_no_number_of_outputs_holds_up_anybody() -> None:
    """A thousand cells, each of which prints and shows as much as one cell may."""
    started = time.process_time()
    printed: Output = {"output_type": "stream", "name": "stdout", "text": "&" * 200_000}
    colored: Output = {"output_type": "stream", "name": "stderr", "text": "\x1b[31ma" * 1_900}
    shown: Output = {"output_type": "display_data", "data": {"text/plain": "x"}, "metadata": {}}
    page = show(notebook_with("pass"), {"own": (*[printed, colored] * 50, *[shown] * 10_000)})
    assert time.process_time() - started < 4 * MOST_SECONDS
    assert "more characters are not shown" in page
    assert "This output and those after it are not shown" in page


def test_colors_are_shown_where_they_are_few() -> None:
    """Coloring takes the square of their number, in outputs of every kind."""
    few = show(notebook_with("pass"), {"own": ({**OUTPUTS["colors"], "text": "\x1b[31mred\x1b[0m" * 50},)})
    assert few.count("ansi-red-fg") > 50
    for name in ("colors", "colors of a result", "colors of an error"):
        many = show(notebook_with("pass"), {"own": (OUTPUTS[name],)})
        assert many.count('<span class="ansi-') + many.count('<span style="color: rgb') < 21_000, name
    together = show(notebook_with("pass"), {"own": ({**OUTPUTS["colors"], "text": "\x1b[31ma" * 1_900},) * 40})
    assert together.count('<span class="ansi-') < 21_000


def test_streams_in_turn_are_few_outputs() -> None:
    """A page takes its time for each output, however short."""
    kept = KeptOutputs(200_000, 20_000_000)
    for number in range(100_000):
        kept.add({"output_type": "stream", "name": ("stdout", "stderr")[number % 2], "text": "ab"[number % 2]})
    outputs = kept.finish()
    assert len(outputs) <= 200
    assert sum(len(output["text"]) for output in outputs) == 100_000


def test_ordinary_cells_and_outputs_are_shown_as_ever() -> None:
    table = "<table>" + "<tr><td>1<td>2</tr>" * 60 + "</table>"
    output: Output = {"output_type": "display_data", "data": {"text/html": table, "text/plain": "1 2"}, "metadata": {}}
    page = show(notebook_with("def f(x):\n\n\n    return x\n" * 100), {"own": (output,)})
    assert page.count("<td>1") == 60
    assert '<span class="k">def</span>' in page


def test_a_file_of_lists_is_not_read() -> None:
    started = time.process_time()
    with pytest.raises(ValueError, match="lists and objects"):
        parse(b'{"cells": [], "x": [' + b"[[[[[]]]]]," * 1_700_000 + b"0]}", chapter.make_key())
    assert time.process_time() - started < 1.0


def test_what_takes_too_long_is_interrupted() -> None:
    with pytest.raises(TimeLimitReached, match="not within"), within(0.05):
        time.sleep(5)
    with within(0.05):
        pass
    time.sleep(0.06)


def show(data: bytes, outputs: dict[str, tuple[Output, ...]]) -> str:
    """The submission as formgrader shows it."""
    key = chapter.make_key()
    result = SubmissionResult(student="s", chapter=chapter.NAME, outputs=outputs)
    notebook = compose(parse(data, key), key, result)
    nbformat.validate(notebook)
    page, _ = HTMLExporter(config=Config({"HTMLExporter": {"sanitize_html": True}})).from_notebook_node(notebook)
    return str(page)
