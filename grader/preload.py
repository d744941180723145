"""What a warm parent imports for some chapters only, because it is slow to import, large, and nothing to the others.

Where there is a module `gpulab/chapters/NAME_warm.py`, all modules there whose names begin with NAME are for the
chapters whose cells hold the word NAME. The one with `_warm` imports what else each of their submissions would import.
"""

from __future__ import annotations

import functools
import pkgutil
from typing import TYPE_CHECKING

from grader.dependencies import WORD

if TYPE_CHECKING:
    from grader.notebooks import Cell, ChapterKey

SUFFIX = "_warm"
PACKAGE = "gpulab.chapters"


def for_all(modules: list[str]) -> list[str]:
    """Those of these modules that are not for some chapters only."""
    some = {one for group in _groups().values() for one in group}
    return [one for one in modules if one not in some]


def modules_for(key: ChapterKey) -> tuple[str, ...]:
    """Names of the modules that a warm parent should import before it forks for this chapter; often none."""
    return _modules_for(key.cells)


@functools.lru_cache(maxsize=64)
def _modules_for(cells: tuple[Cell, ...]) -> tuple[str, ...]:
    groups = _groups()
    words = {word for cell in cells for word in WORD.findall(cell.source)} if groups else set()
    return tuple(module for name, group in groups.items() if name in words for module in group)


@functools.cache
def _groups() -> dict[str, tuple[str, ...]]:
    """NAME → its modules, the one with `_warm` first."""
    from gpulab import chapters

    there = [one.name for one in pkgutil.iter_modules(chapters.__path__)]
    names = [one.removesuffix(SUFFIX) for one in there if one.endswith(SUFFIX)]
    return {
        name: tuple(
            f"{PACKAGE}.{one}" for one in sorted(there, key=lambda one: one != name + SUFFIX) if one.startswith(name)
        )
        for name in names
    }
