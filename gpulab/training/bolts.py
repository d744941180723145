"""Makes lightning-bolts 0.7 usable under Lightning 2: import this first, then from `pl_bolts` as usual.

    from gpulab.training import bolts# first
    from pl_bolts.datamodules import CIFAR10DataModule

Data modules, schedulers and monitors work; models with `*_epoch_end` hooks do not, because Lightning 2 has none.
`pl_bolts` itself gives NumPy the names `int`, `float` and `object` back; do not rely on them.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType
from typing import Any

_MOVED = {"pytorch_lightning.utilities.apply_func": "lightning_utilities.core.apply_func"}
"""Module that bolts imports → where it lives under Lightning 2."""


def _load() -> ModuleType:
    """The package `pl_bolts`, imported without its warnings and kept from setting filters for ours.

    Raises:
        ImportError: it is not installed; the message says how to.
    """
    for old, new in _MOVED.items():
        sys.modules.setdefault(old, importlib.import_module(new))
    # It warns of NumPy's old names and of its own classes "under review" while it is imported.
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")  # even where the caller has made warnings errors
        try:
            package = importlib.import_module("pl_bolts")
        except ModuleNotFoundError as error:
            if error.name != "pl_bolts":
                raise
            raise ImportError(
                "lightning-bolts is not installed. Install it without its outdated limits:"
                ' pip install --no-deps "lightning-bolts==0.7.0"'
            ) from None
        stability: Any = importlib.import_module("pl_bolts.utils.stability")
    # Both are looked up when a reviewed class is made: the one would override the caller's own filters, the other warn.
    stability.filterwarnings = stability._raise_review_warning = lambda *_, **__: None
    return package


pl_bolts = _load()
"""The imported package."""
