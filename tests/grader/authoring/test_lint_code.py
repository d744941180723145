"""The code of cells, and what of it is hidden: one fault gives one finding, where it is and what to do."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from courses import NAME, SOURCE, findings_of, make_course
from linted import ANSWER, DEMO, DOUBLE, HIDDEN, LAST_HIDDEN, TEST, check_one_finding, lint

from grader.authoring.lint.code import global_reads

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
    "a plain answer compared, which may be an array": (
        TEST,
        f"{TEST}\nwrong = check.as_python(double(4)) == 9",
        "wrong = check",
        "compares 'check.as_python(double(4))'. Ask check.is_equal()",
    ),
    "picture missing": ("# Small numbers", "![a warp](figures/warp.svg)", "![a warp]", "there is no such file"),
    "picture without words": ("# Small numbers", "![](https://example.org/a.png)", "![]", "without a text"),
}

FAULTS = {**REGIONS, **CODE}


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_is_one_finding(fault: str, tmp_path: Path) -> None:
    check_one_finding(FAULTS[fault], tmp_path)


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


@pytest.mark.parametrize(
    ("code", "read"),
    [
        ("scale + 1", {"scale"}),
        ("def f(scale=other):\n    return scale", {"other"}),
        ("def f():\n    global scale\n    scale = scale + step", {"scale", "step"}),
        ("def f():\n    local = scale\n    return [local for one in rows]", {"scale", "rows"}),
        ("[scale for scale in rows if scale]\n{k: v for k, v in pairs}", {"rows", "pairs"}),
        ("lambda scale: scale + step", {"step"}),
    ],
)
def test_names_that_are_read_from_other_cells(code: str, read: set[str]) -> None:
    """Arguments, local names, and those of a comprehension are a cell's own, on every release of Python."""
    assert global_reads(ast.parse(code)) == read


@pytest.mark.parametrize(("said", "faults"), [("scale = 3", 1), ("scale = 2", 0), ("def scale(): pass", 1)])
def test_a_test_leaves_the_names_that_the_page_reads_later(said: str, faults: int, tmp_path: Path) -> None:
    """The page says `scale = 2`; its demonstration, below the test, reads that. Saying the same again does no harm."""
    course = make_course(tmp_path, {TEST: f"{said}\n{TEST}", DEMO: f"{DEMO}\n    print([number * scale])"})
    found = findings_of(course.root / "solutions" / f"{NAME}.md")
    assert len(found) == faults
    assert all("gives 'scale' another meaning, and code cell in line" in str(one) for one in found)
