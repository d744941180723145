"""What the GPU rows ask of a card: memory and time that cards from 8 to 141 GB have."""

from __future__ import annotations

import ast
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from courses import ROOT

import gpulab
from gpulab.doctor import hardware
from gpulab.doctor.hardware import Gpu
from gpulab.measuring.speedup import Noisy, Speed
from grader.dev.prove import claimed_numbers
from grader.exercises.mixed_precision import pacing
from grader.exercises.mixed_precision.pacing import FLOAT16_BYTES, FLOAT32_BYTES, Pacing, compared, fitting, paced
from grader.exercises.shared_memory.comparisons import transposed_side
from grader.machine import gpu_memory
from grader.model.course import Course
from grader.model.limits import Limits
from grader.model.notebooks import load_key

CARDS = {"RTX 3070": 8e9, "RTX 3060": 12e9, "T4": 15.8e9, "RTX 4090": 24e9, "A100 40GB": 40e9, "H200": 141e9}
BOTH = FLOAT32_BYTES + FLOAT16_BYTES


@pytest.mark.parametrize("memory_bytes", CARDS.values(), ids=CARDS)
def test_both_trainings_fit_into_the_card(memory_bytes: float) -> None:
    free = memory_bytes - 0.5e9
    batch = fitting(free, BOTH)
    assert batch * BOTH + pacing.FIXED_BYTES <= free
    assert batch * FLOAT16_BYTES + pacing.FIXED_BYTES / 2 <= Limits().gpu_memory_of(memory_bytes)


def test_large_cards_keep_the_batch_of_512_and_a_t4_takes_256() -> None:
    assert [fitting(CARDS[name] - 0.5e9, BOTH) for name in ("T4", "A100 40GB", "H200")] == [256, 512, 512]


@pytest.mark.parametrize("tflops", [1.5, 5.0, 20.0, 60.0, 400.0])
def test_both_trainings_fit_into_the_time(tflops: float) -> None:
    """4 TFLOP per step at a batch of 512: all timed steps within 20 s, one call's within 5 s."""

    def step_seconds(batch: int) -> float:
        return 4 / tflops * batch / 512

    found = paced(80e9, step_seconds, BOTH)
    epoch = pacing.STEPS_PER_EPOCH * step_seconds(found.batch_size)
    assert found.long > found.short >= 1
    assert 2 * pacing.ROUNDS * (found.long + found.short) * epoch <= pacing.SECONDS
    assert found.long * epoch <= pacing.CALL_SECONDS
    if tflops >= 60:
        assert found == Pacing(512, 2, 7)


class Clock:
    """Time that passes only in the trainings."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(pacing.time, "perf_counter", lambda: self.now)

    def train(self, *step_seconds: float) -> Callable[[int], None]:
        """A training with seconds per epoch that take turns, after a second of preparation."""
        calls = iter(step_seconds * 20)

        def run(epochs: int) -> None:
            self.now += 1.0 + epochs * next(calls)

        return run


def test_speed_is_that_of_the_steps_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    speed = compared(clock.train(0.4), clock.train(0.2), Pacing(256, 1, 4))
    assert speed.median == pytest.approx(2.0)
    assert speed.points(3.0, none_at=1.1, all_at=1.6) == 3.0


def test_a_training_that_was_disturbed_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    speed = compared(clock.train(0.4, 0.4, 0.4, 0.4, 4.0), clock.train(0.3), Pacing(256, 1, 2))
    assert speed.median == pytest.approx(4 / 3)


def test_a_speed_that_cannot_be_told_is_pending(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    with pytest.raises(Noisy):
        unsteady = clock.train(0.4, 0.7, 0.5, 0.9, 0.3, 0.6, 0.8)
        compared(unsteady, clock.train(0.3), Pacing(256, 1, 2)).points(3.0, none_at=1.1, all_at=2.6)


def test_a_fast_gpu_trains_longer_and_no_call_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """An H200's steps in float16 take 0.02 s, and a call varies by 0.3 s."""
    clock, calls = Clock(monkeypatch), list[float]()

    def train(epoch_seconds: float, varies: itertools.cycle[float]) -> Callable[[int], None]:
        def run(epochs: int) -> None:
            calls.append(1.0 + next(varies) + epochs * epoch_seconds)
            clock.now += calls[-1]

        return run

    seen = []
    for start in range(5):
        jitters = [itertools.cycle([0.3, 0.1, 0.0, 0.2, 0.05, 0.15, 0.25][start:]) for _ in range(2)]
        seen.append(compared(train(0.26, jitters[0]), train(0.04, jitters[1]), Pacing(512, 2, 7)).median)
    assert seen == pytest.approx([6.5] * 5, rel=0.2)
    assert max(calls) < 10


@pytest.mark.parametrize("memory_bytes", CARDS.values(), ids=CARDS)
def test_the_transposed_matrices_fit_into_a_submissions_share(memory_bytes: float) -> None:
    """Nine matrices are in memory at a time: four, their transposed ones, and one that is being drawn."""
    side = transposed_side(memory_bytes)
    assert side % 32 == 0
    assert 4096 < side <= 16384
    assert 9 * 4 * side**2 + 0.6e9 <= Limits().gpu_memory_of(memory_bytes)


def test_the_limit_of_a_submission_is_a_share_of_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Limits().gpu_memory_of(16e9) == pytest.approx(6.4e9)
    assert Limits(gpu_memory_bytes=8_000_000_000).gpu_memory_of(16e9) == 8e9
    t4 = Gpu("Tesla T4", 16_000.0, 0, 0, "550.54")
    monkeypatch.setattr(hardware, "gpus", lambda: (t4,))
    assert gpu_memory.most_bytes(Limits()) == pytest.approx(6.4e9)


@pytest.mark.parametrize(
    ("exercise", "also", "speed"), [("train_amp", (), 1.35), ("train_lightning", ("QUIET",), 0.685)]
)
def test_the_rows_of_the_trainings_run_to_their_end(
    monkeypatch: pytest.MonkeyPatch, exercise: str, also: tuple[str, ...], speed: float
) -> None:
    """On the CPU, with a small network in the large one's place: a speed between the two bars earns half the points."""
    course = Course(ROOT)
    answer = claimed_numbers._Bench(course, None)._solution("05", exercise, *also)
    source = load_key(course.chapter("05_mixed_precision")).cell(f"{exercise}_gpu").source
    for there, here in {'"cuda"': '"cpu"', '"resnet50"': '"cnn"', '"resnet18"': '"cnn"'}.items():
        source = source.replace(there, here)
    source = source.replace("len(first.scales) == len(first.losses)", "first.losses")  # no scaler on a CPU
    trained: list[Pacing] = []

    def compared(reference: Callable[[int], object], yours: Callable[[int], object], pace: Pacing) -> Speed:
        trained.append(pace)
        reference(pace.short)
        yours(pace.short)
        return Speed(speed, 0.0, pacing.ROUNDS, 100.0, "a CPU")

    monkeypatch.setattr(pacing, "BATCHES", (32,))
    monkeypatch.setattr(pacing, "compared", compared)
    monkeypatch.setattr(gpulab, "needs_gpu", lambda points="": None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (15e9, 16e9))
    tf32 = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    tree = ast.parse(source)
    *_, last = tree.body
    assert isinstance(last, ast.Expr)
    tree.body[-1] = ast.Assign([ast.Name("points", ast.Store())], last.value)
    namespace: dict[str, Any] = {exercise: answer}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Lightning's advice on workers and loggers
            exec(compile(ast.fix_missing_locations(tree), "<row>", "exec"), namespace)
    finally:
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = tf32
    assert [pace.batch_size for pace in trained] == [32]
    assert namespace["points"] == pytest.approx(1.5, abs=0.01)
