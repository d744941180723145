"""Imports for a process that forks others: what cannot be imported is left out, and so is what initializes CUDA."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gpulab.forkserver.forking import can_fork, fork, keep_only

DRIVER = Path("/dev/nvidiactl")
"""The device file that is there where NVIDIA's driver is."""
PROMPTS = ("ps1", "ps2")
"""Attributes of `sys` in an interactive session."""


def import_all(modules: Iterable[str]) -> None:
    """Imports what can be imported; a course without torch is still a course.

    What is imported stays, so the collector would look for garbage in vain, for a sixth of the time.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        with without_prompts():
            for name in modules:
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
    finally:
        if collecting:
            gc.enable()


@contextlib.contextmanager
def without_prompts() -> Iterator[None]:
    """Inside, no import takes this process for an interactive session. Lightning would, where IPython has its shell,
    and would then start no ranks."""
    prompts = {name: vars(sys).pop(name) for name in PROMPTS if hasattr(sys, name)}
    try:
        yield
    finally:
        vars(sys).update(prompts)


def harmless(modules: Iterable[str]) -> list[str]:
    """Those of these modules that can be imported here without initializing CUDA, which this process must not do.

    Where there is no driver, that is all of them. Elsewhere forks try it: what a library asks a GPU as it is imported
    depends on its version, on what else is installed, and on the GPU.
    """
    left, found = list(modules), list[str]()
    while left and DRIVER.exists():
        count = _harmless_first(left)
        found += left[:count]
        del left[: count + 1]
    return found + left


def _harmless_first(modules: Sequence[str]) -> int:
    """How many of these a fork of this process imports, one after another, until one initializes CUDA or ends it."""
    reading, writing = os.pipe()

    def scout() -> int:
        keep_only([writing])
        for name in modules:
            import_all([name])
            if not can_fork():
                return 0
            os.write(writing, b".")
        return 0

    pid = fork(scout)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        count = len(pipe.read())
    os.waitpid(pid, 0)
    return count
