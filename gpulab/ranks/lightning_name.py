"""`import lightning` where only `pytorch_lightning` is installed: the same library under its other name.

Lightning is published twice, as `lightning` and as `pytorch_lightning`. A program of a student's may import either.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

OTHER_NAME = "pytorch_lightning"


class _Copy(Loader):
    """Fills a module with the names of another one: the classes in both are the same objects."""

    def __init__(self, real: str) -> None:
        self._real = real

    def exec_module(self, module: ModuleType) -> None:
        real = importlib.import_module(self._real)
        vars(module).update({name: value for name, value in vars(real).items() if not name.startswith("__")})


class _Finder(MetaPathFinder):
    """Finds `lightning`, `lightning.pytorch` and the modules of the latter."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in ("lightning", "lightning.pytorch") and not name.startswith("lightning.pytorch."):
            return None
        real = OTHER_NAME + name.removeprefix("lightning").removeprefix(".pytorch")
        if importlib.util.find_spec(real) is None:
            return None
        return ModuleSpec(name, _Copy(real), is_package=True)


def install() -> None:
    """From now on this process can import `lightning`. An installed one comes first: it is found before."""
    if not any(isinstance(one, _Finder) for one in sys.meta_path):
        sys.meta_path.append(_Finder())
