"""What a fork server imports for some chapters only, because it is slow to import, large, and nothing to the others.

A package of `LARGE` is for the chapters whose cells name it. So are the modules of a package `gpulab.chapters.TOPIC`
with a module `preload`, whose `MODULES` are what else each of their submissions would import.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.model.notebooks import Cell, ChapterKey

MODULE = "preload"
LARGE = {"pytorch_lightning": ("pytorch_lightning", "gpulab.training.bolts")}
"""Package → what to import for a chapter that names it. SciPy and scikit-learn come with Lightning."""


def for_all(modules: list[str]) -> list[str]:
    """Those of these modules that are not for some chapters only."""
    some = {one for group in (*LARGE.values(), *_groups().values()) for one in group}
    return [one for one in modules if one not in some]


def modules_for(key: ChapterKey) -> tuple[str, ...]:
    """Names of the modules that a fork server should import before it forks for this chapter; often none."""
    return _modules_for(key.cells)


@functools.lru_cache(maxsize=64)
def _modules_for(cells: tuple[Cell, ...]) -> tuple[str, ...]:
    groups = {**LARGE, **_groups()}
    named = [group for package, group in groups.items() if any(package in cell.source for cell in cells)]
    return tuple(module for group in named for module in group)


@functools.cache
def _groups() -> dict[str, tuple[str, ...]]:
    """Package → what its `preload` names, and its own modules."""
    from gpulab import chapters

    groups = {}
    for topic in pkgutil.iter_modules(chapters.__path__, f"{chapters.__name__}."):
        there = [one.name for one in pkgutil.iter_modules([f"{chapters.__path__[0]}/{topic.name.rpartition('.')[2]}"])]
        if topic.ispkg and MODULE in there:
            named = importlib.import_module(f"{topic.name}.{MODULE}").MODULES
            groups[topic.name] = (*named, *(f"{topic.name}.{one}" for one in there if one != MODULE))
    return groups
