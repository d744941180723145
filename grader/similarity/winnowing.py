"""Fingerprints of token sequences by winnowing, so that what two texts share is found wherever it stands in them.

After S. Schleimer, D. Wilkerson, A. Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003:
every passage of at least `GRAM` + `WINDOW` - 1 tokens that two texts share leaves a fingerprint that they share, and
no passage shorter than `GRAM` tokens leaves one.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

GRAM = 12
"""Tokens in a row that are hashed together: what is shorter is an idiom, not evidence."""
WINDOW = 6
"""Hashes of which one is kept."""
BASE = 0x9E3779B97F4A7C15
Hashes = NDArray[np.uint64]


@cache
def _number(token: str) -> int:
    """A number for a token, the same in every run."""
    return zlib.crc32(token.encode("utf-8", "replace"))


def grams(tokens: Sequence[str]) -> Hashes:
    """The hash of every `GRAM` tokens in a row, in order; none of a shorter sequence. Shape (tokens - GRAM + 1,)."""
    count = len(tokens) - GRAM + 1
    if count < 1:
        return np.empty(0, np.uint64)
    numbers = np.array([_number(token) for token in tokens], np.uint64)
    hashes = np.zeros(count, np.uint64)
    for offset in range(GRAM):  # unsigned arithmetic wraps around: a polynomial modulo 2**64
        hashes = hashes * np.uint64(BASE) + numbers[offset : offset + count]
    hashes ^= hashes >> np.uint64(29)
    return hashes * np.uint64(BASE) ^ (hashes >> np.uint64(32))


def chosen(hashes: Hashes) -> NDArray[np.intp]:
    """Positions of the fingerprints among the hashes: the smallest of each window, the last one of equal ones."""
    if len(hashes) == 0:
        return np.empty(0, np.intp)
    width = min(WINDOW, len(hashes))
    windows = np.lib.stride_tricks.sliding_window_view(hashes, width)
    from_the_end = np.argmin(windows[:, ::-1], axis=1)
    return np.unique(np.arange(len(windows)) + width - 1 - from_the_end)
