"""`grader prove`: figures against their bars, and the report of them."""

from __future__ import annotations

import dataclasses
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from courses import ROOT
from proofs import CEILINGS, outcomes

from gpulab import History, Problem, table
from gpulab.measuring import machine
from grader.dev.prove import amp, claimed_numbers, report
from grader.dev.prove.run import slug
from grader.model.course import Course, CourseError


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
    assert "| a copy | 0.91 ± 0.01 | 0.85 to 1 | 1.07 | yes |" in text
    assert "| a product | 512 TFLOPS | 593.64 to 1038.87 | 0.86 | **below** |" in text
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
        ("NVIDIA GeForce RTX 3060", "geforce-rtx-3060", "RTX 3060"),
        ("NVIDIA GeForce RTX 3090", "geforce-rtx-3090", "RTX 3090"),
        ("NVIDIA GeForce RTX 4060 Laptop GPU", "geforce-rtx-4060-laptop-gpu", "RTX 4060 Laptop"),
        ("NVIDIA GeForce RTX 5090", "geforce-rtx-5090", "RTX 5090"),
        ("NVIDIA GeForce RTX 3070", "geforce-rtx-3070", "RTX 3070"),
        ("NVIDIA GeForce RTX 3080", "geforce-rtx-3080", "RTX 3080"),
        ("NVIDIA GeForce RTX 4060", "geforce-rtx-4060", "RTX 4060"),
        ("NVIDIA GeForce RTX 4070", "geforce-rtx-4070", "RTX 4070"),
        ("NVIDIA GeForce RTX 4080", "geforce-rtx-4080", "RTX 4080"),
        ("NVIDIA GeForce RTX 5070", "geforce-rtx-5070", "RTX 5070"),
        ("NVIDIA GeForce RTX 5080", "geforce-rtx-5080", "RTX 5080"),
        ("NVIDIA A100 80GB PCIe", "a100-80gb-pcie", "A100 80GB PCIe"),
        ("NVIDIA A10", "a10", "A10"),
        ("NVIDIA A10G", "a10g", "A10G"),
        ("NVIDIA L4", "l4", "L4"),
        ("NVIDIA L40S", "l40s", "L40S"),
        ("NVIDIA A100-PCIE-40GB", "a100-pcie-40gb", "A100 40GB"),
        ("NVIDIA H100 80GB HBM3", "h100-80gb-hbm3", "H100"),
        ("NVIDIA H100 PCIe", "h100-pcie", "H100 PCIe"),
        ("NVIDIA H100 NVL", "h100-nvl", "H100 NVL"),
        ("NVIDIA B200", "b200", "B200"),
        ("Tesla V100-SXM2-32GB", "tesla-v100-sxm2-32gb", "V100"),
        ("Tesla P100-PCIE-16GB", "tesla-p100-pcie-16gb", "P100"),
    ],
)
def test_devices_are_told_by_their_names(device: str, file: str, row: str) -> None:
    assert slug(device) == file
    assert claimed_numbers.datasheet(device)["gpu"] == row


@pytest.mark.parametrize(
    "device",
    [
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA GeForce RTX 3060 Ti",
        "NVIDIA GeForce RTX 3080 Ti",
        "NVIDIA GeForce RTX 4070 SUPER",
        "NVIDIA GeForce RTX 4080 Laptop GPU",
        "NVIDIA H200 NVL",
        "NVIDIA GH200 480GB",
        "NVIDIA GeForce RTX 5090 D",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
    ],
)
def test_another_card_with_the_same_number_is_unknown(device: str) -> None:
    """It is graded by ratios alone, not by the bars of a card that is up to twice as fast."""
    with pytest.raises(CourseError, match="has no row for"):
        claimed_numbers.datasheet(device)
    bars = [bar for bar in claimed_numbers.bars() if bar["times"]]
    assert {claimed_numbers.limits(bar, device) for bar in bars} == {(None, None)}


@pytest.mark.usefixtures("fake_gpu")
def test_an_unknown_card_is_told_and_graded_by_ratios_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is measured and in the report; bars that are ratios of two times hold for it all the same."""

    class Bench:
        def __init__(self, *_: object) -> None: ...

        def __getattr__(self, name: str) -> Callable[[], claimed_numbers._Value]:
            return lambda: claimed_numbers._Value(1e9)

    ours = dataclasses.replace(CEILINGS, device="NVIDIA X1")
    monkeypatch.setattr(claimed_numbers, "_Bench", Bench)
    monkeypatch.setattr(machine, "ceilings", lambda fresh: ours)
    said: list[str] = []
    found = claimed_numbers.measured(Course(tmp_path), said.append)
    told = "data/gpus.csv has no row for NVIDIA X1: it is compared with ratios only, not with a datasheet"
    assert told in said
    barred = {one.name for one in found.figures if (one.low, one.high) != (None, None)}
    assert barred == {bar["figure"] for bar in claimed_numbers.bars() if not bar["times"]} - {"padded_gain"}
    every = [
        dataclasses.replace(one, data=dataclasses.asdict(found)) if one.step == "calibrate" else one
        for one in outcomes()
    ]
    assert f"{told}." in report.write(Course(tmp_path), every)[1].read_text()
    assert claimed_numbers.unknown("NVIDIA H200") == ""


def test_padding_has_no_bar_since_some_cards_do_not_gain() -> None:
    """89.6 TFLOPS at n = 2056 and 115.6 at 2055 on an RTX 4090 (pytorch/pytorch issue 181718) are no fault."""
    (bar,) = (bar for bar in claimed_numbers.bars() if bar["figure"] == "padded_gain")
    for device in ("NVIDIA GeForce RTX 4090", "NVIDIA A100-SXM4-80GB", "X1"):
        low, high = claimed_numbers.limits(bar, device)
        for gain in (89.6 / 115.6, 1.0, 2.9):
            one = claimed_numbers.MeasuredNumber(
                "padded_gain", bar["what"], "×", gain, 0.01, 11, low, high, bar["source"]
            )
            assert one.reached


def test_every_row_and_bar_has_its_source() -> None:
    assert [row["gpu"] for row in table("gpus") if not (row["source"] and row["date"])] == []
    assert [bar["figure"] for bar in claimed_numbers.bars() if not bar["source"]] == []


@pytest.mark.parametrize(
    ("device", "low"),
    [("NVIDIA H200", 0.7 * 989 / 67), ("NVIDIA GeForce RTX 4090", 0.7 * 165 / 82.6), ("Tesla T4", None), ("X1", None)],
)
def test_bars_follow_the_datasheet_of_the_device(device: str, low: float | None) -> None:
    """Half over single: on tensor cores 15 times on an H200, 2 times on an RTX 4090; a T4 has no bfloat16 on them."""
    (bar,) = (bar for bar in claimed_numbers.bars() if bar["figure"] == "half_over_single")
    found = claimed_numbers.limits(bar, device)
    assert found == (None if low is None else pytest.approx(low, rel=0.01), None)


def test_a_bar_without_a_datasheet_holds_for_every_device() -> None:
    (bar,) = (bar for bar in claimed_numbers.bars() if bar["figure"] == "pinned_gain")
    assert claimed_numbers.limits(bar, "X1") == (1.15, None)


def test_an_unknown_device_says_where_to_add_it() -> None:
    with pytest.raises(CourseError, match="has no row for NVIDIA X1"):
        claimed_numbers.datasheet("NVIDIA X1")


def test_every_bar_is_measured_by_something() -> None:
    names = [bar["figure"] for bar in claimed_numbers.bars()]
    assert len(names) == len(set(names)) > 5
    assert all(callable(getattr(claimed_numbers._Bench, name, None)) for name in names)


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
    bench = claimed_numbers._Bench(Course(ROOT), None)
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
    tree = claimed_numbers.definitions("import math\nx = 2\ndef f(): return x\nprint(nothing)\nfor i in nothing: pass")
    namespace: dict[str, object] = {}
    exec(compile(tree, "<cell>", "exec"), namespace)
    assert namespace["f"]() == 2  # type: ignore[operator]
