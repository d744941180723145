"""`import lightning as pl` where only the package `pytorch_lightning` is installed: both names are today's usage.

`lightning.pytorch` and what lies below it are the modules of `pytorch_lightning`, under their other names.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

PACKAGES = {
    "lightning.pytorch": "pytorch_lightning",
    "lightning.fabric": "lightning_fabric",
    "lightning": "pytorch_lightning",
}
"""Name → the package that has the same content; the first that fits."""


class _Names(MetaPathFinder, Loader):
    """Finds the modules of `PACKAGES`."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for another name of a module."""
        if installed_as(fullname) is None:
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module itself, imported by its own name."""
        name = installed_as(spec.name)
        assert name is not None
        module = importlib.import_module(name)
        self._specs[spec.name] = module.__spec__
        for package, other in PACKAGES.items():  # import lightning as L; L.pytorch.callbacks
            outer, _, inner = package.rpartition(".")
            if spec.name == outer and not hasattr(module, inner) and importlib.util.find_spec(other) is not None:
                setattr(module, inner, importlib.import_module(other))
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Gives the module its own spec back, which the import system has replaced."""
        name = module.__spec__.name if module.__spec__ else ""
        if name in self._specs:
            module.__spec__ = self._specs.pop(name)


def installed_as(name: str) -> str | None:
    """The name under which a module of `lightning` is installed; None if it is another module or is not there."""
    for package, other in PACKAGES.items():
        if name == package or name.startswith(f"{package}."):
            other_name = other + name[len(package) :]
            try:
                return other_name if importlib.util.find_spec(other_name) is not None else None
            except ImportError:
                return None
    return None


def install() -> None:
    """Makes the name importable in this process, where no package `lightning` is installed."""
    if importlib.util.find_spec("lightning") is None:
        # First: the usual finder would load submodules a second time, from the package's folder.
        sys.meta_path.insert(0, _Names())
