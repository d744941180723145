"""The launcher's progress: what the saved notebooks say, whatever state they are in."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpulab.progress import Standing, progress, read


def cell(
    name: str, source: str, *, points: float | None = None, ran: bool = False, outputs: Any = ()
) -> dict[str, Any]:
    settings = {"grade_id": name, "solution": points is None, "grade": points is not None, "points": points}
    return {
        "cell_type": "code",
        "source": [source],
        "metadata": {"nbgrader": settings},
        "execution_count": 3 if ran else None,
        "outputs": list(outputs),
    }


def chapter(folder: Path, *cells: dict[str, Any], name: str = "01_small") -> Path:
    path = folder / name / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    title = {"cell_type": "markdown", "source": "# Small <numbers>\n\nText.", "metadata": {}}
    path.write_text(json.dumps({"cells": [title, *cells]}))
    return path


ERROR = {"output_type": "error", "ename": "AssertionError", "evalue": "no", "traceback": []}
BLANK = "def double(x):\n    raise NotImplementedError()"


@pytest.mark.parametrize(
    ("answer", "test", "standing"),
    [
        (BLANK, cell("double_test", "", points=2, ran=True), Standing.OPEN),
        ("def double(x): ...", cell("double_test", "", points=2), Standing.STARTED),
        ("def double(x): ...", cell("double_test", "", points=2, ran=True, outputs=[ERROR]), Standing.STARTED),
        ("def double(x): ...", cell("double_test", "", points=2, ran=True), Standing.DONE),
    ],
)
def test_an_exercise_is_open_started_or_done(
    tmp_path: Path, answer: str, test: dict[str, Any], standing: Standing
) -> None:
    (exercise,) = read(chapter(tmp_path, cell("double", answer), test)).exercises
    assert (exercise.standing, exercise.points) == (standing, 2.0)


@pytest.mark.parametrize(("given", "standing"), [("1.75", Standing.STARTED), ("2.0", Standing.DONE)])
def test_a_partly_right_answer_is_not_done(tmp_path: Path, given: str, standing: Standing) -> None:
    points = {"output_type": "execute_result", "data": {"text/plain": [given]}}
    test = cell("KINDS_test", "", points=2, ran=True, outputs=[points])
    (exercise,) = read(chapter(tmp_path, cell("KINDS", "KINDS = {1: 2}"), test)).exercises
    assert exercise.standing is standing


def test_a_test_that_needs_a_gpu_holds_nobody_up(tmp_path: Path) -> None:
    tests = cell("speed_test", "", points=2, ran=True), cell("speed_gpu", "", points=5, ran=True, outputs=[ERROR])
    found = read(chapter(tmp_path, cell("speed", "speed = 1"), *tests))
    assert (found.reached, found.possible) == (2.0, 2.0)


def test_the_table_names_what_is_next_and_escapes_what_it_shows(tmp_path: Path) -> None:
    chapter(tmp_path, cell("double", "x = 1"), cell("double_test", "", points=2, ran=True), cell("triple", BLANK))
    page = progress(tmp_path)._repr_html_()
    assert "Small &lt;numbers&gt;</a>" in page
    assert 'href="01_small/01_small.ipynb"' in page
    assert "<code>triple</code>" in page
    assert 'aria-label="1 of 2 exercises done"' in page
    assert re.findall(r'title="(\w+): (\w+)"', page) == [("double", "done"), ("triple", "open")]
    assert repr(progress(tmp_path)) == "01_small: 1 of 2 exercises done; 2 of 2 points in sight"


@pytest.mark.parametrize("data", ["", "[]", '{"cells": 1}', '{"cells": ["x", {}]}', "\x00"])
def test_a_damaged_notebook_is_told_not_raised(tmp_path: Path, data: str) -> None:
    chapter(tmp_path).write_text(data)
    (found,) = progress(tmp_path).chapters
    assert found.problem or not found.exercises
    assert "01_small" in progress(tmp_path)._repr_html_()


def test_a_folder_without_chapters_says_so(tmp_path: Path) -> None:
    assert repr(progress(tmp_path)) == "No chapters here."
    assert "<table" not in progress(tmp_path)._repr_html_()
