"""Rows of the proof: kept one by one, skipped once settled, stopped by a budget."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from grader.dev.prove.rows import GpuRow, KeptRows, Pace, RowResult, attempt, hashed, settle


def row(name: str, ran: list[str], *findings: str, digest: str = "same") -> GpuRow:
    def run() -> RowResult:
        ran.append(name)
        return RowResult(findings, {"name": name})

    return GpuRow(name, lambda: digest, run)


def test_settled_rows_are_not_run_again(tmp_path: Path) -> None:
    """A row that found nothing is skipped until something it depends on changes; one with findings is run again."""
    ran: list[str] = []
    settle([row("one", ran), row("two", ran, "wrong")], KeptRows(tmp_path, "gate"), Pace())
    assert ran == ["one", "two"]
    known, left = settle([row("two", ran), row("one", ran), row("three", ran)], KeptRows(tmp_path, "gate"), Pace())
    assert ran == ["one", "two", "three", "two"]  # those that were never run come first
    assert [found.findings for found in known.values()] == [(), (), ()]
    assert left == ()
    settle([row("one", ran, digest="changed"), row("two", ran)], KeptRows(tmp_path, "gate"), Pace())
    assert ran[4:] == ["one"]


def test_an_interrupted_row_loses_none_of_those_before_it(tmp_path: Path) -> None:
    ran: list[str] = []

    def interrupt(name: str) -> None:
        if name == "two":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        settle([row("one", ran), row("two", ran)], KeptRows(tmp_path, "gate"), Pace(), say=interrupt)
    known, left = settle([row("one", ran), row("two", ran)], KeptRows(tmp_path, "gate"), Pace(until=0.0))
    assert (ran, list(known), left) == (["one"], ["one"], ("two",))


def test_nothing_begins_that_would_not_be_done_in_time(tmp_path: Path) -> None:
    """The longest row so far is the measure, and what is left is named."""
    kept = KeptRows(tmp_path, "gate")
    ran: list[str] = []
    kept.put(row("long", ran), RowResult(seconds=100.0))
    soon, late = (Pace(until=time.monotonic() + seconds) for seconds in (60, 600))
    assert settle([row("long", ran), row("next", ran)], kept, soon)[1] == ("next",)
    assert ran == []
    assert settle([row("long", ran), row("next", ran)], kept, late)[1] == ()
    assert ran == ["next"]


def test_an_exception_is_the_finding_of_its_row(tmp_path: Path) -> None:
    def odd() -> RowResult:
        raise ZeroDivisionError("by nothing")

    ran: list[str] = []
    known, left = settle([GpuRow("odd", str, odd), row("even", ran)], KeptRows(tmp_path, "gate"), Pace())
    assert left == ()
    assert known["odd"].findings[0].endswith("ZeroDivisionError: by nothing")
    assert "test_prove_rows.py" in known["odd"].findings[0]
    assert known["even"].data == {"name": "even"}


def test_rows_run_side_by_side(tmp_path: Path) -> None:
    """Three rows that wait for one another end only if all three run at the same time."""
    together = threading.Barrier(3)

    def meet() -> RowResult:
        together.wait(timeout=20)
        return RowResult()

    rows = [GpuRow(name, str, meet) for name in "abc"]
    known, _ = settle(rows, KeptRows(tmp_path, "gate"), Pace(), slots=3)
    assert [found.findings for found in known.values()] == [()] * 3


def test_a_row_knows_its_seconds(tmp_path: Path) -> None:
    gone = threading.Event()
    assert attempt(GpuRow("one", str, lambda: RowResult(data={"gone": gone.wait(0.1)}))).seconds >= 0.1


def test_the_hash_is_of_files_and_texts(tmp_path: Path) -> None:
    file = tmp_path / "file"
    missing = hashed(file, "text")
    file.write_text("a")
    assert len({missing, hashed(file, "text"), hashed("text", file), hashed("ate", "xt")}) == 4
