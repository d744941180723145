"""A source with one fault gives one finding, which says at which line, in which cell, what, and what to do."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from courses import NAME, SOURCE, findings_of, make_course
from linted import DOUBLE, PLAIN_CELL, check_one_finding, lint

from grader.authoring.lint import checked_source
from grader.model.course import CourseError
from grader.model.findings import Findings

# fault: (what is replaced, by what, a line of the result where the finding must point, words of the message)
STRUCTURE = {
    "never closed": ("double(number))\n```\n", "double(number))\n", PLAIN_CELL, "never closed"),
    "closed too late": ('print(f"scale {scale}, ratio {2 / 3}")\n```\n', "", "[nbval-check", "still open at line"),
    "block never closed": ("# Small numbers", "```python\nx = 1", "```python", "the block that opens here is"),
    "colons": ("```{code-cell} ipython3\n:tags: [demo]", ":::{code-cell} ipython3", ":::{code-cell}", "does not open"),
    "another language": (PLAIN_CELL, "```{code-cell} cpp\n:tags: [demo]\n", "{code-cell} cpp", "Write ```{code-cell}"),
    "space before the name": (PLAIN_CELL, "``` {code-cell} ipython3\n", "``` {code-cell}", "does not open a code cell"),
    "misspelt": (PLAIN_CELL, "```{code_cell} ipython3\n", "{code_cell}", "does not open a code cell"),
    "two backticks": (PLAIN_CELL, "``{code-cell} ipython3\n", "``{code-cell} ipython3\n\nfor", "does not open"),
    "in a list": (
        "Two exercises.",
        "- see\n  ```{code-cell} ipython3\n  x = 1\n  ```\n\nTwo exercises.",
        "  ```{code-cell}",
        "take the indentation away",
    ),
    "below HTML": (
        "</details>\n\n",
        "</details>\n",
        ":test: double\n",
        "Put a blank line before it",
    ),
    "raw cell": ("# Small numbers", "```{raw-cell}\nx\n```", "```{raw-cell}", "no raw cells"),
    "prose with metadata": ("# Small numbers", '+++ {"a": 1}\n\n# Small numbers', "+++", "Write +++ alone"),
    "no header": (SOURCE.split("# Small")[0], "# Small numbers\n\n", "# Small", "Begin the file with"),
    "header not closed": (
        "language: python\n---",
        "language: python\n",
        "---\nkernel",
        "header is missing, or its closing",
    ),
    "header not YAML": ("name: python3", "name: [python3", "display_name", "the header is not YAML"),
    "another kernel": ("name: python3", "name: julia", "---", "another one than python3"),
    "header says more": ("kernelspec:", "title: x\nkernelspec:", "---", "'title', which the build would drop"),
}
OPTIONS = {
    "tags below a blank line": (
        f":exercise: double\n\n{DOUBLE}",
        f":exercise: double\n\n:tags: [demo]\n{DOUBLE}",
        ":tags: [demo]\ndef",
        "':tags: [demo]' would become code",
    ),
    "block below the tags": (
        ":tags: [demo]\n\n",
        ":tags: [demo]\n---\nx: 1\n---\n",
        "---\nx: 1",
        "'---' would become code",
    ),
    "tags after a blank line": (":tags: [demo]\n", "\n:tags: [demo]\n", ":tags: [demo]", "would become code"),
    "block not closed": (
        ":exercise: double\n\n",
        "---\nexercise: double\n",
        "---\nexercise",
        "has no closing ---",
    ),
    "not YAML": ("[demo]", "[demo", ":tags: [demo", "not YAML"),
    "impossible date": (":tags: [demo]", ":tags: 2020-13-45", ":tags: 2020", "not YAML"),
    "only a word": (":tags: [demo]", "---\ndemo\n---", "demo\n---", "is a str, not"),
    "unknown entry": (":tags: [demo]", ":tag: [demo]", ":tag:", "unknown entry 'tag'. Did you mean 'tags'?"),
    "one tag, not a list": (":tags: [demo]", ":tags: demo", ":tags: demo", "tags are 'demo', not a list"),
    "twice": (":points: 2\n", ":points: 2\n:points: 3\n", ":points: 3\n", "'points' stands here for the second"),
}

SETTINGS = {
    "no points": (":points: 2\n", "", ":test: double", 'the test of "double" has no points. Add ":points: 2"'),
    "points misspelt": (":points: 2\n", ":points: 2\n:point: 2\n", ":point: 2", "Did you mean 'points'?"),
    "exercise misspelt": (":exercise: KINDS", ":exercice: KINDS", ":exercice", "Did you mean 'exercise'?"),
    "points in words": (":points: 2", ":points: two", ":points: two", ":points: is 'two', not a number"),
    "no points at all": (":points: 2", ":points: 0", ":points: 0", "more than 0"),
    "points for an answer": (
        ":exercise: double\n",
        ":exercise: double\n:points: 2\n",
        ":points: 2\n\ndef",
        "a cell with :points: is no test",
    ),
    "points for a demonstration": ("[demo]\n", "[demo]\n:points: 4\n", ":points: 4", "in a cell without :test: name"),
    "answer and test": (
        ":exercise: double\n",
        ":exercise: double\n:test: double\n:points: 9\n",
        ":test: double\n:points: 9",
        "a cell with :exercise: cannot have :test: too",
    ),
    "number for a name": (":exercise: double", ":exercise: 01", ":exercise: 01", "which YAML reads as a int"),
    "truth for a name": (":exercise: KINDS", ":exercise: yes", ":exercise: yes", "in quotes if need be"),
    "name with a space": (":exercise: double", ":exercise: a double", ":exercise: a", "Use 1 to 59 letters"),
    "name with its ending": (":test: KINDS", ":test: KINDS_test", ":test: KINDS_test", "Write :test: KINDS; the build"),
    "settings written out": (
        ":test: double\n:points: 2\n",
        '---\nnbgrader:\n  grade: true\n  grade_id: "double_test"\n  points: 2\n---\n',
        "nbgrader:",
        "Write :test: double and :points: 2 below the fence.",
    ),
    "empty settings": (PLAIN_CELL, "```{code-cell} ipython3\n:nbgrader:\n", ":nbgrader:", "Write :exercise: name"),
    "unknown tag": ("[demo]", "[dmeo]", ":tags: [dmeo]", "unknown tag 'dmeo'. Did you mean 'demo'?"),
    "tolerance for nothing": ("[demo]", "[demo]\n:nbval_rtol: 1.0e-6", ":nbval_rtol", "Add the tag nbval-check-output"),
    "tolerance too large": (
        "[nbval-check-output]",
        "[nbval-check-output]\n:nbval_rtol: 2",
        ":nbval_rtol: 2",
        "between 0 and 1",
    ),
}
PAIRING = {
    "same name twice": (
        ":exercise: KINDS",
        ":exercise: double",
        ":exercise: double\n\nKINDS",
        "has the same name as the cell at line 23",
    ),
    "test of nothing": (":gpu_test: double", ":gpu_test: duoble", ":gpu_test: duoble", 'Did you mean "double"?'),
    "gpu tag on a plain test": (
        ":test: double\n",
        ":test: double\n:tags: [gpu]\n",
        ":test: double",
        "a _test cell runs everywhere",
    ),
    "demo test": (
        ":gpu_test: double\n",
        ":gpu_test: double\n:tags: [demo]\n",
        ":gpu_test: double",
        "grading would skip",
    ),
}

FAULTS = {**STRUCTURE, **OPTIONS, **SETTINGS, **PAIRING}


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_is_one_finding(fault: str, tmp_path: Path) -> None:
    check_one_finding(FAULTS[fault], tmp_path)


def test_a_good_source_has_no_findings(tmp_path: Path) -> None:
    make_course(tmp_path)
    assert findings_of(tmp_path / "solutions" / f"{NAME}.md") == []


def test_an_answer_without_a_test(tmp_path: Path) -> None:
    """Nothing would ever be graded."""
    start = SOURCE.index("```{code-cell} ipython3\n:test: KINDS")
    end = SOURCE.index(PLAIN_CELL)
    _, found = lint(tmp_path, SOURCE[start:end], "")
    assert [finding.what for finding in found] == ['cell "KINDS" is never tested']


def test_several_faults_are_all_named_in_order(tmp_path: Path) -> None:
    course = make_course(tmp_path, {":points: 2\n": "", "[demo]": "demo"})
    with pytest.raises(Findings) as raised:
        checked_source(course.chapter(NAME).source)
    first, second = str(raised.value).splitlines()
    assert "has no points" in first and "'demo'" in second
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_prose_may_speak_of_cells(tmp_path: Path) -> None:
    """MyST shown as an example in a longer fence is prose."""
    example = "````markdown\n```{code-cell} ipython3\nx = 1\n```\n````\n\nA `{code-cell}` is a cell.\n"
    make_course(tmp_path, {"# Small numbers": example})
    assert findings_of(tmp_path / "solutions" / f"{NAME}.md") == []


def test_no_code_cell_at_all(tmp_path: Path) -> None:
    course = make_course(tmp_path, source=SOURCE.split("```")[0])
    assert "there is no code cell" in str(findings_of(course.chapter(NAME).source)[0])


@pytest.mark.parametrize(("content", "words"), [(None, "not there"), (b"\xff\xfe", "not UTF-8 text (byte 0)")])
def test_a_source_that_cannot_be_read(content: bytes | None, words: str, tmp_path: Path) -> None:
    source = tmp_path / "solutions" / "01_small.md"
    source.parent.mkdir()
    if content is not None:
        source.write_bytes(content)
    with pytest.raises(CourseError, match=words.replace("(", r"\(").replace(")", r"\)")):
        findings_of(source)


def test_an_empty_source(tmp_path: Path) -> None:
    course = make_course(tmp_path, source="")
    assert "the YAML header is missing" in str(findings_of(course.chapter(NAME).source)[0])
