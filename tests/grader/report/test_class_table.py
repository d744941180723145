"""The table of a class: in the terminal, and as a file for spreadsheets."""

from __future__ import annotations

import csv
import io

import pytest
from class_results import EVIL, NEEDS_GPU, printed
from recorded_class import NAME, judged, result_of

from grader.model.results import CellResult, SubmissionResult, Verdict
from grader.report import class_table


@pytest.mark.parametrize("width", [100, 120])
def test_the_table_shows_every_verdict_at_a_glance(results, width):
    """A mark a test, points, what is pending and a remark, one line a student, within the terminal's width."""
    text = printed(results, width)
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    assert max(map(len, text.splitlines())) <= width
    assert lines["ada"] == ["ada", "✓", "✓", "✓…", "7/10", "3"]
    assert lines["ben"] == ["ben", "✓", "½", "✓…", "6.75/10", "3"]
    assert lines["cleo"] == ["cleo", "✗", "✓", "✓…", "5/10", "3"]
    assert lines["dan"] == ["dan", "✗", "✓", "✓✓", "8/10", "One", "deleted", "(and", "1", "more)"]
    assert lines["eve"][1:5] == ["∞", "✓", "✓✓", "8/10"]
    assert lines["fay"][1:5] == ["†", "✓", "✓✓", "8/10"]
    assert lines["gus"][1:6] == ["✓", "✓", "!✓", "7/10", "3"]
    assert lines["hal"][1:6] == ["·", "·", "·…", "0/10", "3"]
    assert lines["ivy"] == ["ivy", "–", "the", "file", "is", "empty.", "Ask", "again."]
    assert lines["all"][3:6] == ["38", "75", "86"]  # 3 of 8, 6 of 8, 6 of the 7 that are decided
    assert "1=double  2=KINDS  3=bandwidth" in text
    assert all(verdict.value in text for verdict in Verdict)


def test_a_wide_class_still_fits(results):
    """Twenty exercises, a name that never ends, a remark that neither does: marks and points stay."""
    cells = [CellResult(f"exercise{number}_test", Verdict.PASSED, 1.25, 1.25) for number in range(20)]
    long = SubmissionResult("x" * 90, NAME, tuple(cells), repairs=("word " * 90,))
    text = printed([long], 100)
    assert max(map(len, text.splitlines())) <= 100
    line = next(line for line in text.splitlines() if line.strip().startswith("xx"))
    assert line.count("✓") == 20
    assert "25/25" in line


def test_names_are_not_markup(results):
    """A student may be called [red] or :smile: and is shown so."""
    text = printed([result_of("[red]mo[/red]"), result_of(":smile:"), result_of("[/]")], 100)
    assert "[red]mo[/red]" in text and ":smile:" in text and "[/]" in text


@pytest.mark.parametrize("count", [0, 1])
def test_a_class_of_none_or_one_has_a_table(count):
    """Nothing to divide by is no reason to fail."""
    text = printed([SubmissionResult("ivy", NAME, problem="gone")][:count], 100)
    assert f"{count} submission" in text


def rows_of(results, folder):
    path = folder / "grades.csv"
    class_table.write_csv(results, path)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_file_has_points_of_exercises_and_verdicts_of_tests(results, tmp_path):
    """One row a student; what is pending is empty, not 0; what could not be read has its reason."""
    rows = {row["student"]: row for row in rows_of(results, tmp_path)}
    assert rows["ben"] == {
        "student": "ben",
        "points": "6.75",
        "possible": "10",
        "pending": "3",
        "double": "2",
        "KINDS": "1.75",
        "bandwidth": "3",
        "double_test verdict": "passed",
        "KINDS_test verdict": "partial",
        "bandwidth_test verdict": "passed",
        "bandwidth_gpu verdict": "needs a GPU",
        "problem": "",
    }
    assert rows["cleo"]["double"] == "0"
    assert (rows["ivy"]["points"], rows["ivy"]["double"]) == ("", "")
    assert rows["ivy"]["problem"].endswith("the file is empty. Ask again.")


def test_an_exercise_that_is_wholly_pending_is_empty(tmp_path):
    """Not a zero that somebody might add up."""
    both = (judged("bandwidth_test", Verdict.HARNESS_ERROR), NEEDS_GPU)
    (row,) = rows_of([result_of("ada", *both)], tmp_path)
    assert (row["bandwidth"], row["points"], row["pending"]) == ("", "4", "6")


@pytest.mark.parametrize("name", ['O"Neill, Zoë', "two\nlines", EVIL, "李雷", "a;b\tc", "'quoted'"])
def test_any_name_comes_back_from_the_file(name, tmp_path):
    """Commas, quotes and line breaks are quoted as CSV wants them."""
    assert [row["student"] for row in rows_of([result_of(name), result_of("b")], tmp_path)] == [name, "b"]


def test_a_spreadsheet_runs_no_name(tmp_path):
    """=HYPERLINK(…) as a student's name is text."""
    names = ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "\n=1", "\uff1dHYPERLINK(1)"]
    assert [row["student"] for row in rows_of(list(map(result_of, names)), tmp_path)] == [f"'{name}" for name in names]


def test_a_table_holds_no_control_characters(tmp_path):
    """`cat grades.csv` clears no screen, and no name is shown backwards."""
    (row,) = rows_of([result_of("ada\x1b[2J\u202eeve")], tmp_path)
    assert row["student"] == r"ada\x1b[2J\u202eeve"


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_no_name_ends_a_cell(tmp_path, separator):
    """Where a comma is for decimals, spreadsheets end a cell at a semicolon; a formula may stand after it."""
    class_table.write_csv([result_of(f"Eve{separator}=1+1")], tmp_path / "grades.csv")
    text = (tmp_path / "grades.csv").read_text(encoding="utf-8")
    read = list(csv.reader(io.StringIO(text), delimiter=separator))
    assert not any(cell.startswith("=") for row in read for cell in row)


def test_points_in_the_file_are_exact(tmp_path):
    """A third is a third."""
    (row,) = rows_of([result_of("ada", judged("KINDS_test", Verdict.PARTIAL, 1 / 3))], tmp_path)
    assert float(row["KINDS"]) == 1 / 3
