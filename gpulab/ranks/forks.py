"""Starts a program in a fork of this process: what is imported here costs it nothing. Everything else is as if fresh.

For processes that have torch in memory, and have done nothing with a GPU yet; `launch` says when, and ends what is
started here.
"""

from __future__ import annotations

import atexit
import faulthandler
import os
import signal
import sys
import threading
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from gpulab.forkserver.client import Forked
from gpulab.forkserver.server import exit_code, fork, take_streams


def start(
    program: Path, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: IO[bytes]
) -> Forked:
    """Runs a program as `python program arguments…` would, in a session of its own.

    Args:
        program: file with its source.
        arguments: of its command line.
        folder: where it runs.
        environment: all of it.
        log: an open file that takes what it prints, stderr included.
    """
    pid = fork(lambda: become(program, arguments, folder, environment, log.fileno(), lambda: None))
    return Forked(pid, lambda: exit_code(pid, unknown=0))  # the student's code may have asked


def become(
    program: Path,
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    log: int,
    ready: Callable[[], None],
) -> int:
    """Runs the program in this process, which was just forked. Its exit code.

    Leaves behind what a fresh interpreter would not have: open files, handlers, streams, modules that are no modules.

    Args:
        program, arguments, folder, environment: see `start`.
        log: descriptor of the file that takes what it prints.
        ready: called before the program begins.
    """
    ready()
    take_streams((os.open(os.devnull, os.O_RDONLY), log, log))
    atexit._clear()
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w", 1, "utf-8"), os.fdopen(2, "w", 1, "utf-8")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    sys.excepthook = sys.__excepthook__
    try:
        for number in (signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        faulthandler.enable(sys.stderr)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.argv = [str(program), *arguments]
        sys.path[:] = [str(program.parent), *(path for path in sys.path if path)]
        return _run(program)
    except BaseException:
        traceback.print_exc()
        return 1


def _run(program: Path) -> int:
    """Runs the program as `__main__` to the end of its threads and exit handlers. Its exit code."""
    module = types.ModuleType("__main__")
    module.__file__ = str(program)
    sys.modules["__main__"] = module
    code: object = 0
    try:
        exec(compile(program.read_text(encoding="utf-8"), str(program), "exec"), module.__dict__)
    except SystemExit as stop:
        code = stop.code
    except BaseException as error:
        told = error.__traceback__.tb_next if error.__traceback__ else None  # without this function's own frame
        traceback.print_exception(type(error), error, told)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    if isinstance(code, int):
        return code & 0xFF
    return 0 if code is None else 1
