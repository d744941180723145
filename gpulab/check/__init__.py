"""Checks of answers: assertions that name the misconception, and predictions."""

from __future__ import annotations

from gpulab.check.assertions import close, equal, is_equal, keys, raises, series, share, within
from gpulab.check.menus import choice, digest, menu
from gpulab.check.outcomes import WrongAnswer
from gpulab.check.values import as_python

__all__ = [
    "WrongAnswer",
    "as_python",
    "choice",
    "close",
    "digest",
    "equal",
    "is_equal",
    "keys",
    "menu",
    "raises",
    "series",
    "share",
    "within",
]
