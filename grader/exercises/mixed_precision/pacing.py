"""Mixed precision on the GPU: a batch that fits into its memory, as many steps as it has time for, and their speed.

The rows train a ResNet-50 twice, in the judge's process and in the student's. What an H200 does in a second takes a T4
ten, and both together need 20 GB at a batch of 512; so batch and epochs follow from the free memory and one timed step.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from gpulab.measuring.devices import device_name, synchronize
from gpulab.measuring.speedup import Noisy, Speed

BATCHES = (512, 256, 128, 64, 32)
STEPS_PER_EPOCH = 2
ROUNDS = 3
FLOAT32_BYTES, FLOAT16_BYTES = 25.4e6, 13.7e6
"""Of memory per image of a training of `resnet50` on 32 × 32 pictures: 13 and 7 GB at a batch of 512."""
FIXED_BYTES = 1.5e9
"""Two CUDA contexts, and two networks with their optimizers' state."""
SHARE = 0.8
"""Of the free memory that both trainings may take."""
SECONDS = 20.0
"""For all timed steps of both sides together; a test cell may take 60."""
CALL_SECONDS = 5.0
"""For the steps of one call; a call may take 10, and also makes the network and its accuracy."""
WANTED_SECONDS = 2.5
"""That the steps between the two lengths should take: what else a call does varies by tenths of a second."""
LONGEST_SECONDS = 8.0
"""For one whole call."""


@dataclass(frozen=True)
class Pacing:
    """What is trained, and for how long: two lengths, so that what is done once cancels in their difference."""

    batch_size: int
    short: int
    """Epochs of `STEPS_PER_EPOCH` steps."""
    long: int

    @property
    def samples(self) -> int:
        """Images in an epoch."""
        return STEPS_PER_EPOCH * self.batch_size


def fitting(free_bytes: float, image_bytes: float) -> int:
    """The largest batch that two trainings, of `image_bytes` per image together, find room for."""
    room = SHARE * free_bytes - FIXED_BYTES
    return next((batch for batch in BATCHES if batch * image_bytes <= room), BATCHES[-1])


def paced(free_bytes: float, step_seconds: Callable[[int], float], image_bytes: float, most: int = 9) -> Pacing:
    """A batch and two lengths that a GPU has memory and time for.

    Args:
        free_bytes: of the GPU's memory.
        step_seconds: batch → seconds of one warm step of the slower side; called for one batch, then for smaller ones
            as long as that takes too long.
        image_bytes: memory that both sides together take per image.
        most: epochs of both lengths together, on a GPU that has time for them.
    """
    batches = BATCHES[BATCHES.index(fitting(free_bytes, image_bytes)) :]
    for batch in batches:
        epoch_seconds = STEPS_PER_EPOCH * step_seconds(batch)
        epochs = min(most, int(SECONDS / (2 * ROUNDS * epoch_seconds)))
        short = 2 if epochs >= 6 else 1
        long = min(epochs - short, int(CALL_SECONDS / epoch_seconds))
        if long > short:
            return Pacing(batch, short, long)
    return Pacing(batches[-1], 1, 2)


def probed(train: Callable[[int, int], object]) -> Callable[[int], float]:
    """The function that times one step of `train(batch_size, epochs)`: an epoch to warm up, then the next one."""

    def step_seconds(batch: int) -> float:
        _seconds(train, batch, 1)
        return _seconds(train, batch, 1) / STEPS_PER_EPOCH

    return step_seconds


def compared(reference: Callable[[int], object], yours: Callable[[int], object], pacing: Pacing) -> Speed:
    """The speed of a step of `yours` against one of `reference`; both are called with a number of epochs, in turn.

    What disturbs a training only makes it longer, so the shortest of each length counts. The spread is what leaving
    out one round would change.

    Raises:
        Noisy: the long training did not take longer than the short one.
    """
    sides = (reference, yours)
    longer = [_stretched(one, pacing) for one in sides]
    rounds = [[(_seconds(one, pacing.short), _seconds(one, long)) for one, long in zip(sides, longer, strict=True)]
              for _ in range(ROUNDS)]  # fmt: skip

    def steps_s(side: int, without: int | None) -> float:
        kept = [one[side] for number, one in enumerate(rounds) if number != without]
        return min(long for _, long in kept) - min(short for short, _ in kept)

    def speed(without: int | None = None) -> float:
        theirs, mine = (steps_s(side, without) / (longer[side] - pacing.short) for side in range(2))
        if min(theirs, mine) <= 0:
            raise Noisy("Too noisy to tell, grade again: more steps did not take longer.")
        return theirs / mine

    speeds = [speed(number) for number in range(ROUNDS)]
    return Speed(speed(), (max(speeds) - min(speeds)) / 2, ROUNDS, 1e3 * steps_s(0, None), device_name())


def _stretched(train: Callable[[int], object], pacing: Pacing) -> int:
    """Epochs of the longer training of this side: on a fast GPU so many more that the steps take `WANTED_SECONDS`."""
    _seconds(train, 1)  # kernels are chosen and loaded
    long_s, short_s = _seconds(train, pacing.long), _seconds(train, pacing.short)
    epochs = pacing.long - pacing.short
    wanted = math.ceil(epochs * WANTED_SECONDS / max(long_s - short_s, WANTED_SECONDS / 20))
    most = int(LONGEST_SECONDS / long_s * pacing.long) - pacing.short
    return pacing.short + max(epochs, min(wanted, most))


def _seconds(function: Callable[..., object], *arguments: int) -> float:
    synchronize()
    started = time.perf_counter()
    function(*arguments)
    synchronize()
    return time.perf_counter() - started
