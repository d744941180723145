"""`gpulab.timing`: medians, spreads, loops, and the order of events on a GPU."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from fake_gpu import FakeGPU

from gpulab import measure, race
from gpulab.measuring.timing import Ratio, Timing

pytestmark = pytest.mark.alone


@pytest.mark.parametrize(
    ("median_ms", "spread_ms", "text"),
    [
        (0.84, 0.021, "0.84 ms ± 0.02 (NVIDIA H200, 30 runs)"),
        (123.4, 12, "123 ms ± 12 (NVIDIA H200, 30 runs)"),
        (1.5, 0.0, "1.50 ms ± 0.00 (NVIDIA H200, 30 runs)"),
        (0.00123, 0.00001, "1.23 µs ± 0.01 (NVIDIA H200, 30 runs)"),
        (1234, 5, "1.234 s ± 0.005 (NVIDIA H200, 30 runs)"),
        (0.0, 0.0, "0 µs ± 0 (NVIDIA H200, 30 runs)"),
        (float("nan"), 0.0, "nan s ± 0 (NVIDIA H200, 30 runs)"),
    ],
)
def test_timing_shows_no_digit_that_is_noise(median_ms: float, spread_ms: float, text: str) -> None:
    assert str(Timing(median_ms, spread_ms, 30, "NVIDIA H200")) == text


def test_ratio_is_shown_with_its_spread() -> None:
    assert str(Ratio(1.934, 0.02, 10, "NVIDIA H200")) == "1.93× ± 0.02 (NVIDIA H200, 10 pairs)"


def test_sleep_takes_as_long_as_it_sleeps() -> None:
    timing = measure(time.sleep, 0.002, runs=5, on="cpu")
    assert 2.0 <= timing.median_ms < 20
    assert timing.runs == 5


def test_median_and_half_the_distance_of_the_quartiles(ticking: Callable[[list[int]], None]) -> None:
    """Runs of 2, 4, 6, 8 and 10 ms: median 6, quartiles 4 and 8. The first two runs warm and set the loops."""
    ticking([1, 2_000_000, 1, 2_000_000, *(step for ms in (2, 4, 6, 8, 10) for step in (1, ms * 1_000_000))])
    timing = measure(lambda: None, runs=5, on="cpu")
    assert (timing.median_ms, timing.spread_ms) == (6.0, 2.0)


def test_short_functions_are_repeated_within_a_run() -> None:
    """Without loops a call of 50 ns would be lost in the clock's own 100 ns."""
    calls = []
    timing = measure(calls.append, 1, runs=5, on="cpu")
    assert len(calls) > 1000
    assert 0 < timing.median_ms < 0.01


def test_long_functions_are_not_run_thirty_times() -> None:
    started = time.perf_counter()
    timing = measure(time.sleep, 0.02, runs=100, on="cpu", at_most_s=0.1)
    assert 3 <= timing.runs < 20
    assert time.perf_counter() - started < 2


def test_no_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        measure(lambda: None, runs=0)
    with pytest.raises(ValueError, match="at least one pair"):
        race(len, len, [[1]], runs=0)


def test_an_exception_of_the_function_comes_through() -> None:
    with pytest.raises(ZeroDivisionError):
        measure(lambda: 1 / 0)


def test_race_of_twice_the_work() -> None:
    ratio = race(lambda s: time.sleep(2 * s), time.sleep, [0.004], runs=5, on="cpu")
    assert 1.5 < ratio.median < 2.5
    assert ratio.runs == 5


def test_race_makes_fresh_inputs_for_every_pair_and_swaps_who_goes_first() -> None:
    seen: list[tuple[str, int]] = []
    race(
        lambda n: (seen.append(("yours", n)), time.sleep(0.0015)),
        lambda n: (seen.append(("reference", n)), time.sleep(0.0015)),
        lambda number: [number],
        runs=4,
        on="cpu",
    )
    timed = seen[-8:]
    assert [n for _, n in timed] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [who for who, _ in timed][::2] == ["yours", "reference", "yours", "reference"]


def test_race_against_itself() -> None:
    """One function in both roles is still timed twice a pair."""
    same = race(time.sleep, time.sleep, [0.002], runs=3, on="cpu")
    assert same.median == pytest.approx(1.0, abs=0.5)
    assert same.spread > 0


class TestOnGPU:
    def test_asynchronous_work_is_waited_for(self, fake_gpu: FakeGPU) -> None:
        """A launch returns at once; a clock that is not synchronized would read 0 ms."""
        timing = measure(fake_gpu.work(2.0), runs=7)
        assert timing == Timing(2.0, 0.0, 7, "NVIDIA Fake")

    def test_work_launched_before_is_not_timed(self, fake_gpu: FakeGPU) -> None:
        fake_gpu.pending_ms = 1000.0
        assert measure(fake_gpu.work(2.0), runs=3).median_ms == 2.0

    def test_order_of_one_run(self, fake_gpu: FakeGPU) -> None:
        """Idle before the first event: work on other streams must not share the GPU with what is timed."""
        measure(fake_gpu.work(2.0), runs=1)
        warm_up, calibration, run = (fake_gpu.log[start : start + 5] for start in (0, 5, 10))
        assert warm_up == calibration == run == ["synchronize", "record", "launch", "record", "synchronize"]

    def test_short_kernels_are_repeated_within_a_run(self, fake_gpu: FakeGPU) -> None:
        timing = measure(fake_gpu.work(0.01), runs=3)
        assert timing.median_ms == pytest.approx(0.01)
        assert fake_gpu.log.count("launch") >= 300

    def test_race(self, fake_gpu: FakeGPU) -> None:
        ratio = race(fake_gpu.work(3.0), fake_gpu.work(2.0), [], runs=4)
        assert ratio == Ratio(1.5, 0.0, 4, "NVIDIA Fake")

    def test_the_cpu_can_still_be_asked_for(self, fake_gpu: FakeGPU) -> None:
        assert "core" in measure(time.sleep, 0.001, runs=2, on="cpu").device
        assert fake_gpu.log == []
