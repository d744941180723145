"""Which folders are a course's, what of them student code may see, and the proof that it sees no more.

The interpreter may lie in the course's folder, the course in the interpreter's or in `/usr`: so the course is taken out
of whatever is visible, and then looked for from inside.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
from collections.abc import Iterable
from pathlib import Path

PACKAGES = Path(__file__).resolve().parents[2]
"""The folder that `grader` and `gpulab` are imported from."""
OPEN = (str(PACKAGES / "gpulab"), str(PACKAGES / "data"))
"""What is there for student code too."""
INTERPRETER = (
    "bin", "etc", "include", "lib", "lib32", "lib64", "libexec", "nvvm", "pyvenv.cfg", "share", "ssl", "targets",
)  # fmt: skip
"""All that a Python lies in, below its prefix: of a virtual environment, and of conda with a CUDA toolkit."""


def is_course(folder: Path) -> bool:
    """Whether it holds a course's sources."""
    return (folder / "solutions").is_dir() and (folder / "nbgrader_config.py").is_file()


def hidden() -> tuple[str, ...]:
    """The courses that this process works for: what it was imported from, and what its working directory lies in."""
    try:
        here = Path.cwd()
    except FileNotFoundError:
        here = Path("/")
    found = {folder.resolve() for folder in (PACKAGES, here, *here.parents) if is_course(folder)}
    return tuple(sorted(map(str, found)))


@functools.cache
def interpreter_folders(courses: tuple[str, ...]) -> tuple[str, ...]:
    """The paths that this Python and its packages lie in, by every name that it knows them by.

    Args:
        courses: folders whose own entries on `sys.path` stay out; of a prefix around one of them, or in the same
            place, only what belongs to a Python is named.
    """
    found: set[Path] = set()
    for prefix in map(Path, (sys.prefix, sys.base_prefix, sys.exec_prefix)):
        for path in (prefix, prefix.resolve()):
            around = any(Path(course).is_relative_to(path.resolve()) for course in courses)
            found |= {path / name for name in INTERPRETER if (path / name).exists()} if around else {path}
    for entry in map(Path, filter(None, sys.path)):
        real = entry.resolve()
        near = any(real.is_relative_to(course) or Path(course).is_relative_to(real) for course in courses)
        if entry.is_dir() and not near and not is_course(real):
            found |= {entry.absolute(), real}
    outside = {path for path in found if not path.is_relative_to("/usr") or within(str(path), courses)}
    return tuple(sorted(str(path) for path in outside if not _covered(path, outside, courses)))


def _covered(path: Path, others: set[Path], courses: Iterable[str]) -> bool:
    """Whether another path shows this one too: not if a course lies between them, which is taken out."""
    around = (other for other in others if path != other and path.is_relative_to(other))
    return any(within(str(other), courses) or not within(str(path), courses) for other in around)


def within(path: str, courses: Iterable[str]) -> bool:
    """Whether a path is one of these folders, or lies in one."""
    return any(Path(path).is_relative_to(course) for course in courses)


def without(path: str, courses: Iterable[str]) -> list[str]:
    """The path itself; where a course lies in it, all that is around the course instead."""
    place, real = Path(path), Path(path).resolve()
    if within(str(real), courses):
        return []
    if not any(Path(course).is_relative_to(real) for course in courses):
        return [path]
    return [found for child in place.iterdir() for found in without(str(child), courses)]


@functools.cache
def secrets(courses: tuple[str, ...], visible: tuple[str, ...]) -> list[str]:
    """What lies in the courses and must not be seen: all but what is visible, or leads to it.

    A link to an environment elsewhere, which is visible itself, is no secret; a link to a folder of grades is.
    """
    places, names = [*courses], [*map(Path, visible)]
    reals = [name.resolve() for name in names]

    def known(entry: Path) -> bool:
        real = entry.resolve()
        if not within(str(real), places):
            return any(real.is_relative_to(name) for name in reals)
        return any(name.is_relative_to(entry) for name in (*names, *reals))

    return [str(entry) for course in places for entry in sorted(Path(course).iterdir()) if not known(entry)]


def prove_hidden(paths: Iterable[str]) -> None:
    """Looks for them, from inside.

    Raises:
        OSError: one can be opened.
    """
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        os.close(descriptor)
        raise OSError(errno.EPERM, f"the course would be open to students: {path} can be read in there")
