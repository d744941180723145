"""`work`: a stand-in for a training step, which depends on the bits of a batch alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gpulab import work


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_work_depends_on_the_bits_alone(rounds: int) -> None:
    """The same for arrays and tensors, of any shape; its argument stays as it was."""
    x = torch.tensor([[1.5, -2.0], [0.1, 3e8]])
    before = x.clone()
    found = work(x, rounds)
    assert torch.equal(x, before) and found.shape == x.shape and found.dtype == torch.float32
    assert float(found.min()) >= 0 and float(found.max()) < 1
    assert torch.equal(work(x.t(), rounds), found.t())
    assert np.array_equal(work(x.numpy(), rounds), found.numpy())
    assert torch.equal(work(x[0], rounds), found[0])


def test_work_is_what_it_always_was() -> None:
    """A recorded value: answers that other machines gave must stay right."""
    bits = int(np.float32(1.0).view(np.int32))
    state = (bits * 1664525 + bits) & 0xFFFFFFFF
    state = state - (1 << 32) if state >> 31 else state
    state ^= state >> 15
    assert float(work(torch.ones(1), 1)[0]) == (state & 0xFFFFFF) / (1 << 24)


@pytest.mark.parametrize(
    ("batch", "rounds", "words"),
    [
        ([1.0], 1, "batch is a list"),
        (None, 1, "NoneType"),
        (torch.ones(3), 2.5, "must be an int"),
        (torch.ones(3), -1, "negative"),
    ],
)
def test_bad_work_is_refused(batch: Any, rounds: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        work(batch, rounds)
