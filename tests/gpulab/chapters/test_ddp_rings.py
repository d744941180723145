"""DDP and scaling: schedules of a ring are played."""

import pytest

from gpulab.chapters.ddp_scaling.rings import sums_everything


def ring(world_size, rank):
    adding = [((rank - step) % world_size, (rank - step - 1) % world_size) for step in range(world_size - 1)]
    return adding + [((one + 1) % world_size, (other + 1) % world_size) for one, other in adding]


@pytest.mark.parametrize("world_size", [1, 2, 3, 5, 8])
def test_a_schedule_that_sums_passes(world_size):
    sums_everything(ring, world_size)


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (lambda p, rank: ring(p, rank)[: p - 1], "That is one half"),
        (lambda p, rank: [(b, a) for a, b in ring(p, rank)], "the wrong way round"),
        (lambda p, rank: [(0, 0)] * 2 * (p - 1), "cut them into p chunks"),
        (lambda p, rank: [(rank, (rank - 1) % p)] * 2 * (p - 1), "Hand on what you have just added to"),
        (lambda p, rank: ring(p, rank)[: p - 1] * 2, "Its complete one is"),
        (lambda p, rank: [(-1, p)] * 2 * (p - 1), "expected chunk numbers from 0 to 3"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_named(schedule, words):
    with pytest.raises(AssertionError, match=words):
        sums_everything(schedule, 4)
