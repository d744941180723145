"""What a chapter's outputs depend on, so that another chapter's new module or table does not make it run again.

Names decide, not imports: a file belongs to a chapter when the chapter, or a file that belongs to it, holds the file's
name as a word. That takes in too much (a word in a comment will do), never too little, since neither a module nor a
table can be reached here without its name being written somewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

WORD = re.compile(r"\w+")


def named_files(texts: Iterable[str], files: Iterable[Path]) -> list[Path]:
    """Those of `files` that are named in `texts`, or in a Python file that is named there, and so on; sorted.

    An `__init__.py` always belongs, and so does a file of a package that is named (`gpulab/trace/races.py`, for
    `trace`). What `gpulab/__init__.py` names does not count: it names everything. Prose (`.md`) is for people.
    """
    waiting = {path for path in files if path.suffix != ".md"}
    found = {path for path in waiting if path.name == "__init__.py"}
    waiting -= found
    words = {word for text in texts for word in WORD.findall(text)}
    while named := {path for path in waiting if path.stem in words or path.parent.name in words - SHELVES}:
        waiting -= named
        found |= named
        for path in named:
            if path.suffix == ".py":
                words.update(WORD.findall(path.read_text()))
    return sorted(found)


# Folders that hold one thing for each chapter or GPU: naming the folder does not take in all that lies there.
SHELVES = frozenset({"gpulab", "chapters", "data", "machines"})
