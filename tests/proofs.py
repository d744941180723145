"""What tests of `grader prove` share."""

from __future__ import annotations

from dataclasses import asdict

from courses import NAME

from gpulab.doctor.hardware import Gpu
from gpulab.measuring import machine
from grader.dev.prove.claimed_numbers import MeasuredNumber
from grader.dev.prove.run import StepResult

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
FIGURES = (
    MeasuredNumber("copy_share", "a copy", "", 0.91, 0.01, 15, 0.88, 1.0, "someone"),
    MeasuredNumber("bf16_matmul", "a product", "TFLOPS", 512.0, 0.0, 10, 640, 850, "someone"),
    MeasuredNumber("transpose_share", "a transpose", "", 0.7, 0.0, 10, None, 1.05, "someone"),
)
CEILINGS = machine.Ceilings(
    "NVIDIA H200", "cuda", "2026-01-01", {"torch": "2.11"}, 4300.0, {"bfloat16": 7.5e5}, 6.0, 55.0, 54.0, 24.0, 20.0,
    spreads={"copy": 0.01, "bfloat16": 0.02, "launch": 0.3, "h2d": 0.001},
)  # fmt: skip


def outcomes() -> list[StepResult]:
    data = {"ceilings": asdict(CEILINGS), "figures": [asdict(one) for one in FIGURES], "failed": {}}
    rows = {NAME: {"bandwidth_gpu": {"graded": 10, "passed": 9, "pending": 1, "median_seconds": 2.5}}}
    return [StepResult("calibrate", ("a product: 512 TFLOPS",), data, 31.0), StepResult("repeats", (), rows, 12.0)]
