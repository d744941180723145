"""Points for padding, with made-up times of GPUs that gain from it and of some that do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from gpulab.chapters.tensor_cores import workloads
from gpulab.measuring.devices import NeedsPart
from gpulab.measuring.speedup import Noisy, Speed
from grader.exercises.tensor_cores.comparisons import GAINS_AT, NONE_AT, SHARE, padded, padding_points

GAINS = {"nearly 3, as on an A100": 2.9, "as on an H200": 1.4, "little": 1.12}
OF_4090 = 89.6 / 115.6
"""TFLOPS at n = 2056 over those at n = 2055 (pytorch/pytorch issue 181718): the padded product is the slower one."""
NO_GAINS = {"RTX 4090": OF_4090, "none": 1.0, "barely": 1.06}


def speed(median: float, spread: float = 0.01) -> Speed:
    return Speed(median, spread, 11, 60.0, "a made-up GPU")


def timed(padded_gain: float, answer: float, spread: float = 0.01) -> float:
    """Points of an answer, both in multiples of the plain product's speed."""
    return padding_points(2.0, speed(answer, spread), lambda: speed(answer / padded_gain, spread), "a layer")


@pytest.mark.parametrize("gain", GAINS.values(), ids=GAINS.keys())
def test_the_own_answer_has_all_points_where_padding_gains(gain: float) -> None:
    """Give or take 3% of its time; the plain product and one that copies its result have none."""
    for noise in (0.97, 1.0, 1.03):
        assert timed(gain, noise * gain) == 2.0
    for plain in (0.6, 1.0, NONE_AT):
        with pytest.raises(
            AssertionError, match=rf"^a layer: {plain:.3g} times as fast as the plain product, expected"
        ):
            timed(gain, plain)


@pytest.mark.parametrize("gain", NO_GAINS.values(), ids=NO_GAINS.keys())
def test_no_answer_loses_points_where_padding_does_not_gain(gain: float) -> None:
    """Neither a right one nor the plain product, from which it cannot be told there."""
    for answer in (0.97 * gain, gain, 1.03 * gain, 1.0):
        with pytest.raises(NeedsPart, match=r"does not gain from padding.*pending, not lost"):
            timed(gain, answer)


def test_points_grow_up_to_what_the_gpu_allows() -> None:
    first, last = NONE_AT, SHARE * 1.12
    assert timed(1.12, (first + last) / 2) == pytest.approx(1.0)
    assert timed(2.0, 1.09) == pytest.approx(1.0)
    assert first < SHARE * GAINS_AT, "no gain that is graded may put the last point at or before the first"


def test_times_that_spread_too_much_stay_pending() -> None:
    with pytest.raises(Noisy, match="grade again"):
        timed(1.4, 1.1, spread=0.2)


def test_the_own_answer_is_timed_only_where_points_would_be_lost() -> None:
    def never() -> Speed:
        raise AssertionError("timed once more")

    assert padding_points(2.0, speed(1.3), never, "a layer") == 2.0
    timed_again: Callable[[], Speed] = lambda: speed(1.0)  # noqa: E731 # so that both stand side by side
    assert padding_points(2.0, speed(1.12), timed_again, "a layer") == 2.0


def test_the_own_answer_is_the_plain_product() -> None:
    x, weight = workloads.LAYER.inputs(3, tokens=5, features=16, outputs=57)
    right = torch.nn.functional.linear(x, weight)
    torch.testing.assert_close(padded(x, weight), right, rtol=1.6e-2, atol=0.1)
    assert padded(x, weight).stride(0) == 64
