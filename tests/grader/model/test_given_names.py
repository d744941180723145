"""What demonstrations import and define: an answer may use it, although they are not run for a grade."""

from __future__ import annotations

import json

import pytest
from minikey import DEMO, RIGHT, make_key, notebook

from grader.model.given_names import GivenNames, missed
from grader.model.submission import Submission, from_answers, parse


def before(submission: Submission, name: str) -> str:
    return next(step.before for step in submission.steps if step.id == name)


def run(code: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(code, names)
    return names


def seen() -> GivenNames:
    given = GivenNames()
    given.demonstrate(DEMO)
    return given


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ("def double(x): return 2 * x", set()),
        ("def double(x): return statistics.mean([x, 3 * x])", {"statistics"}),
        ("def double(x): return twice(x)", {"FACTOR", "twice"}),
        ("def double(x): return FACTOR * x", {"FACTOR"}),
        ("def double(x): return x.statistics", set()),
        ("def double(x):\n    import statistics\nprint(statistics)", {"statistics"}),
        ("def double(x): return seen * x", set()),
        ("%%writefile double.py\nimport statistics", set()),
        ("def double(x): return not_installed_here", set()),
    ],
)
def test_what_an_answer_names_is_given(answer: str, names: set[str]) -> None:
    assert set(run(seen().needed(answer))) - {"__builtins__"} == names


def test_an_earlier_exercise_is_given_with_what_it_uses() -> None:
    given = seen()
    given.solve("half", "def half(x):\n    return x / FACTOR")
    given.solve("quarter", "def quarter(x):\n    return half(half(x))")
    names = run(given.needed("def eighth(x): return quarter(half(x))"))
    assert names["quarter"](8) * names["FACTOR"] ** 2 == 8
    assert given.needed("def other(x): return x.half") == ""


def test_each_is_given_once_so_that_a_student_may_define_it_anew() -> None:
    given = seen()
    assert given.needed("twice = FACTOR") and not given.needed("twice(FACTOR)")
    assert given.copy().needed("statistics") and given.needed("statistics")


def test_a_program_in_a_string_takes_no_name_away() -> None:
    """It imports nothing in the notebook, so a later cell needs what a demonstration has imported."""
    given = seen()
    first = given.needed('SCRIPT = """\nimport statistics\n"""')
    assert "statistics" in run("\n".join([first, given.needed("mean = statistics.mean")]))


def test_what_comes_later_in_the_notebook_counts() -> None:
    given = seen()
    given.run("FACTOR = 3")
    assert given.needed("FACTOR") == ""
    given.demonstrate("FACTOR = 4\nFACTOR = max(FACTOR, 3)")
    assert given.needed("FACTOR") == ""
    given.demonstrate("with open('it') as file:\n    import math as statistics")
    assert given.needed("statistics") == ""


def test_an_answer_is_run_after_what_it_names() -> None:
    submission = from_answers(make_key(), {**RIGHT, "double": "def double(x): return twice(x)"})
    assert run(before(submission, "double"))["FACTOR"] == 2
    assert before(submission, "SHARES") == before(submission, "imports") == ""


def test_a_demonstration_that_a_student_changed_is_run_and_not_given() -> None:
    submission = from_answers(make_key(), {"double": "def double(x): return twice(x)"})
    assert list(submission.demonstrations()) == list(submission.demonstrations("double_test")) == [DEMO]
    assert list(submission.demonstrations("imports")) == [DEMO]  # no test has that name
    data = notebook(make_key(), {"double": "def double(x): return twice(x)"})
    data["cells"][2]["source"] = "def twice(x): return x + x"
    changed = parse(json.dumps(data).encode(), make_key())
    assert (before(changed, "double"), list(changed.demonstrations())) == ("", [])


def test_a_name_that_only_running_sets_is_told() -> None:
    raised = "Your code raised NameError: name 'seen' is not defined (line 1: return seen)"
    assert "set by a demonstration" in missed(raised, [DEMO])
    assert missed(raised.replace("seen", "sene"), [DEMO]) == missed("seen", [DEMO]) == ""
