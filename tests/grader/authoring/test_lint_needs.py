"""A test cell declares the services that it uses, however it spells their import, and no others."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from courses import NAME, findings_of, make_course

from grader.authoring.lint.needs import agreement_faults, used_needs
from grader.model.needs import FUNCTIONS, Need

SPELLINGS = {
    "module": ("from gpulab import speedup\nspeedup.against(f, 'x')", {Need.SPEEDUP}),
    "function": ("from gpulab.measuring.speedup import against\nagainst(f, 'x')", {Need.SPEEDUP}),
    "another function of it": ("from gpulab import speedup\nspeedup.same(f, 'x')", {Need.SPEEDUP}),
    "alias of a function": ("from gpulab.measuring.speedup import against as race\nrace(f, 'x')", {Need.SPEEDUP}),
    "alias of a module": ("from gpulab import trace as t\nwith t.counting() as n:\n    f()", {Need.COUNTING}),
    "function of the package": ("from gpulab.trace import counting\nwith counting():\n    f()", {Need.COUNTING}),
    "module of the package": (
        "import gpulab.trace.counted_launches as c\nwith c.counting():\n    f()",
        {Need.COUNTING},
    ),
    "whole path": ("import gpulab.measuring.speedup\ngpulab.measuring.speedup.same(f, 'x')", {Need.SPEEDUP}),
    "package": ("import gpulab\ngpulab.launch.script(f)", {Need.SCRIPTS}),
    "package with an alias": ("import gpulab as g\ng.ranks.launch.listening()", {Need.LISTENING}),
    "everything": ("from gpulab.ranks.launch import *\nscript(f)", {Need.SCRIPTS}),
    "new name": ("from gpulab import speedup\ns = speedup\nrace = s.against\nrace(f, 'x')", {Need.SPEEDUP}),
    "in a function": ("def g():\n    from gpulab import launch\n    return launch.script(f)", {Need.SCRIPTS}),
    "handed on": ("from gpulab import launch\nmap(launch.script, [f])", {Need.SCRIPTS}),
    "several": (
        "from gpulab import launch, trace\nlaunch.listening()\ntrace.counting()",
        {Need.LISTENING, Need.COUNTING},
    ),
    "only in words": ("from gpulab import trace\n# trace.counting(\n'speedup.against('", set()),
    "imported only": ("from gpulab.trace import counting\nf()", set()),
    "another function": ("from gpulab import speedup, trace\nspeedup.find('x'), trace.run(f)", set()),
    "of another package": ("from mine import counting, speedup\ncounting(), speedup.against(f)", set()),
    "of the test itself": ("def against(f):\n    return f\nagainst(f)", set()),
}


@pytest.mark.parametrize(("code", "needs"), SPELLINGS.values(), ids=SPELLINGS)
def test_uses_are_found_under_any_name(code: str, needs: set[Need]) -> None:
    """And what only looks like one is not."""
    assert set(used_needs(ast.parse(code))) == needs


@pytest.mark.parametrize(("module", "function"), FUNCTIONS)
def test_the_functions_exist(module: str, function: str) -> None:
    """A function that is renamed in `gpulab` would be overlooked."""
    import gpulab

    assert callable(getattr(getattr(gpulab, module), function))


BOTH = "from gpulab import speedup, trace\nspeedup.same(f, 'x')\nwith trace.counting() as n:\n    f()"


def told(needs: object, code: str = BOTH) -> list[str]:
    return [f"{one.what}. {one.remedy} ({one.line})" for one in agreement_faults({"needs": needs}, ast.parse(code))]


def test_a_missing_need_is_named_with_the_whole_declaration() -> None:
    (fault,) = told("counting")
    assert fault == (
        "uses speedup.same and does not declare the need 'speedup'. "
        'Add ":needs: [counting, speedup]" below its points. (2)'
    )
    assert len(told(None)) == 2
    assert told(["counting", "speedup"]) == told(["speedup", "counting"]) == []


def test_a_superfluous_need_is_named() -> None:
    (fault,) = told(["counting", "speedup", "scripts"])
    assert (
        fault == "declares the need 'scripts', and never uses launch.script. Write \":needs: [counting, speedup]\". (0)"
    )
    (fault,) = told("speedup", "f()")
    assert "never uses speedup.against or speedup.same. Take the entry out." in fault


DECLARED = {
    "unknown": ("[count]", "the test has an unknown need 'count'. Did you mean 'counting'?"),
    "nothing like one": ("[7]", f"the test has an unknown need 7. Known are {', '.join(Need)}."),
    "twice": ("[counting, counting]", "not a list of different words"),
    "none": ("[]", "not a list of different words"),
    "no list": ("{counting: true}", "not a list of different words"),
    "superfluous": ("counting", "declares the need 'counting', and never uses trace.counting. Take the entry out."),
}


@pytest.mark.parametrize(("value", "words"), DECLARED.values(), ids=DECLARED)
def test_a_source_with_a_wrong_declaration_has_one_finding(value: str, words: str, tmp_path: Path) -> None:
    old = ":test: double\n:points: 2\n"
    course = make_course(tmp_path, {old: f"{old}:needs: {value}\n"})
    (finding,) = findings_of(course.chapter(NAME).source)
    assert words in str(finding)


def test_only_tests_have_needs(tmp_path: Path) -> None:
    old = ":tags: [nbval-check-output]\n"
    course = make_course(tmp_path, {old: f"{old}:needs: counting\n"})
    (finding,) = findings_of(course.chapter(NAME).source)
    assert ":needs: stands in a cell without :test: name. Only a cell with :test:" in str(finding)


def test_a_need_in_the_hidden_part_counts(tmp_path: Path) -> None:
    """The judge runs both parts; the line of the finding is that of the use."""
    old = "### BEGIN HIDDEN TESTS\nimport random\n"
    use = "from gpulab import trace\n\nwith trace.counting() as launches:\n    double(3)\n"
    course = make_course(tmp_path, {old: old + use})
    path = course.chapter(NAME).source
    (finding,) = findings_of(path)
    line = path.read_text().splitlines().index("with trace.counting() as launches:") + 1
    assert finding.where.endswith(f":{line}")
    assert "uses trace.counting and does not declare the need 'counting'" in str(finding)
