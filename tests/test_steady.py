"""The command that repeats the suite finds tests that fail now and then."""

from __future__ import annotations

from pathlib import Path

import pytest
import steady
from steady import Run

FLAKY = """
from pathlib import Path

def test_second_time(tmp_path):
    seen = Path(__file__).with_name("seen")
    if seen.exists():
        raise AssertionError("only the first run is green")
    seen.touch()

def test_always():
    pass
"""


def test_a_test_that_fails_once_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three runs at one load: red twice. A run that is there is not made again."""
    monkeypatch.setattr(steady, "ROOT", tmp_path)
    (tmp_path / "test_flaky.py").write_text(FLAKY)
    monkeypatch.setitem(steady.PARTS, "side-by-side", ("-p", "no:randomly"))
    runs = [Run("side-by-side", 1, number) for number in (1, 2, 3)]
    for run in runs:
        steady.make(run, tmp_path, ["test_flaky.py"])
    (line,) = steady.unsteady(runs, tmp_path)
    assert line == "test_flaky::test_second_time: failed 2 of 3 with 1 neighbors"


def test_every_load_is_tried_once_before_any_is_tried_twice() -> None:
    assert [(run.neighbors, run.number) for run in steady.planned(2, [0, 6]) if run.part == "alone"] == [
        (0, 1), (6, 1), (0, 2), (6, 2),
    ]  # fmt: skip


def test_a_run_without_results_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments that pytest does not know end it before it writes any."""
    monkeypatch.setattr(steady, "ROOT", tmp_path)
    with pytest.raises(RuntimeError, match="wrote no results"):
        steady.make(Run("alone", 0, 1), tmp_path, ["--no-such-option"])
