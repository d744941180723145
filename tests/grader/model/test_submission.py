"""Untrusted notebooks: what is fixed, what is refused, and in which order things run."""

from __future__ import annotations

import copy
import json

import pytest
from minikey import RIGHT, make_key, notebook

from grader.model.course import CourseError
from grader.model.submission import Action, Submission, parse, read


def parsed(data: dict) -> Submission:
    return parse(json.dumps(data).encode(), make_key())


def order(submission: Submission) -> list[str]:
    return [step.id for step in submission.steps]


def step(submission: Submission, name: str):
    return next(step for step in submission.steps if step.id == name)


def test_a_released_notebook_needs_no_repair() -> None:
    submission = parsed(notebook(make_key()))
    assert submission.repairs == ()
    assert submission.attempted == frozenset()
    assert order(submission) == [cell.id for cell in make_key().cells]


def test_answers_are_attempted_and_run() -> None:
    submission = parsed(notebook(make_key(), RIGHT))
    assert submission.attempted == {"double", "SHARES"}
    assert step(submission, "double").action is Action.RUN


def test_demonstrations_and_blanks_are_not_run() -> None:
    submission = parsed(notebook(make_key()))
    assert {name: step(submission, name).action for name in ("imports", "demo", "double")} == {
        "imports": Action.RUN,
        "demo": Action.SHOW,
        "double": Action.SHOW,
    }


def test_deleted_cells_are_put_back() -> None:
    """A deleted test is judged all the same, and a deleted answer is a blank one."""
    data = notebook(make_key(), RIGHT)
    data["cells"] = [cell for cell in data["cells"] if cell["id"] not in ("double_test", "SHARES", "imports")]
    submission = parsed(data)
    assert order(submission) == [cell.id for cell in make_key().cells]
    assert submission.attempted == {"double"}
    assert [text for text in submission.repairs if "double_test" in text]
    assert [text for text in submission.repairs if "SHARES" in text]


def test_stripped_metadata_is_found_by_content() -> None:
    data = notebook(make_key(), RIGHT)
    for number, cell in enumerate(data["cells"]):
        cell["metadata"], cell["id"] = {}, f"x{number}"
    submission = parsed(data)
    assert submission.attempted == {"double", "SHARES"}
    assert order(submission)[3:] == ["double", "double_test", "double_gpu", "SHARES", "SHARES_test"]
    assert len([text for text in submission.repairs if "found by its content" in text]) == 5


def test_a_changed_test_cell_is_replaced() -> None:
    """Whatever the student made of a test, the instructor's is the one that is judged."""
    data = notebook(make_key(), RIGHT)
    data["cells"][4]["source"] = "assert True"
    assert step(parsed(data), "double_test").source == make_key().cell("double_test").source


def test_a_copied_cell_counts_once() -> None:
    data = notebook(make_key(), RIGHT)
    data["cells"].insert(4, copy.deepcopy(data["cells"][3]))
    submission = parsed(data)
    assert sum(step.key is not None and step.key.grade_id == "double" for step in submission.steps) == 1
    assert len(set(order(submission))) == len(order(submission))
    assert "more than once" in submission.repairs[0]


def test_a_test_moved_before_its_exercise_runs_after_it() -> None:
    data = notebook(make_key(), RIGHT)
    data["cells"].insert(0, data["cells"].pop(4))
    names = order(parsed(data))
    assert names.index("double") < names.index("double_test")


def test_an_answer_in_a_cell_of_its_own_is_attempted() -> None:
    data = notebook(make_key())
    data["cells"].insert(
        3, {"cell_type": "code", "id": "mine", "metadata": {}, "source": "def double(x): return 2 * x"}
    )
    submission = parsed(data)
    assert submission.attempted == {"double"}
    assert step(submission, "mine").action is Action.RUN


def test_a_cell_of_ours_that_was_changed_runs_after_our_own_version() -> None:
    """An added import works, and what the cell defined is still there when the change breaks it."""
    data = notebook(make_key())
    data["cells"][1]["source"] = "import itertools"
    changed = step(parsed(data), "imports")
    assert (changed.before, changed.source) == ("import math\nhelper = math.sqrt", "import itertools")


def test_a_solution_turned_into_markdown_is_told() -> None:
    data = notebook(make_key(), RIGHT)
    data["cells"][3]["cell_type"] = "markdown"
    submission = parsed(data)
    assert submission.attempted == {"SHARES"}
    assert any("turned into a markdown cell" in text for text in submission.repairs)


@pytest.mark.parametrize("kind", ["raw", "code", "markdown"])
@pytest.mark.parametrize("grade_id", ["SHARES", "double", "double_gpu", None])
def test_no_cell_takes_a_tests_place(kind: str, grade_id: str | None) -> None:
    """Under its id a test would not be run. A raw cell of that kind was found by a fuzzer."""
    data = notebook(make_key(), RIGHT)
    data["cells"][4]["cell_type"] = kind
    data["cells"][4]["metadata"] = {"nbgrader": {"grade_id": grade_id}}
    tests = [step.key.grade_id for step in parsed(data).steps if step.action is Action.TEST and step.key]
    assert sorted(tests) == sorted(cell.grade_id for cell in make_key().tests)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b'{"cells": [{"cell_ty', "breaks off"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "not a"),
        (b"[1, 2]", "not a notebook of format 4"),
        (b'{"worksheets": []}', "not a notebook of format 4"),
        (b"[" * 200_000, "nested too deeply"),
        (json.dumps({"cells": [{}] * 3000}).encode(), "3000 cells"),
        (json.dumps({"cells": [1, None, {"source": 5, "metadata": 3, "id": []}]}).encode(), "none of its exercises"),
        (
            json.dumps({"cells": [{"cell_type": "code", "metadata": {"nbgrader": {"grade_id": "saxpy"}}}]}).encode(),
            "it has saxpy",
        ),
    ],
)
def test_what_is_no_notebook_of_the_chapter_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]*$") as refusal:
        parse(data, make_key())
    assert words in str(refusal.value)


def test_a_huge_file_is_refused_unread(tmp_path) -> None:
    path = tmp_path / "huge.ipynb"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(CourseError, match="has 100 MB, the limit is 20 MB"):
        read(path, make_key())


def test_a_missing_file_is_told(tmp_path) -> None:
    with pytest.raises(CourseError, match="no notebook there"):
        read(tmp_path / "none.ipynb", make_key())
