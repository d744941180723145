"""A source with one fault gives one finding, which says at which line, in which cell, what, and what to do."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from courses import NAME, SOURCE, findings_of, make_course

from grader.authoring.lint import checked_source
from grader.model.course import CourseError
from grader.model.findings import Finding, Findings

DOUBLE = "def double(number):"
TEST = 'check.equal(double(21), 42, "double(21)")'
HIDDEN = "### BEGIN HIDDEN TESTS\nimport random"
LAST_HIDDEN = "### END HIDDEN TESTS\n```\n\n```{code-cell} ipython3\n:gpu_test: double"
DEMO = "for number in range(3):"
PLAIN_CELL = "```{code-cell} ipython3\n:tags: [demo]\n"
ANSWER = """\
    ### BEGIN SOLUTION
    the_whole_secret = number + number
    return the_whole_secret
    ### END SOLUTION"""

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

REGIONS = {
    "def line hidden": (
        f'{DOUBLE}\n    """Twice the number."""\n{ANSWER}',
        f"### BEGIN SOLUTION\n{DOUBLE}\n    return number + number\n### END SOLUTION",
        ":exercise: double",
        "hides its own def line",
    ),
    "answer inside a bracket": (
        'KINDS = {"one": "", "two": ""}  # "odd" or "even"\n### BEGIN SOLUTION\nKINDS = {"one": "odd", "two": "even"}'
        "  # the author's own words\n### END SOLUTION",
        'KINDS = {\n    ### BEGIN SOLUTION\n    "one": "odd",\n    ### END SOLUTION\n}',
        "",
        "is not Python once its answer is taken out",
    ),
    "hidden tests inside a block": (
        f"{TEST}\n{HIDDEN}",
        f"{TEST}\nif True:\n    ### BEGIN HIDDEN TESTS\n    pass\n    ### END HIDDEN TESTS\n{HIDDEN}",
        "",
        "is not Python once its hidden tests are taken out",
    ),
    "marker misspelt": (
        "### BEGIN SOLUTION\n    the",
        "### BEGIN SOLUTIONS\n    the",
        "### BEGIN SOLUTIONS",
        "'### BEGIN SOLUTIONS'",
    ),
    "marker in small letters": (HIDDEN, HIDDEN.replace("BEGIN", "begin"), "### begin", "almost a marker"),
    "never ends": ("    ### END SOLUTION\n", "", "    ### BEGIN SOLUTION", "BEGIN SOLUTION that never ends"),
    "ends before it begins": ("    ### BEGIN SOLUTION\n", "", "    ### END SOLUTION", "END SOLUTION without a BEGIN"),
    "twice open": (
        "    return the_whole",
        "    ### BEGIN SOLUTION\n    return the_whole",
        "    ### BEGIN SOLUTION\n    ret",
        "second BEGIN SOLUTION",
    ),
    "in the wrong cell": (
        DEMO,
        f"### BEGIN SOLUTION\n{DEMO}\n    pass\n### END SOLUTION\n{DEMO}",
        "### BEGIN SOLUTION\nfor",
        "BEGIN SOLUTION marker, and is not an answer cell",
    ),
    "in prose": ("# Small numbers", "### BEGIN SOLUTION", "### BEGIN SOLUTION", "is not an answer cell"),
    "no answer region": (
        ANSWER,
        "    return number + number",
        ":exercise: double",
        "has no SOLUTION region",
    ),
    "no hidden tests": (
        SOURCE[SOURCE.index(HIDDEN) : SOURCE.index(LAST_HIDDEN) + 24],
        "```\n",
        ":test: double",
        "has no HIDDEN TESTS region",
    ),
    "hidden nothing": (
        'points = check.share(KINDS, {"one": "odd", "two": "even"}, 3.0, "KINDS")\n',
        "# later\n",
        ":test: KINDS",
        "region without code",
    ),
    "no visible test": (TEST + "\n", "", ":test: double", "has no visible test"),
    "autotest": (DEMO, f"### AUTOTEST double(1)\n{DEMO}", "### AUTOTEST", "an nbgrader directive"),
    "markers at the margin": (
        "    ### BEGIN SOLUTION",
        "### BEGIN SOLUTION",
        "",
        "marker indented otherwise than its answer",
    ),
    "defines something else": (DOUBLE, "def duoble(number):", ":exercise: double", "does not define 'double'"),
    "a class": (DOUBLE, "class double:\n  def __init__(self, number):", ":exercise: double", "defines a class"),
}
CODE = {
    "harness in the visible test": (
        TEST,
        f"from grader.exercises.double import rows\n\n{TEST}",
        "from grader",
        "imports 'grader.exercises.double' where students see it",
    ),
    "harness in a demo": (DEMO, f"import grader.judging.judge\n\n{DEMO}", "import grader", "'grader.judging.judge'"),
    "harness in an answer": (ANSWER, f"    import grader\n{ANSWER}", "    import grader", "imports 'grader'"),
    "syntax": (DEMO, "for number in range(3:", "for number in range(3:", "code cell is not Python"),
    "return at the top": (DEMO, f"return 1\n{DEMO}", "return 1", "is not Python ('return' outside function)"),
    "bad escape": (DEMO, f"x = '\\d'\n{DEMO}", "x = '", "gives a warning on compiling"),
    "shell line": (DEMO, f"!nvidia-smi\n{DEMO}", "!nvidia-smi", "has a shell line. Call subprocess.run"),
    "shell value": (DEMO, f"x = !ls\n{DEMO}", "x = !ls", "has a shell line"),
    "shell magic": (
        "for number in range(3):\n    print(number, double(number))",
        "%%bash\nls",
        "%%bash",
        "has a shell line",
    ),
    "magic in an answer": (
        "    the_whole",
        "    %time 1\n    the_whole",
        "    %time",
        "magic %time, and graded cells are plain",
    ),
    "name of another cell": (TEST, f"{TEST}\nscale + 1", "scale + 1", "uses 'scale' from another cell"),
    "name of the hidden part": (
        TEST,
        f"random.random\n{TEST}",
        ":test: double",
        "uses 'random' that only the hidden part",
    ),
    "exercise rebound": (TEST, f"{TEST}\ndouble = 3", "double = 3", "binds 'double', the name of an exercise"),
    "exercise defined elsewhere": (
        "scale = 2",
        "scale = 2\ndouble = abs",
        "double = abs",
        "it would stand in for the student's answer",
    ),
    "subclass": (TEST, f"{TEST}\nclass Own(double): pass", "class Own", "makes a subclass of 'double'"),
    "attribute": (TEST, f"{TEST}\ndouble.__code__", "double.__code__", "takes .__code__ of 'double'"),
    "attribute of a value": (
        "points = 0.0",
        "points = 0.0 if KINDS.items() else 1",
        "points = 0.0 if",
        "takes .items of 'KINDS'",
    ),
    "isinstance": (
        TEST,
        f"{TEST}\nassert isinstance(double(2), double)",
        "assert isinst",
        "inspects 'double' with isinstance()",
    ),
    "type of a function": (TEST, f"{TEST}\nassert type(double)", "assert type", "inspects 'double' with type()"),
    "function not called": (
        TEST,
        f"{TEST}\nother = double",
        "other = double",
        "uses the function 'double' without calling it",
    ),
    "value called": (
        "points = 0.0",
        "points = 0.0 if KINDS() else 1",
        "points = 0.0 if",
        "calls 'KINDS', which is a value",
    ),
    "gradient": (TEST, f"{TEST}\nanswer = double(1)\nanswer.backward()", "answer.backward", "gradients do not cross"),
    "gradient at once": (TEST, f"{TEST}\ndouble(1).grad", "double(1).grad", "gradients do not cross"),
    "verdict printed": (TEST, f"{TEST}\nprint('well done')", "print('well", "prints. A wrong answer raises"),
    "inputs not from the seed": ("random.Random(seed())", "random.Random(7)", "draw = random", "without gpulab.seed()"),
    "gpu cell begins otherwise": (
        "needs_gpu()\ncheck",
        "check",
        ":gpu_test: double",
        "does not begin with needs_gpu()",
    ),
    "gpu wanted by a plain test": (
        TEST,
        f"import gpulab\ngpulab.needs_gpu()\n{TEST}",
        "gpulab.needs_gpu()",
        "a _test cell runs everywhere",
    ),
    "never looks": (
        'check.equal(double(4), 8, "double(4)")',
        "check.equal(4, 4, 'x')",
        ":gpu_test: double",
        "never looks at 'double'",
    ),
    "type of an answer": (
        TEST,
        f"{TEST}\nfor one in double(1), 3:\n    assert type(double(one)) is int",
        "assert type",
        "asks for the type of 'double(one)'. Compare with gpulab.check",
    ),
    "kind of number of an answer": (
        TEST,
        f"{TEST}\nfound = double(4)\nassert isinstance(found, (int, float))",
        "assert isinst",
        "asks whether 'found' is a (int, float)",
    ),
    "a part of an answer compared": (
        TEST,
        f"{TEST}\nfor key, part in double(4).items():\n    assert part[0] == 8",
        "assert part[0]",
        "compares 'part[0]' by itself. Compare with gpulab.check, or take it through check.as_python()",
    ),
    "an answer compared in the hidden part": (
        "points = check.share(KINDS,",
        'assert KINDS["one"] == "odd"\npoints = check.share(KINDS,',
        "assert KINDS",
        'compares "KINDS',
    ),
    "an answer compared in a function of the test": (
        TEST,
        f"{TEST}\ndef held(function, top):\n    return function(1) is top\nheld(double, top=2)",
        "    return function",
        "compares 'function(1)' by itself",
    ),
    "picture missing": ("# Small numbers", "![a warp](figures/warp.svg)", "![a warp]", "there is no such file"),
    "picture without words": ("# Small numbers", "![](https://example.org/a.png)", "![]", "without a text"),
}

FAULTS = {**STRUCTURE, **OPTIONS, **SETTINGS, **PAIRING, **REGIONS, **CODE}


def lint(folder: Path, old: str, new: str) -> tuple[str, list[Finding]]:
    course = make_course(folder, {old: new})
    source = course.root / "solutions" / f"{NAME}.md"
    return source.read_text(), findings_of(source)


def lines_of(text: str, piece: str) -> set[int]:
    """Lines at which a piece begins, and those of the fence above it."""
    at = text.index(piece)
    line = text.count("\n", 0, at) + 1
    fence = text.rfind("```{code-cell}", 0, at)
    return {line, text.count("\n", 0, fence) + 1}


def test_a_good_source_has_no_findings(tmp_path: Path) -> None:
    make_course(tmp_path)
    assert findings_of(tmp_path / "solutions" / f"{NAME}.md") == []


def test_hidden_tests_may_import_the_exercises(tmp_path: Path) -> None:
    make_course(tmp_path, {HIDDEN: f"{HIDDEN}\n\nfrom grader.exercises.double import rows\n\nrows()"})
    assert findings_of(tmp_path / "solutions" / f"{NAME}.md") == []


@pytest.mark.parametrize(
    "lines",
    [
        "found = check.as_python(double(4))\nassert isinstance(found, int) and found == 8",
        "found = double(4)\nfound = check.as_python(found)\nassert found == 8",
        "found = double(4)\nif isinstance(found, dict) and found is not None:\n    found = sorted(found)",
        "def made(value):\n    return value == 3\nmade(3)",
    ],
)
def test_plain_values_may_be_compared(lines: str, tmp_path: Path) -> None:
    assert lint(tmp_path, TEST, f"{TEST}\n{lines}")[1] == []


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_is_one_finding(fault: str, tmp_path: Path) -> None:
    """At the line, or at the cell's fence, in words that say what and what to do."""
    old, new, place, words = FAULTS[fault]
    text, found = lint(tmp_path, old, new)
    assert len(found) == 1, "\n".join(map(str, found)) or "nothing found"
    message = str(found[0])
    assert words in message
    assert message.startswith(f"solutions/{NAME}.md:")
    assert "\n" not in message and found[0].remedy
    if place:
        assert int(found[0].where.rpartition(":")[2]) in lines_of(text, place), message


@pytest.mark.parametrize(
    ("where", "wide"),
    [("    return", False), ('print(f"scale', True), ("check.", True)],
    ids=["answer", "page", "test"],
)
def test_visible_code_fits_the_cell(where: str, wide: bool, tmp_path: Path) -> None:
    """What students do not see may be as wide as it likes."""
    line = next(line for line in SOURCE.splitlines() if line.startswith(where))
    path = tmp_path / "wide.md"
    path.write_text(SOURCE.replace(line, f"{line}  # {'x' * 90}", 1))
    found = [str(one) for one in findings_of(path)]
    assert [("shows a line of" in one) for one in found] == [True] * wide, found


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
