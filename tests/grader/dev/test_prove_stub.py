"""`grader prove`, the command itself, from its first step to its last on a device that is made up.

What the device can and cannot do is explained in `stub_driver`: PyTorch sees it through NVML and fails to use it. This
shows the order of the steps, who asks for the GPU, and that a proof that fails everywhere is reported, kept and packed.
It shows nothing about kernels, results and times: the report lists that as what a GPU must still show.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest
import stub_driver
from courses import NAME, make_course
from proofs import BANK

from grader.authoring.building import build
from grader.authoring.releasing import release
from grader.dev.prove.steps import STEPS
from grader.model.course import Course

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a real driver, which would answer too"),
]
ON_THE_GPU = 'assert int(__import__("torch").full((1,), 4, device="cuda")) == 4'
WARM = ("grader.processes.fork_server", "gpulab.ranks.forks")
"""Modules whose processes fork others."""
SECONDS = 900
"""On a busy machine; 16 s of processor time."""


@dataclass(frozen=True)
class Proof:
    """What one call left."""

    code: int
    printed: str
    log: list[str]
    """Calls to the driver and lines of the command, in the order of time."""
    report: str
    course: Course

    @property
    def calls(self) -> list[stub_driver.Call]:
        return list(stub_driver.calls(self.log))

    def section(self, title: str) -> list[str]:
        """The entries of one list of the report."""
        _, _, rest = self.report.partition(f"\n## {title}\n")
        return [line.removeprefix("- ") for line in rest.partition("\n## ")[0].strip().splitlines()]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The small chapter, with a row that works on the GPU, and two right answers to it."""
    row = 'check.equal(double(4), 8, "double(4)")'
    made = make_course(tmp_path_factory.mktemp("course"), {row: f"{row}\n{ON_THE_GPU}"})
    chapter = made.chapter(NAME)
    build(chapter)
    chapter.answers.mkdir(parents=True)
    for exercise, text in BANK.items():
        (chapter.answers / f"{exercise}.py").write_text(text)
    release(chapter)
    (made.root / "data").mkdir()
    return made


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stub_driver.compiled(tmp_path_factory.mktemp("driver"))


def prove(course: Course, driver: Path, *arguments: str, preload: str = "numpy torch gpulab gpulab.check") -> Proof:
    """Runs the command; its errors and the driver's calls go into one file."""
    log = driver / "calls"
    log.write_text("")
    variables = {
        **os.environ, "GPULAB_HOME": str(driver / "home"), "GPULAB_PRELOAD": preload,
        # A sandbox shows the folders that packages are imported from: students' processes find the libraries too.
        "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), str(driver)]), "LD_LIBRARY_PATH": str(driver),
    }  # fmt: skip
    for name in ("CUDA_VISIBLE_DEVICES", "PYTORCH_NVML_BASED_CUDA_CHECK"):  # Lightning sets the second on import
        variables.pop(name, None)
    with log.open("a") as lines:
        command = [sys.executable, "-m", "grader", "prove", *arguments]
        done = subprocess.run(
            command, cwd=course.root, env=variables, stdout=subprocess.PIPE, stderr=lines, text=True, timeout=SECONDS
        )
    report = course.root / "data/machines/stub-1000.md"
    return Proof(done.returncode, done.stdout, log.read_text().splitlines(), report.read_text(), course)


@pytest.fixture(scope="module")
def proof(course: Course, driver: Path) -> Proof:
    return prove(course, driver, "--repeats", "1", "--slots", "2", "--bundle", "proof.tar.xz")


def test_every_step_runs_in_order_and_is_kept(proof: Proof) -> None:
    begun = [line for line in proof.log if line in {step.what for step in STEPS}]
    assert begun == [step.what for step in STEPS]
    kept = proof.course.work / "prove" / "stub-1000"
    assert {json.loads((kept / f"{step.name}.json").read_text())["step"] for step in STEPS} == {s.name for s in STEPS}
    assert proof.code == 1


def test_no_process_that_forks_others_initializes_cuda(proof: Proof) -> None:
    """Its forks do, each for itself: judges write into the log, students' processes cannot."""
    of_warm = [one for one in proof.calls if any(name in one.command for name in WARM) and one.name.startswith("cu")]
    assert [one for one in of_warm if not one.forked] == []
    assert sum(one.name == "cuInit" for one in of_warm) >= 3


def test_the_gpu_is_used_outside_a_sandbox_first_and_stays_open(proof: Proof) -> None:
    first = next(one for one in proof.calls if one.name.startswith("cu"))
    assert "torch.nn.functional.conv2d" in first.command
    own = [one for one in proof.calls if "_-m_grader_prove_" in one.command and not one.forked]
    opened = [one.name for one in own if one.name in ("nvmlInit", "nvmlShutdown")]
    assert opened.count("nvmlInit") == opened.count("nvmlShutdown") + 1


def test_report_and_bundle_are_written(proof: Proof) -> None:
    """With no figure of the processor's in it: that PyTorch cannot use the device is the finding."""
    assert all(f"| {step.name} |" in proof.report for step in STEPS)
    with tarfile.open(proof.course.root / "proof.tar.xz") as bundle:
        assert "data/machines/stub-1000.md" in bundle.getnames()
    assert not (proof.course.root / "data/machines/stub-1000.json").exists()
    (calibrated,) = (one for one in proof.section("Findings") if one.startswith("calibrate"))
    assert "the driver shows a GPU, but PyTorch sees none" in calibrated


def test_what_fails_in_a_students_process_is_told_by_name(proof: Proof) -> None:
    found = {one.split(":")[1].strip() for one in proof.section("Findings") if one.startswith("smoke")}
    assert found == {"torch", "Numba", "CUDA C++", "Triton", "profiler"}  # NVML answers


def test_a_row_that_the_device_fails_costs_no_points(proof: Proof) -> None:
    assert "| double_gpu | 2 | 0 | 2 |" in proof.report  # graded, passed, pending
    assert not any("rejects" in one for one in proof.section("Findings"))


def test_tools_that_are_missing_are_not_here_and_no_findings(proof: Proof) -> None:
    lacking = proof.section("Not here")
    assert [one.partition(" is not installed")[0] for one in lacking] == [
        "smoke: NCCL: it takes 2 GPUs, and this machine shows 1", "counts: ncu: Nsight Compute",
        "nsight: nsys: Nsight Systems", "nsight: ncu: Nsight Compute",
    ]  # fmt: skip
    assert not any(one.startswith(("counts", "nsight")) for one in proof.section("Findings"))


def test_it_says_what_a_gpu_must_still_show(proof: Proof) -> None:
    """All but what needs no GPU: that the chapters run, and that there were no readings to contradict a solution."""
    still = proof.section("What a GPU must still show")
    shown = {"execute", "readings"}
    assert [one.split(":")[0] for one in still] == [step.name for step in STEPS if step.name not in shown]
    assert "A GPU must still show, step by step: smoke, doctor, calibrate" in " ".join(proof.printed.split())


def test_a_call_without_time_writes_what_is_known(proof: Proof, driver: Path) -> None:
    again = prove(proof.course, driver, "--seconds", "0", "--bundle", "again.tar.xz")
    assert (proof.course.root / "again.tar.xz").stat().st_size > 0
    assert not any(line in {step.what for step in STEPS} for line in again.log if line != "smoke")
    assert again.section("Findings") == proof.section("Findings")
