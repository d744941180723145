"""A class is graded once, kept whatever happens, and resumed by the same call."""

from __future__ import annotations

import json
import os
import signal
import stat
from pathlib import Path

import pytest
from minikey import notebook
from paper_course import KEY, Room

from grader.batch import batch
from grader.batch.batch import grade_class
from grader.batch.recorder import RealSteps
from grader.model.course import CourseError
from grader.model.limits import Limits
from grader.model.notebooks import ChapterKey
from grader.model.records import Records, load_results
from grader.model.results import SubmissionResult, Verdict
from grader.processes.interrupt import unbroken
from grader.sandbox import Tier


def test_every_submission_is_graded_kept_and_recorded(room: Room) -> None:
    results = room.grade()
    assert {student: result.earned for student, result in results.items()} == {"anna": 1, "bela": 2, "carla": 3}
    assert room.steps.book == {"anna": 1, "bela": 2, "carla": 3}
    assert load_results(room.course, KEY.name) == list(results.values())
    assert [(one.done, one.total) for one in room.told] == [(1, 3), (2, 3), (3, 3)]


def test_secrets_are_for_the_owner_only(room: Room) -> None:
    """Results hold the seed of the hidden inputs."""
    room.grade()
    files = [path for path in room.course.results.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_what_has_not_changed_is_not_graded_again(room: Room) -> None:
    first = room.grade()
    room.submit(bela="0.5")
    second = room.grade()
    assert room.states == {"anna": "unchanged", "bela": "graded", "carla": "unchanged"}
    assert (second["anna"], second["carla"]) == (first["anna"], first["carla"])
    assert second["bela"].earned == 0.5
    assert second["bela"].seed != first["bela"].seed  # what the feedback of the first run gave away is of no use


def test_a_changed_chapter_or_limit_or_harness_is_graded_again(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.grade()
    room.grade(limits=Limits(call_seconds=3))
    assert set(room.states.values()) == {"graded"}
    changed = ChapterKey(KEY.name, KEY.cells[:-1], KEY.released)
    room.grade(limits=Limits(call_seconds=3), key=changed)
    assert set(room.states.values()) == {"graded"}
    monkeypatch.setattr(batch, "harness_digest", lambda: "another version")
    room.grade(limits=Limits(call_seconds=3), key=changed)
    assert set(room.states.values()) == {"graded"}


def test_a_new_gpu_decides_what_was_pending(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.grade()
    monkeypatch.setattr(batch.hardware, "gpu_names", lambda: ("NVIDIA H200",))
    room.grade()
    assert set(room.states.values()) == {"graded"}


def test_a_weaker_confinement_than_required_is_graded_again(room: Room) -> None:
    room.steps.isolation = "1 (files)"
    room.grade()
    room.grade(required=Tier.FILES)
    assert set(room.states.values()) == {"unchanged"}
    room.steps.isolation = "2 (namespaces)"
    room.grade(required=Tier.NAMESPACES)
    assert set(room.states.values()) == {"graded"}
    room.grade(required=Tier.NAMESPACES)
    assert set(room.states.values()) == {"unchanged"}


def test_a_seed_replays_and_again_grades_all(room: Room) -> None:
    assert {result.seed for result in room.grade(seed=7).values()} == {7}
    room.grade(seed=7)
    assert set(room.states.values()) == {"unchanged"}
    room.grade(seed=8)
    assert set(room.states.values()) == {"graded"}
    room.grade(seed=8, again=True)
    assert set(room.states.values()) == {"graded"}


def test_an_interrupted_run_goes_on_with_its_own_seed(room: Room) -> None:
    """The whole class meets the same hidden inputs, and what was done is not done again."""
    room.steps.faults["3"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        room.grade(slots=1)
    assert room.kept == {"anna": 1, "bela": 2} == room.steps.book
    room.steps.faults.clear()
    results = room.grade()
    assert room.states == {"anna": "unchanged", "bela": "unchanged", "carla": "graded"}
    assert len({result.seed for result in results.values()}) == 1


def test_our_own_fault_costs_no_points_and_not_the_class(room: Room) -> None:
    """Every cell of that submission is pending, the traceback lies in a log, and the next run tries again."""
    room.steps.faults["2"] = ZeroDivisionError("in the judge")
    results = room.grade()
    assert room.states == {"anna": "graded", "bela": "harness error", "carla": "graded"}
    assert {cell.verdict for cell in results["bela"].cells} == {Verdict.HARNESS_ERROR}
    assert (results["bela"].pending, results["bela"].possible) == (6.0, 6.0)
    log = room.course.work / "logs" / KEY.name / "bela.log"
    assert "ZeroDivisionError: in the judge" in log.read_text()
    (line,) = [one.line for one in room.told if one.line]
    assert "bela" in line and str(log) in line and "\n" not in line
    room.steps.faults.clear()
    assert room.grade()["bela"].earned == 2
    assert room.states == {"anna": "unchanged", "bela": "graded", "carla": "unchanged"}


def test_our_own_fault_leaves_an_earlier_grade_alone(room: Room) -> None:
    room.grade()
    room.steps.faults["2"] = ZeroDivisionError("in the judge")
    results = room.grade(again=True)
    assert "The earlier grade stays" in (results["bela"].problem or "")
    earlier = Records.of(room.course, KEY.name).load("bela")
    assert earlier is not None and earlier.earned == 2
    assert room.steps.book["bela"] == 2


def test_an_unreadable_submission_leaves_an_earlier_grade_alone(room: Room) -> None:
    room.grade()
    room.submit(bela="")
    results = room.grade()
    assert room.states == {"anna": "unchanged", "bela": "unreadable", "carla": "unchanged"}
    assert "The grade of the earlier submission stays." in (results["bela"].problem or "")
    assert room.steps.book["bela"] == 2
    room.submit(bela="2")
    assert room.grade()["bela"].problem is None
    assert room.states["bela"] == "unchanged"


def test_what_the_reader_refuses_gets_its_line(room: Room) -> None:
    room.steps.faults["2"] = CourseError("bela.ipynb", "not a notebook", "Ask again.")
    assert room.grade()["bela"].problem == "bela.ipynb: not a notebook. Ask again."
    assert room.steps.book == {"anna": 1, "carla": 3}


def test_a_file_whose_name_is_no_text_stops_nobody(room: Room) -> None:
    """Nor can it drive the terminal, or make two lines of one."""
    room.steps.faults["2"] = CourseError(Path("be\udcff\x1b]0;x\x07\nla.ipynb"), "not a notebook", "Ask again.")
    results = room.grade()
    line = "be\\udcff\\x1b]0;x\\x07\\nla.ipynb: not a notebook. Ask again."
    assert results["bela"].problem == next(one.line for one in room.told if one.student == "bela") == line
    assert room.steps.book == {"anna": 1, "carla": 3}
    room.steps.faults["2"] = RuntimeError("half a pair: \udcff")
    room.grade()
    assert room.states["bela"] == "harness error"
    assert "\\udcff" in (room.course.work / "logs" / KEY.name / "bela.log").read_text()


def test_what_is_recorded_is_what_was_graded(room: Room) -> None:
    """Not what a student has put in its place meanwhile: another notebook, or a link to somebody else's."""
    steps, path = RealSteps(), room.course.submitted / "anna" / KEY.name / f"{KEY.name}.ipynb"
    path.write_text(json.dumps(notebook(KEY)))
    result = SubmissionResult("anna", KEY.name)
    assert steps.load(path) == path.read_bytes()
    assert steps.compose(path, KEY, result).cells
    steps.load(path)
    path.write_text(json.dumps(notebook(KEY)) + " ")
    with pytest.raises(CourseError, match="it changed while it was graded"):
        steps.compose(path, KEY, result)
    steps.load(path)
    other = room.course.submitted / "bela" / KEY.name / f"{KEY.name}.ipynb"
    other.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(other)
    with pytest.raises(CourseError, match="a link in its path"):
        steps.compose(path, KEY, result)
    with pytest.raises(CourseError, match="a link in its path"):
        steps.load(path)


def test_a_pipe_in_place_of_a_graded_notebook_holds_up_nobody(room: Room) -> None:
    """The next run looks whether anything has changed."""
    room.grade()
    path = room.course.submitted / "anna" / KEY.name / f"{KEY.name}.ipynb"
    found = batch.find_submissions(room.course.submitted, KEY.name)
    path.unlink()
    os.mkfifo(path)
    records = Records.of(room.course, KEY.name)
    marks = batch._Fingerprints(KEY, Limits(), ())
    assert "anna" not in batch._unchanged(records, found, marks, None, Tier.LIMITS, lambda student: {})


def test_a_result_that_nbgrader_chokes_on_is_recorded_by_the_next_run(room: Room) -> None:
    room.steps.recording_faults["bela"] = RuntimeError("nbgrader")
    first = room.grade()
    assert room.states == {"anna": "graded", "bela": "not recorded", "carla": "graded"}
    room.steps.recording_faults.clear()
    second = room.grade()
    assert room.steps.book["bela"] == 2
    assert second == first  # the same seed: it was not graded again


def test_a_new_grade_that_was_not_recorded_replaces_the_old_one_in_the_next_run(room: Room) -> None:
    room.grade()
    room.submit(bela="0.5")
    room.steps.recording_faults["bela"] = RuntimeError("nbgrader")
    room.grade()
    assert room.steps.book["bela"] == 2
    room.steps.recording_faults.clear()
    room.grade()
    assert room.steps.book["bela"] == 0.5


def test_a_gradebook_that_was_moved_away_is_filled_again(room: Room) -> None:
    first = room.grade()
    room.steps.book.clear()
    assert room.grade() == first
    assert room.steps.book == {"anna": 1, "bela": 2, "carla": 3}


def test_a_locked_gradebook_stops_the_run_and_keeps_the_results(room: Room) -> None:
    room.steps.recording_faults["bela"] = CourseError("gradebook.db", "locked", "Close formgrader.")
    with pytest.raises(CourseError, match="Close formgrader"):
        room.grade(slots=1)
    assert room.kept == {"anna": 1, "bela": 2}


def test_two_runs_at_once_are_refused(room: Room) -> None:
    with (
        Records.of(room.course, KEY.name).held(),
        pytest.raises(CourseError, match="another grader is at work"),
    ):
        room.grade()
    assert room.grade()


def test_a_damaged_result_file_is_graded_again(room: Room) -> None:
    room.grade()
    path = Records.of(room.course, KEY.name).result_file("bela")
    path.write_text(path.read_text()[:100])
    assert "cannot be read" in (load_results(room.course, KEY.name)[1].problem or "")
    assert room.grade()["bela"].earned == 2


def test_names_of_the_batchs_own_files_are_no_trouble(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.submit(batch="1", problems="2", recorded="3", lock="0")
    room.grade()
    assert room.kept == {"batch": 1, "problems": 2, "recorded": 3, "lock": 0}


def test_results_of_others_stay_out_of_one_students_run(room: Room) -> None:
    room.grade()
    results = grade_class(room.course, room.chapter, room.course.submitted / "bela", key=KEY, slots=1, steps=room.steps)
    assert [result.student for result in results] == ["bela"]
    assert len(room.kept) == 3


def test_an_interrupt_waits_for_the_end_of_what_must_not_break() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), unbroken():
        signal.raise_signal(signal.SIGINT)
        done.append("kept and recorded")
    assert done == ["kept and recorded"]
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
