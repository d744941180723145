"""`gpulab.seed`."""

from __future__ import annotations

from gpulab import seed
from gpulab.check import seeding


def test_fixed_in_a_notebook_secret_in_the_judge() -> None:
    assert seed() == seed() == 20260101
    try:
        seeding.set_seed(7)
        assert seed() == seed() == 7
    finally:
        seeding.set_seed(None)
    assert seed() == 20260101
