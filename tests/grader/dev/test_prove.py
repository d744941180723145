"""The proof: what it refuses, keeps and carries. Where it needs a GPU, a driver is made up that has one."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import time

import pytest
from click.testing import CliRunner
from courses import NAME
from proofs import CEILINGS, H200

from gpulab.doctor import hardware
from gpulab.measuring import machine
from grader.cli.main import main
from grader.dev.prove import claimed_numbers, prove, report, smoke_checks, steps
from grader.dev.prove.rows import Pace
from grader.dev.prove.run import ProofStep, StepResult, folder_of, released
from grader.machine import kept_readings
from grader.model.course import Course, CourseError
from grader.model.readings import ReadingState

pytestmark = pytest.mark.long


def step(name: str, *findings: str, **data: object) -> ProofStep:
    return ProofStep(name, name, lambda course, chapters, say, pace: StepResult(name, findings, dict(data)))


def test_without_a_gpu_it_says_so_and_what_to_do(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "gpus", lambda: ())
    monkeypatch.chdir(course.root)
    ended = CliRunner().invoke(main, ["prove"])
    assert ended.exit_code == 2
    assert "no NVIDIA GPU" in ended.output
    assert "grader doctor" in ended.output
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(CourseError, match="CUDA_VISIBLE_DEVICES hides"):
        prove(course, [step("one")])


@pytest.mark.usefixtures("fake_gpu")
def test_steps_run_in_order_and_are_kept(course: Course) -> None:
    said: list[str] = []
    all_steps = [step("one", figure=1), step("two", "it is too hot")]
    outcomes = prove(course, all_steps, say=said.append)
    assert [(one.step, one.good, one.data) for one in outcomes] == [("one", True, {"figure": 1}), ("two", False, {})]
    assert said == ["one", "two", "two: it is too hot"]
    again = prove(course, [step("one", figure=2), step("two")], only=("one",))
    assert [(one.step, one.data, one.findings) for one in again] == [
        ("one", {"figure": 2}, ()),
        ("two", {}, ("it is too hot",)),
    ]


@pytest.mark.usefixtures("fake_gpu")
def test_a_chapter_alone_replaces_what_is_known_of_it(course: Course) -> None:
    """`--only 01`: the steps that look at chapters, for this one; what is known of others stays."""
    other = step("gate", f"{NAME}: wrong", "09_other: wrong", **{NAME: 1, "09_other": 2})
    prove(course, [step("calibrate", figure=1), other])
    outcomes = prove(course, [step("calibrate", figure=2), step("gate", **{NAME: 3})], only=(NAME[:2],))
    gate = next(one for one in outcomes if one.step == "gate")
    assert gate.data == {NAME: 3, "09_other": 2}
    assert gate.findings == ("09_other: wrong",)
    assert next(one for one in outcomes if one.step == "calibrate").data == {"figure": 1}


@pytest.mark.usefixtures("fake_gpu")
def test_an_unknown_step_is_refused_with_the_nearest(course: Course) -> None:
    with pytest.raises(CourseError, match=r"Did you mean .*calibrate"):
        prove(course, [step("calibrate")], only=("calibrat",))


@pytest.mark.usefixtures("fake_gpu")
def test_a_step_that_cannot_be_done_is_a_finding(course: Course) -> None:
    def fail(*_: object) -> StepResult:
        raise CourseError("ncu", "is not installed", "Install it.")

    (outcome,) = prove(course, [ProofStep("counts", "counts", fail)], only=("counts",))
    assert outcome.findings == ("ncu: is not installed. Install it.",)


def test_chapters_are_executed_compared_and_verified(course: Course) -> None:
    """The steps themselves, on a real chapter."""
    chapters, said = released(course), []
    assert steps.execute(course, chapters, said.append).good
    assert steps.nbval(course, chapters, said.append).data[NAME]["summary"].endswith("s")
    gate = steps.gate(course, chapters, said.append)
    assert (gate.data, gate.findings) == ({NAME: {"checked": 7, "findings": 0}}, ())
    assert said == [f"executing {NAME}", f"nbval {NAME}", f"verifying {NAME}"]


@pytest.mark.usefixtures("fake_gpu")
def test_a_driver_without_a_gpu_is_not_taken_for_proof(course: Course) -> None:
    """The rows that need one say so, and the step reports it: a proof is not passed by skipping."""
    chapters = released(course)
    repeats = steps.repeats(course, chapters, lambda text: None, Pace(repeats=1))
    assert repeats.data[NAME]["double_gpu"]["graded"] == 2
    assert repeats.data[NAME]["double_gpu"]["passed"] == 0
    assert len(repeats.findings) == 2
    assert "double_gpu rejects “added”: 0 of 1: No GPU here" in repeats.findings[0]
    graded = steps.grade_sample(course, chapters, lambda text: None)
    assert any("rows still wait for a GPU" in finding for finding in graded.findings)


@pytest.mark.usefixtures("fake_gpu")
def test_readings_that_nobody_can_use_are_findings(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = {
        "double": kept_readings.Reading(ReadingState.REFUSED, "the GPU says 5", 5),
        "KINDS": kept_readings.Reading(ReadingState.GOOD, "", 2),
        "halve": kept_readings.Reading(ReadingState.ABSENT, "a second GPU"),
    }
    monkeypatch.setattr(kept_readings, "take", lambda key: taken)
    outcome = steps.read(course, released(course), lambda text: None)
    assert outcome.findings == (f"{NAME}: double: refused: the GPU says 5",)
    text = report.text([outcome], {"device": "NVIDIA H200"})
    assert f"| {NAME} | halve | not here | a second GPU |" in text
    assert outcome.absent == (f"{NAME}: halve: a second GPU",)
    kept = json.loads((folder_of(course) / "readings" / f"{NAME}.json").read_text())
    assert kept["double"] == {"state": "refused", "why": "the GPU says 5", "values": 5}


@pytest.mark.usefixtures("fake_gpu")
def test_readings_without_a_finding_are_not_taken_again(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is cut short loses no chapter; one without time left takes none, and tells what is known."""
    taken = {"double": kept_readings.Reading(ReadingState.GOOD, "", 2)}
    chapters, calls = released(course), list[str]()
    monkeypatch.setattr(steps, "harness_digest", lambda: "another harness")
    monkeypatch.setattr(kept_readings, "take", lambda key: calls.append(key.name) or taken)
    none = steps.read(course, chapters, lambda text: None, Pace(until=0.0))
    assert (none.left, calls) == ((NAME,), [])
    first = steps.read(course, chapters, lambda text: None)
    solution = chapters[0].solution
    before = solution.read_text()
    solution.write_text(before + "\n")  # as if it had been executed
    again = steps.read(course, chapters, lambda text: None)
    solution.write_text(before)
    assert calls == [NAME]
    assert first.data == again.data == {NAME: {"double": {"state": "good", "why": ""}}}


def test_a_notebook_that_says_something_else_is_found(course: Course) -> None:
    chapter = course.chapter(NAME)
    before = chapter.solution.read_text()
    try:
        notebook = json.loads(before)
        code = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
        code["source"] = "1 / 0"
        chapter.solution.write_text(json.dumps(notebook))
        (finding,) = steps.nbval(course, [chapter], lambda text: None).findings
        assert finding.startswith(f"{NAME}: nbval: ")
        assert "failed" in finding
    finally:
        chapter.solution.write_text(before)


@pytest.mark.usefixtures("fake_gpu")
def test_an_odd_exception_costs_its_own_step_only(course: Course) -> None:
    """Whatever a step raises is its finding, with the end of the traceback, and the next step runs."""

    def odd(*_: object) -> StepResult:
        return [][1]

    outcomes = prove(course, [ProofStep("counts", "counts", odd), step("nsight", figure=1)])
    assert [one.step for one in outcomes] == ["counts", "nsight"]
    assert "test_prove.py" in outcomes[0].findings[0]
    assert outcomes[0].findings[0].endswith("IndexError: list index out of range")


@pytest.mark.usefixtures("fake_gpu")
def test_an_interrupt_ends_the_steps_and_loses_nothing(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report and the bundle of `grader prove` are there after a SIGTERM."""

    def stopped(course: Course, chapters: object, say: object, pace: Pace) -> StepResult:
        if not pace.fits(0.0):
            left = (f"{NAME} one answer", f"{NAME} another")
            return StepResult("gate", data={NAME: {"checked": 1, "findings": 0}}, left=left)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
        raise AssertionError("not interrupted")

    some = (step("doctor", rows=[]), ProofStep("gate", "gate", stopped), step("class", "must not run"))
    monkeypatch.setattr(steps, "STEPS", some)
    monkeypatch.chdir(course.root)
    shutil.rmtree(course.work / "prove")
    before = signal.getsignal(signal.SIGTERM)
    ended = CliRunner().invoke(main, ["prove", "--bundle", "proof.tar.xz"])
    assert ended.exit_code == 1, ended.output
    assert signal.getsignal(signal.SIGTERM) is before
    text = (course.root / "data/machines/h200.md").read_text()
    assert "- gate: interrupted before its end" in text
    assert f"- gate: {NAME} (2 rows)" in text
    assert "must not run" not in text
    assert (course.root / "proof.tar.xz").stat().st_size > 0


def test_an_odd_figure_costs_no_other(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    class Bench:
        def __init__(self, *_: object) -> None: ...

        def odd(self) -> claimed_numbers._Value:
            raise RuntimeError("CUDA error: an illegal memory access")

        def even(self) -> claimed_numbers._Value:
            return claimed_numbers._Value(2.0)

        def lacking(self) -> claimed_numbers._Value:
            raise CourseError("this GPU", "has no tensor cores", "Nothing to do.")

    row = {"what": "a rate", "unit": "", "low": 1, "high": 3, "source": "someone", "times": ""}
    monkeypatch.setattr(claimed_numbers, "_Bench", Bench)
    monkeypatch.setattr(
        claimed_numbers, "bars", lambda: [{**row, "figure": name} for name in ("odd", "lacking", "even")]
    )
    monkeypatch.setattr(machine, "ceilings", lambda fresh: CEILINGS)
    outcome = steps.calibrate(course, [], lambda text: None)
    assert [one["name"] for one in outcome.data["figures"]] == ["even"]
    assert set(outcome.data["failed"]) == {"odd", "lacking"}
    (finding,) = outcome.findings
    assert finding.startswith("odd: ")
    assert finding.endswith("RuntimeError: CUDA error: an illegal memory access")


def test_two_gpus_are_tried_with_nccl(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check itself, with gloo and the CPU in the place of NCCL and two GPUs; with one GPU it is not here."""
    monkeypatch.setattr(hardware, "gpus", lambda: (H200,))
    assert smoke_checks.lacking("NCCL") == "NCCL: it takes 2 GPUs, and this machine shows 1"
    assert smoke_checks.lacking("torch") == ""
    monkeypatch.setattr(hardware, "gpus", lambda: (H200, H200))
    assert smoke_checks.lacking("NCCL") == ""
    code = smoke_checks.CHECKS["NCCL"].replace("torch.cuda.set_device(rank)\n", "")
    code = code.replace('"nccl"', '"gloo"').replace('"cuda"', '"cpu"')
    found = smoke_checks.tried(code)
    assert (found.findings, found.data["printed"]) == ((), "two GPUs added their tensors")
    (finding,) = smoke_checks.tried(code.replace("(x == 3)", "(x == 4)")).findings
    assert "the sum over two GPUs is wrong" in finding


def test_triton_is_tried_with_a_kernel() -> None:
    """The probe itself, in Triton's own interpreter."""
    code = smoke_checks.CHECKS["Triton"].replace(
        "import torch\n", "import os, torch\nos.environ['TRITON_INTERPRET'] = '1'\n", 1
    )
    code = code.replace('"cuda"', '"cpu"')
    found = smoke_checks.tried(code)
    assert (found.findings, found.data["printed"]) == ((), "a kernel ran")
    (finding,) = smoke_checks.tried(code.replace("2 * tl", "3 * tl")).findings
    assert "a kernel gave wrong numbers" in finding


def test_the_doctor_tries_the_gpu_in_a_students_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is one: what a process of its own can do says nothing about a confined one."""
    checks = {"plain": "print(6 * 7)", "busy": "raise RuntimeError('CUDA error: devices are busy or unavailable')"}
    monkeypatch.setattr(smoke_checks, "CHECKS", checks)
    monkeypatch.setattr(hardware, "gpus", lambda: ())
    assert list(smoke_checks.inside()) == []
    monkeypatch.setattr(hardware, "gpus", lambda: (H200,))
    good, bad = smoke_checks.inside()
    assert (good.what, good.state, good.found[:4]) == ("plain in a student's process", "good", "42, ")
    assert (bad.what, bad.state) == ("busy in a student's process", "bad")
    assert "sudo nvidia-smi -c 0" in bad.remedy


def test_the_processors_ceilings_are_not_taken_for_a_gpus(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the driver shows a GPU that PyTorch cannot use, what is measured is the processor."""
    monkeypatch.setattr(claimed_numbers, "bars", list)
    monkeypatch.setattr(machine, "ceilings", lambda fresh: CEILINGS)
    assert claimed_numbers.measured(course, lambda text: None).ceilings["device"] == "NVIDIA H200"
    monkeypatch.setattr(machine, "ceilings", lambda fresh: dataclasses.replace(CEILINGS, kind="cpu"))
    with pytest.raises(CourseError, match="PyTorch sees none"):
        claimed_numbers.measured(course, lambda text: None)


def test_the_smoke_test_reports_what_a_students_process_meets(course: Course) -> None:
    """Here there is no GPU: every check but that of a plain cell has to find just that, each by its name."""
    assert smoke_checks.tried("print(6 * 7)").data["printed"] == "42"
    assert smoke_checks.tried("1 / 0").findings == ("ZeroDivisionError: division by zero",)
    assert smoke_checks.tried("import os; os._exit(3)").findings == ("the process ended: a crash",)
    assert smoke_checks.tried("while True: pass", seconds=0.5).findings == ("no answer within 0.5 s",)
