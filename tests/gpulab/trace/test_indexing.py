"""A wrong index is named by the elements that its threads write, and only where it explains all of them."""

import numpy as np
import pytest
from numpy.typing import NDArray

from gpulab.trace.indexing import misindexed

LAUNCH = {"grid": [3, 1, 1], "block": [128, 1, 1]}
WIDE = {"grid": [3, 5, 1], "block": [32, 8, 1]}


def only(right: NDArray[np.float32], *where: NDArray[np.int64]) -> NDArray[np.float32]:
    """The right values at these places, and NaN everywhere else."""
    found = np.full_like(right, np.nan)
    found[where] = right[where]
    return found


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (np.arange(3), "whose number is blockIdx.x: a thread has the number blockIdx.x * blockDim.x + threadIdx.x"),
        (np.arange(130), "whose number is blockIdx.x + threadIdx.x"),
        (np.arange(3) * 128, "whose number is blockIdx.x * blockDim.x:"),
        (np.arange(200), ""),
        (np.arange(300), ""),
    ],
)
def test_one_dimension(written: NDArray[np.int64], words: str) -> None:
    right = np.arange(300, dtype=np.float32)
    note = misindexed(LAUNCH, only(right, written), right)
    assert words in note
    assert bool(note) == bool(words)


def test_other_mistakes_are_not_named() -> None:
    """Elements with a wrong value do not come from an index."""
    right = np.arange(1, 301, dtype=np.float32)
    assert misindexed(LAUNCH, only(2 * right, np.arange(3)), right) == ""


def test_stride() -> None:
    right = np.arange(1000, dtype=np.float32)
    places = np.arange(1000)
    note = misindexed(LAUNCH, only(right, places[places % 384 % 128 == 0]), right, stride=True)
    assert "begins with the element" in note


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (np.arange(8), "the row is threadIdx.y"),
        (np.r_[0:8, 32:40], "the row is blockIdx.y * blockDim.x + threadIdx.y"),
        (np.arange(30), ""),
        (np.arange(40), ""),
    ],
)
def test_two_dimensions(rows: NDArray[np.int64], words: str) -> None:
    right = np.arange(40 * 70, dtype=np.float32).reshape(40, 70)
    note = misindexed(WIDE, only(right, rows), right)
    assert words in note
    assert bool(note) == bool(words)
