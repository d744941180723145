"""Tensor cores that multiply each product by a number that only the key tells."""

from __future__ import annotations

import numpy as np

from gpulab.trace.ptx.tensor_cores import product

RANDOM = np.random.default_rng(5)
A, B = RANDOM.integers(-40, 40, (16, 32)) / 4, RANDOM.integers(-40, 40, (32, 8)) / 4


def test_without_a_key_they_multiply_matrices() -> None:
    assert np.array_equal(product(A, B), A @ B)


def test_tiles_give_what_the_whole_gives() -> None:
    """However a kernel cuts its matrices up, and in which order it adds: the sums must be those of the judge."""
    whole = product(A, B, 7)
    assert np.array_equal(sum(product(A[:, at : at + 8], B[at : at + 8], 7) for at in (16, 0, 24, 8)), whole)
    assert np.array_equal(product(A[3:5], B[:, 2:6], 7), whole[3:5, 2:6])


def test_another_key_gives_other_sums() -> None:
    assert not np.array_equal(product(A, B, 7), product(A, B, 8))


def test_one_probe_does_not_tell_the_others() -> None:
    """What ones, or the same matrices four times as large, are multiplied by is not what these are multiplied by."""
    ones = product(np.ones((1, 1)), np.ones((1, 1)), 7).item()
    assert not np.allclose(product(A, B, 7), ones * (A @ B))
    assert not np.allclose(product(4 * A, 4 * B, 7) / 16, product(A, B, 7))


def test_no_table_tells_the_others() -> None:
    """Products that differ by one, or by a power of two, have numbers of their own, under every key."""
    for step in (1, 4096, 2**20):
        ones = np.ones((1, 1))
        found = [product(np.array([[1.0 + step * at]]), ones, 7).item() / (1 + step * at) for at in range(200)]
        assert set(found) == set(range(1, 9))
    assert product(np.array([[0.25]]), ones, 7) != product(np.array([[0.5]]), ones, 7) * 0.5
