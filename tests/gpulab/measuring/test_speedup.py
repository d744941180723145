"""A speedup tells fast from slow and right from wrong, in one process."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import math
import pkgutil
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

import gpulab.chapters
from gpulab.backend import Backend, use
from gpulab.chapters.shared_memory import workloads
from gpulab.measuring import speedup
from gpulab.measuring.speedup import Comparison, Noisy, Speed, Workload, against, find, projection, projections_agree
from grader.exercises.shared_memory.comparisons import MATMUL, TRANSPOSE
from grader.exercises.tensor_cores.comparisons import PADDED

SIZE = {"tokens": 64, "features": 64, "outputs": 57, "calls": 3, "rounds": 2}
WORKLOADS = "gpulab.chapters.shared_memory.workloads"
WORK_S = 0.05


def plain(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x @ weight.T


def doubled_in(seconds: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """Doubles, and takes its time."""

    def double(x: torch.Tensor) -> torch.Tensor:
        time.sleep(seconds)
        return 2 * x

    return double


SLOW = Comparison("here:SLOW", f"{WORKLOADS}:SLOW", doubled_in(WORK_S))
"""Its reference takes so long that a busy machine does not matter."""
QUICK = Comparison("here:QUICK", f"{WORKLOADS}:QUICK", lambda x: 2 * x)


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workloads of these two."""
    numbers = Workload(inputs=lambda seed: (torch.full((9,), seed / 2**62),))
    monkeypatch.setattr(workloads, "SLOW", numbers, raising=False)
    ones = Workload(inputs=lambda seed: (time.sleep(0.15) or torch.ones(9),))
    monkeypatch.setattr(workloads, "QUICK", ones, raising=False)


@pytest.mark.alone
@pytest.mark.parametrize("factor", [0.5, 1, 3])
def test_speed_is_that_of_the_work(factor: float) -> None:
    speed = against(doubled_in(factor * WORK_S), SLOW, calls=2, rounds=5)
    assert speed.median == pytest.approx(1 / factor, rel=0.4)
    assert speed.work_ms == pytest.approx(2 * WORK_S * 1e3, rel=0.4)
    assert speed.rounds == 5


@pytest.mark.alone
def test_a_function_that_does_nothing_worth_timing_is_noise() -> None:
    with pytest.raises(Noisy, match="grade again"):
        against(lambda x: 2 * x, QUICK, calls=1, rounds=3)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, weight: torch.zeros(len(x), len(weight), dtype=x.dtype),
        lambda x, weight: torch.full((len(x), len(weight)), math.nan),
        lambda x, weight: (x @ weight.T)[:, :-1],
        lambda x, weight: (x @ weight.T).T,
        lambda x, weight: 1.05 * (x @ weight.T),
        lambda x, weight: torch.cat([(x[:-9] @ weight.T), torch.zeros(9, len(weight), dtype=x.dtype)]),
        lambda x, weight: (x @ weight.T).roll(1, dims=0),
    ],
    ids=["zeros", "nan", "column missing", "transposed", "scaled", "rows left out", "rows in another order"],
)
def test_a_wrong_output_is_no_time(wrong: Any) -> None:
    with pytest.raises(AssertionError, match="did not return what the reference"):
        against(wrong, PADDED, **SIZE)


def test_outputs_of_an_earlier_call_are_wrong() -> None:
    """Each call has inputs of its own: what was kept does not help."""
    kept: list[torch.Tensor] = []

    def remembered(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        kept.append(x @ weight.T) if len(kept) < 4 else None
        return kept[-1]

    with pytest.raises(AssertionError, match="did not return what the reference"):
        against(remembered, PADDED, **SIZE)


@pytest.mark.parametrize("left_out", range(1, 9))
def test_one_output_of_many_that_was_not_computed_is_wrong(left_out: int) -> None:
    """An answer that skips one call of eight is a seventh faster; it used to be detected in one round of eight."""
    kept: list[torch.Tensor] = []

    def all_but_one(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        kept.append(kept[-1] if len(kept) == left_out else x @ weight.T)
        return kept[-1]

    with pytest.raises(AssertionError, match="did not return what the reference"):
        against(all_but_one, PADDED, **{**SIZE, "calls": 8, "rounds": 1})
    assert len(kept) == 9


def _tf32(matrix: Any) -> torch.Tensor:
    """float32 rounded to the ten bits after the point that a matrix unit keeps of it."""
    return ((torch.as_tensor(matrix).view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


@pytest.mark.parametrize("coarse", [_tf32, lambda matrix: torch.as_tensor(matrix).bfloat16().float()])
def test_a_product_of_coarser_factors_is_another(coarse: Any) -> None:
    """Units that are ten times as fast, and right to three digits; of small whole numbers, to all."""
    a, b = (torch.as_tensor(one) for one in workloads.MATMUL.inputs(7, rows=96, inner=1900, columns=80))
    expected = [workloads.bilinear(a @ b, seed) for seed in range(20)]
    other_order = a[:, :700] @ b[:700] + a[:, 700:] @ b[700:]
    assert all(projections_agree(workloads.bilinear(other_order, seed), expected[seed], 1e-4) for seed in range(20))
    wrong = coarse(a) @ coarse(b)
    assert not any(projections_agree(workloads.bilinear(wrong, seed), expected[seed], 1e-4) for seed in range(20))


def test_an_error_as_large_as_the_tolerance_does_not_come_through_by_luck() -> None:
    """One sum alone would let an error of twice the tolerance pass two times of five."""
    right = torch.randn(64, 65, generator=torch.Generator().manual_seed(5001))
    wrong = right + 0.02 * torch.randn(64, 65, generator=torch.Generator().manual_seed(5002))
    passed = sum(projections_agree(projection(wrong, seed), projection(right, seed), 1e-2) for seed in range(200))
    assert passed < 10
    near = right + 0.003 * torch.randn(64, 65, generator=torch.Generator().manual_seed(5002))
    assert all(projections_agree(projection(near, seed), projection(right, seed), 1e-2) for seed in range(200))


def test_an_output_of_another_norm_is_wrong_whatever_its_sums() -> None:
    numbers = projection(torch.rand(9, 9), 5)
    assert projections_agree(numbers, numbers, 1e-2)
    for norm in (1.02 * numbers[2], math.nan, math.inf):
        assert not projections_agree([*numbers[:2], norm, *numbers[3:]], numbers, 1e-2)
    endless = [*numbers[:2], math.inf, *numbers[3:]]
    assert not projections_agree(endless, endless, 1e-2)


class _Instant:
    """A side that says it is done before it begins."""

    def __init__(self, honest: speedup.Side) -> None:
        self._honest, self._waiting = honest, (0, 0, False)

    def go(self, seed: int, calls: int, idle: bool) -> None:
        self._waiting = seed, calls, idle

    def project(self, which: int, seed: int) -> list[float]:
        self._honest.go(*self._waiting)
        return self._honest.project(which, seed)


@pytest.mark.alone
def test_reporting_done_too_early_gains_nothing() -> None:
    """The clock runs until the projection is there."""
    mine, theirs = speedup._here(doubled_in(WORK_S), SLOW, {})
    with use(Backend(speedup=lambda *_: (_Instant(mine), theirs))):
        assert against(doubled_in(WORK_S), SLOW, calls=2, rounds=3).median == pytest.approx(1, rel=0.4)


@pytest.mark.alone
def test_impossibly_fast_is_void() -> None:
    with pytest.raises(AssertionError, match="counts as a measurement error"):
        against(doubled_in(0), SLOW, rounds=3)


@pytest.mark.alone
def test_a_comparison_may_allow_more() -> None:
    allowing = dataclasses.replace(SLOW, void=1e9)
    assert against(doubled_in(0), allowing, rounds=3).median > speedup.VOID


class _Timed:
    """A side whose rounds take the times that they are given, the last of them ever after."""

    def __init__(self, working: float, *idle: float) -> None:
        self._working, self._idle = working, list(idle)

    def go(self, seed: int, calls: int, idle: bool) -> None:
        time.sleep(self._working if not idle else self._idle.pop(0) if len(self._idle) > 1 else self._idle[0])

    def project(self, which: int, seed: int) -> list[float]:
        return projection(torch.ones(9), seed)


@pytest.mark.alone
def test_a_time_lost_in_the_noise_is_not_void() -> None:
    """Less than what the rounds without work differ by: no answer is refused for that."""
    sides = _Timed(0.03), _Timed(0.15, 0.03, 0.09, 0.03, 0.09, 0.03)
    with use(Backend(speedup=lambda *_: sides)), pytest.raises(Noisy, match="give or take"):
        against(doubled_in(0), SLOW, calls=1, rounds=5)
    even = _Timed(0.03), _Timed(0.15, 0.03)
    with use(Backend(speedup=lambda *_: even)), pytest.raises(AssertionError, match="counts as a measurement error"):
        against(doubled_in(0), SLOW, calls=1, rounds=5)


@pytest.mark.parametrize(
    "where", ["os:system", "gpulab.measuring.speedup:VOID", "gpulab.measuring.speedup:nothing", "nonsense"]
)
def test_only_workloads_of_the_course_are_looked_up(where: str) -> None:
    with pytest.raises(ValueError, match="expected module and name"):
        find(where)


@pytest.mark.parametrize(
    ("made", "size", "right", "wrong"),
    [
        (
            TRANSPOSE,
            {"rows": 20, "columns": 33},
            lambda x: torch.as_tensor(x).T.contiguous(),
            lambda x: torch.as_tensor(x).T.contiguous().sort(0).values,
        ),
        (
            MATMUL,
            {"rows": 20, "inner": 7, "columns": 18},
            lambda a, b: torch.as_tensor(a) @ torch.as_tensor(b),
            lambda a, b: torch.as_tensor(a) @ torch.as_tensor(b).sort(1).values,
        ),
    ],
    ids=["transpose", "matmul"],
)
def test_kernels_are_compared_by_what_they_compute(made: Comparison, size: Any, right: Any, wrong: Any) -> None:
    """In the tracer, not for their time: so that what a GPU will run has been run."""
    workload = find(made.workload)
    assert workload.project
    arguments = workload.inputs(7, **size)
    expected = workload.project(made.reference(*arguments), 5)
    assert projections_agree(workload.project(right(*arguments), 5), expected, 1e-4)
    assert not projections_agree(workload.project(wrong(*arguments), 5), expected, 1e-4)


def test_points_lie_between_two_speeds() -> None:
    speed = Speed(median=0.45, spread=0.01, rounds=9, work_ms=80, device="GPU")
    assert speed.points(3, none_at=0.3, all_at=0.6) == pytest.approx(1.5)
    assert speed.points(3, none_at=0.5, all_at=0.6) == 0
    assert speed.points(3, none_at=0.1, all_at=0.4) == 3


def test_lost_points_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    speed, words = Speed(0.45, 0.01, 9, 80, "GPU"), {"what": "rows", "than": "steps", "hint": "Why?"}
    assert speed.told_points(3, none_at=0.3, all_at=0.4, **words) == 3
    assert capsys.readouterr().out == ""
    assert speed.told_points(3, none_at=0.3, all_at=0.6, **words) == pytest.approx(1.5)
    assert (
        capsys.readouterr().out
        == "rows: 0.45 times as fast as steps. That earns 1.50 of 3 points; 0.6 earns all of them. Why?\n"
    )
    with pytest.raises(AssertionError, match=r"^rows: 0\.45 times as fast as steps, expected more than 0\.5\. Why\?$"):
        speed.told_points(3, none_at=0.5, all_at=0.6, **words)


@pytest.mark.parametrize(
    ("spread", "work_ms", "noisy"), [(0.02, 80, False), (0.03, 80, True), (0.04, 10, False), (0.06, 10, True)]
)
def test_noise_that_decides_is_told(spread: float, work_ms: float, noisy: bool) -> None:
    """Within 5 % for long work, 10 % for short; noise far from both ends decides nothing."""
    speed = Speed(median=0.5, spread=spread, rounds=9, work_ms=work_ms, device="GPU")
    if noisy:
        with pytest.raises(Noisy, match="grade again"):
            speed.points(3, none_at=0.3, all_at=0.6)
    else:
        assert 0 < speed.points(3, none_at=0.3, all_at=0.6) < 3
    assert speed.points(3, none_at=0.1, all_at=0.2) == 3
    assert speed.points(3, none_at=0.8, all_at=0.9) == 0


@pytest.mark.parametrize("shape", [(), (7,), (3, 4, 5)])
def test_any_shape_can_be_projected(shape: tuple[int, ...]) -> None:
    tensor = torch.rand(shape)
    assert projections_agree(projection(tensor, 5), projection(tensor.numpy().copy(), 5), 1e-6)
    assert not projections_agree(projection(tensor + 1, 5), projection(tensor, 5), 1e-2)


def test_a_part_of_a_larger_tensor_is_projected_like_its_copy() -> None:
    """A result that was cut out of a padded one."""
    part = torch.rand(30, 64)[:, :57]
    assert projections_agree(projection(part, 5), projection(part.contiguous(), 5), 1e-6)


def test_a_projection_sees_every_element() -> None:
    """Also beyond the first chunk."""
    tensor = torch.rand(300, 70_000)
    changed = tensor.clone()
    changed[299, 69_999] += 100_000
    one, other = projection(tensor, 5), projection(changed, 5)
    assert tensor.numel() > speedup.CHUNK
    assert projections_agree(one, projection(tensor.clone(), 5), 1e-6)
    assert not projections_agree(other, one, 1e-2)


def test_no_workload_has_a_size_that_a_comparison_takes_for_itself() -> None:
    """A size called `rounds` sets how many pairs are timed, and never arrives at the workload."""
    own = {name for function in (against, speedup.same) for name in inspect.signature(function).parameters} - {"size"}
    found = []
    for module in pkgutil.walk_packages(gpulab.chapters.__path__, "gpulab.chapters."):
        if module.name.endswith(".workloads"):
            found += [one for one in vars(importlib.import_module(module.name)).values() if isinstance(one, Workload)]
    assert len(found) >= 10
    for one in found:
        assert not own & set(inspect.signature(one.inputs).parameters)
