"""The proof: what it refuses, keeps and carries. Where it needs a GPU, a driver is made up that has one."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import statistics
import tarfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from courses import NAME, ROOT, built_course

from gpulab import History, Problem
from gpulab.measuring import machine
from grader.authoring.release import release
from grader.cli.main import main
from grader.dev.prove import amp, bundle, counts, figures, prove, report, smoke, steps
from grader.dev.prove.figures import Figure
from grader.dev.prove.rows import Pace
from grader.dev.prove.run import Outcome, Step, released, slug
from grader.machine import hardware
from grader.machine.hardware import Gpu
from grader.model.course import Course, CourseError

BANK = {
    "double": """\
# %% right: added
def double(number):
    return number + number
# %% right: multiplied
def double(number):
    return 2 * number
# %% wrong: squares — says "expected 42"
def double(number):
    return number * number
""",
    "KINDS": """\
# %% right: as it is
KINDS = {"one": "odd", "two": "even"}
# %% right: made
KINDS = dict(zip(("one", "two"), ("odd", "even")))
# %% wrong: nothing said — says "the names in KINDS"
KINDS = {}
""",
}
H200 = Gpu("NVIDIA H200", 143_000.0, 1980, 1980, "580.95")


@pytest.fixture
def fake_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that says there is an H200. Nothing that needs one will work."""
    monkeypatch.setattr(hardware, "gpus", lambda: (H200,))


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    made = built_course(tmp_path_factory.mktemp("course"))
    made.chapter(NAME).answers.mkdir(parents=True)
    for exercise, text in BANK.items():
        (made.chapter(NAME).answers / f"{exercise}.py").write_text(text)
    release(made.chapter(NAME))
    (made.root / "data").mkdir(exist_ok=True)
    return made


def step(name: str, *findings: str, **data: object) -> Step:
    return Step(name, name, lambda course, chapters, say, pace: Outcome(name, findings, dict(data)))


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
    def fail(*_: object) -> Outcome:
        raise CourseError("ncu", "is not installed", "Install it.")

    (outcome,) = prove(course, [Step("counts", "counts", fail)], only=("counts",))
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

    def odd(*_: object) -> Outcome:
        return [][1]

    outcomes = prove(course, [Step("counts", "counts", odd), step("nsight", figure=1)])
    assert [one.step for one in outcomes] == ["counts", "nsight"]
    assert "test_prove.py" in outcomes[0].findings[0]
    assert outcomes[0].findings[0].endswith("IndexError: list index out of range")


@pytest.mark.usefixtures("fake_gpu")
def test_an_interrupt_ends_the_steps_and_loses_nothing(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report and the bundle of `grader prove` are there after a SIGTERM."""

    def stopped(course: Course, chapters: object, say: object, pace: Pace) -> Outcome:
        if not pace.fits(0.0):
            return Outcome("gate", data={NAME: {"checked": 1, "findings": 0}}, left=("the rest",))
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
        raise AssertionError("not interrupted")

    some = (step("doctor", rows=[]), Step("gate", "gate", stopped), step("class", "must not run"))
    monkeypatch.setattr(steps, "STEPS", some)
    monkeypatch.chdir(course.root)
    shutil.rmtree(course.work / "prove")
    before = signal.getsignal(signal.SIGTERM)
    ended = CliRunner().invoke(main, ["prove", "--bundle", "proof.tar.xz"])
    assert ended.exit_code == 1, ended.output
    assert signal.getsignal(signal.SIGTERM) is before
    text = (course.root / "data/machines/h200.md").read_text()
    assert "- gate: interrupted before its end" in text
    assert "- gate: the rest" in text
    assert "must not run" not in text
    assert (course.root / "proof.tar.xz").stat().st_size > 0


def test_an_odd_figure_costs_no_other(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    class Bench:
        def __init__(self, *_: object) -> None: ...

        def odd(self) -> figures._Value:
            raise RuntimeError("CUDA error: an illegal memory access")

        def even(self) -> figures._Value:
            return figures._Value(2.0)

        def lacking(self) -> figures._Value:
            raise CourseError("this GPU", "has no tensor cores", "Nothing to do.")

    row = {"what": "a rate", "unit": "", "low": 1, "high": 3, "source": "someone", "times": ""}
    monkeypatch.setattr(figures, "_Bench", Bench)
    monkeypatch.setattr(figures, "bars", lambda: [{**row, "figure": name} for name in ("odd", "lacking", "even")])
    monkeypatch.setattr(machine, "ceilings", lambda fresh: CEILINGS)
    outcome = steps.calibrate(course, [], lambda text: None)
    assert [one["name"] for one in outcome.data["figures"]] == ["even"]
    assert set(outcome.data["failed"]) == {"odd", "lacking"}
    (finding,) = outcome.findings
    assert finding.startswith("odd: ")
    assert finding.endswith("RuntimeError: CUDA error: an illegal memory access")


def test_the_smoke_test_reports_what_a_students_process_meets(course: Course) -> None:
    """Here there is no GPU: every probe but that of a plain cell has to find just that, each by its name."""
    assert smoke.tried("print(6 * 7)").data["printed"] == "42"
    assert smoke.tried("1 / 0").findings == ("ZeroDivisionError: division by zero",)
    assert smoke.tried("import os; os._exit(3)").findings == ("the process ended: a crash",)
    assert smoke.tried("while True: pass", seconds=0.5).findings == ("no answer within 0.5 s",)


# ------------------------------------------------------------------------------------------------------ the bundle


def test_a_bundle_comes_out_as_it_went_in(course: Course, tmp_path: Path) -> None:
    packed = tmp_path / "proof.tar.xz"
    names = bundle.pack(course, packed)
    assert {f"solutions/{NAME}/{NAME}.ipynb", f"notebooks/{NAME}/{NAME}.ipynb"} <= set(names)
    elsewhere = Course(tmp_path / "elsewhere")
    elsewhere.root.mkdir()
    assert bundle.apply(elsewhere, packed) == names
    assert all((elsewhere.root / name).read_bytes() == (course.root / name).read_bytes() for name in names)
    assert bundle.apply(elsewhere, packed) == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("../outside.ipynb", tarfile.REGTYPE),
        ("solutions/../../x/y.ipynb", tarfile.REGTYPE),
        ("solutions/../x.ipynb", tarfile.REGTYPE),
        ("/etc/passwd", tarfile.REGTYPE),
        ("grader/cli/main.py", tarfile.REGTYPE),
        ("solutions/01_small/deep/x.ipynb", tarfile.REGTYPE),
        ("data/machines/h200.json", tarfile.SYMTYPE),
        ("data/machines/h200.json", tarfile.DIRTYPE),
    ],
)
def test_a_bundle_with_anything_else_changes_nothing(tmp_path: Path, name: str, kind: bytes) -> None:
    packed = tmp_path / "proof.tar.xz"
    with tarfile.open(packed, "w:xz") as archive:
        good = tarfile.TarInfo("data/machines/a100.md")
        good.size = 4
        archive.addfile(good, io.BytesIO(b"good"))
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "/etc/passwd"
        archive.addfile(member, io.BytesIO(b""))
    root = tmp_path / "tree"
    root.mkdir()
    with pytest.raises(CourseError, match=r"which no proof writes\. Nothing was taken"):
        bundle.apply(Course(root), packed)
    assert list(root.iterdir()) == []


def test_a_bundle_is_not_written_through_a_link(course: Course, tmp_path: Path) -> None:
    packed = tmp_path / "proof.tar.xz"
    bundle.pack(course, packed)
    (tmp_path / "tree").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tree" / "solutions").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CourseError, match="is a link"):
        bundle.apply(Course(tmp_path / "tree"), packed)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_bundle_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "LARGEST_UNPACKED_BYTES", 1000)
    packed = tmp_path / "proof.tar.xz"
    with tarfile.open(packed, "w:xz") as archive:
        member = tarfile.TarInfo("data/machines/h200.json")
        member.size = 5000
        archive.addfile(member, io.BytesIO(bytes(5000)))
    with pytest.raises(CourseError, match="unpacks to more"):
        bundle.apply(Course(tmp_path), packed)


def test_nothing_and_too_much_cannot_be_packed(course: Course, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CourseError, match="Run grader prove first"):
        bundle.pack(Course(tmp_path), tmp_path / "proof.tar.xz")
    monkeypatch.setattr(bundle, "LARGEST_BYTES", 100)
    with pytest.raises(CourseError, match="more than 0"):
        bundle.pack(course, tmp_path / "proof.tar.xz")
    assert not (tmp_path / "proof.tar.xz").exists()


# ------------------------------------------------------------------------------------------------------ the report


FIGURES = (
    Figure("copy_share", "a copy", "", 0.91, 0.01, 15, 0.88, 1.0, "someone"),
    Figure("bf16_matmul", "a product", "TFLOPS", 512.0, 0.0, 10, 640, 850, "someone"),
    Figure("transpose_share", "a transpose", "", 0.7, 0.0, 10, None, 1.05, "someone"),
)
CEILINGS = machine.Ceilings(
    "NVIDIA H200", "cuda", "2026-01-01", {"torch": "2.11"}, 4300.0, {"bfloat16": 7.5e5}, 6.0, 55.0, 54.0, 24.0, 20.0,
    spreads={"copy": 0.01, "bfloat16": 0.02, "launch": 0.3, "h2d": 0.001},
)  # fmt: skip


def outcomes() -> list[Outcome]:
    data = {"ceilings": asdict(CEILINGS), "figures": [asdict(one) for one in FIGURES], "failed": {}}
    rows = {NAME: {"bandwidth_gpu": {"graded": 10, "passed": 9, "pending": 1, "median_seconds": 2.5}}}
    return [Outcome("calibrate", ("a product: 512 TFLOPS",), data, 31.0), Outcome("repeats", (), rows, 12.0)]


@pytest.mark.usefixtures("fake_gpu")
def test_the_report_shows_what_is_below_its_bar(tmp_path: Path) -> None:
    written = report.write(Course(tmp_path), outcomes())
    assert [path.name for path in written] == ["h200.json", "h200.md"]
    text = written[1].read_text()
    assert "# The course on an NVIDIA H200" in text
    assert "| copy within its memory, read + written | 4,300 GB/s ± 1.0 % | 4,800 GB/s | 90% |" in text
    assert "| matrix product, bfloat16 | 750 TFLOPS ± 2.0 % | 989" in text
    assert "| host to GPU, pageable memory | 24 GB/s | – | – |" in text
    assert "| launch of a kernel, until its end is known | 6 µs ± 30.0 % | – | – |" in text
    assert "| a copy | 0.91 ± 0.01 | 0.88 to 1 | 1.03 | yes |" in text
    assert "| a product | 512 TFLOPS | 640 to 850 | 0.80 | **below** |" in text
    assert "| a transpose | 0.7 | ≤ 1.05 | – | yes |" in text
    assert "| bandwidth_gpu | 10 | 9 | 1 | 2.5 s |" in text
    assert "- calibrate: a product: 512 TFLOPS" in text
    assert "580.95" in text


@pytest.mark.usefixtures("fake_gpu")
def test_notebooks_can_read_the_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report.write(Course(tmp_path), outcomes())
    monkeypatch.setattr(machine, "data_folder", lambda: tmp_path / "data")
    assert machine.recorded("H200") == CEILINGS


@pytest.mark.parametrize(
    ("device", "file", "row"),
    [
        ("NVIDIA H200", "h200", "H200"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb", "A100 80GB"),
        ("NVIDIA GeForce RTX 4090", "geforce-rtx-4090", "RTX 4090"),
        ("Tesla T4", "tesla-t4", "T4"),
    ],
)
def test_devices_are_told_by_their_names(device: str, file: str, row: str) -> None:
    assert slug(device) == file
    assert figures.datasheet(device)["gpu"] == row


@pytest.mark.parametrize(
    ("device", "low"),
    [("NVIDIA H200", 0.7 * 989 / 67), ("NVIDIA GeForce RTX 4090", 0.7 * 165 / 82.6), ("Tesla T4", None), ("X1", None)],
)
def test_bars_follow_the_datasheet_of_the_device(device: str, low: float | None) -> None:
    """Half over single: on tensor cores 15 times on an H200, 2 times on an RTX 4090; a T4 has no bfloat16 on them."""
    (bar,) = (bar for bar in figures.bars() if bar["figure"] == "half_over_single")
    found = figures.limits(bar, device)
    assert found == (None if low is None else pytest.approx(low, rel=0.01), None)


def test_a_bar_without_a_datasheet_holds_for_every_device() -> None:
    (bar,) = (bar for bar in figures.bars() if bar["figure"] == "pinned_gain")
    assert figures.limits(bar, "X1") == (1.15, None)


def test_an_unknown_device_says_where_to_add_it() -> None:
    with pytest.raises(CourseError, match="has no row for NVIDIA X1"):
        figures.datasheet("NVIDIA X1")


def test_every_bar_is_measured_by_something() -> None:
    names = [bar["figure"] for bar in figures.bars()]
    assert len(names) == len(set(names)) > 5
    assert all(callable(getattr(figures._Bench, name, None)) for name in names)


def test_half_precision_is_held_against_single() -> None:
    """On the CPU, where it gains nothing: that both are trained and compared is what can be seen there."""
    problem = Problem("cnn", samples=64, batch_size=32, device="cpu")
    gains = amp.gain(problem)
    assert len(gains) == amp.ROUNDS
    assert all(0.01 < one < 100 for one in gains)
    assert torch.backends.cudnn.allow_tf32  # as it was

    def trained(share: float) -> Callable[[Problem, int], History]:
        return lambda problem, epochs: History([], [], 0, share * epochs, {})

    assert amp.accuracy_points(trained(0.49), trained(0.45), [problem] * 2, epochs=2) == pytest.approx([8, 8])
    assert amp.spread([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(1.5)


def test_lightning_is_held_against_the_loop() -> None:
    """The chapter's own answers, on the CPU: which of them is faster there is nobody's business."""
    bench = figures._Bench(Course(ROOT), None)
    lightning = bench._solution("05", "train_lightning", "QUIET")
    problem = Problem("cnn", samples=64, batch_size=32, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's advice on workers and loggers
        ratios = amp.step_ratios(
            lambda problem, epochs: lightning(problem, "16-mixed", epochs),
            bench._solution("05", "train_amp"),
            problem,
            lengths=(1, 3),
        )
    assert len(ratios) == amp.LENGTHS_ROUNDS
    assert all(ratio > 0 for ratio in ratios)  # of steps this short, no more can be said

    def sleeps(seconds: float) -> Callable[[Problem, int], object]:
        return lambda problem, epochs: time.sleep(seconds * epochs)

    assert statistics.median(amp.step_ratios(sleeps(0.06), sleeps(0.02), problem, (1, 3))) > 1.5


def test_solutions_are_read_without_running_what_they_print() -> None:
    tree = figures.definitions("import math\nx = 2\ndef f(): return x\nprint(nothing)\nfor i in nothing: pass")
    namespace: dict[str, object] = {}
    exec(compile(tree, "<cell>", "exec"), namespace)
    assert namespace["f"]() == 2  # type: ignore[operator]


# ------------------------------------------------------------------------------------------------------- the counts

NCU = """==PROF== Connected to process 99
==PROF== Disconnected
"ID","Process ID","Kernel Name","Context",{columns}
"","","","",{units}
"0","99","grader::prove::kernels::prove_copy[abi:v1](Array<float, 2>)","1",{copy}
"1","99","elementwise_kernel","1",{copy}
"2","99","prove_transpose_tile(float*)","1",{tile}
"""
COPY = (32768, 131072, 32768, 131072, 0, 0, 0, 0)
TILE = (32768, 131072, 32768, 131072, "1,048,576", 32768, 32768, 32768)


def quoted(values: object) -> str:
    return ",".join(f'"{value}"' for value in values)  # type: ignore[attr-defined]


def test_what_the_profiler_prints_is_read() -> None:
    text = NCU.format(
        columns=quoted(counts.METRICS), units=quoted(["sector"] * 8), copy=quoted(COPY), tile=quoted(TILE)
    )
    found = counts.parse(text)
    assert set(found) == {"prove_copy", "prove_transpose_tile"}
    assert counts.ratios(found["prove_copy"])["sectors a load"] == 4
    assert counts.ratios(found["prove_transpose_tile"])["turns a shared load"] == 32
    with pytest.raises(CourseError, match="printed no table"):
        counts.parse("==ERROR== no permission")


def test_the_tracer_says_what_is_known_by_hand() -> None:
    found = {name: tuple(ratio.values()) for name, ratio in counts.trace().items()}
    assert found == {
        "prove_copy": (4, 4, 0, 0),
        "prove_stride2": (8, 4, 0, 0),
        "prove_transpose_naive": (4, 32, 0, 0),
        "prove_transpose_tile": (4, 4, 32, 1),
        "prove_transpose_padded": (4, 4, 1, 1),
        "prove_tree_sum": (4, 1, 1, 1),
    }


def test_a_count_that_differs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    profiled = {name: dict.fromkeys(counts.METRICS.values(), 0.0) for name in counts.trace()}
    monkeypatch.setattr(counts, "profile", lambda: profiled)
    found = counts.compared()
    wrong = [one.sentence() for one in found if not one.agrees]
    assert "prove_copy: sectors a load: the tracer says 4, Nsight Compute 0" in wrong
    monkeypatch.setattr(counts, "profile", dict)
    with pytest.raises(CourseError, match="said nothing of prove_copy"):
        counts.compared()


def test_without_the_profiler_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts.shutil, "which", lambda name: "/bin/false")
    with pytest.raises(CourseError, match="failed without a word"):
        counts.profile()
