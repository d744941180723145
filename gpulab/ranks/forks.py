"""Starts a program in a fork of this process: what is imported here costs it nothing. Everything else is as if fresh.

For processes that have torch in memory, and have done nothing with a GPU yet; `launch` says when, and ends what is
started here.
"""

from __future__ import annotations

import atexit
import faulthandler
import os
import random
import signal
import sys
import threading
import traceback
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from gpulab.ranks import lightning_name
from gpulab.ranks.prctl import die_with_parent

LARGEST_DESCRIPTOR = 65_536


class Forked:
    """A child of this process, to be asked as a `subprocess.Popen` is."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._look(os.WNOHANG)

    def wait(self) -> int:
        """Its exit code, once it has one."""
        return self._look(0) or 0

    def send_signal(self, number: int) -> None:
        """Signals it, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _look(self, options: int) -> int | None:
        if self._code is None:
            try:
                found, status = os.waitpid(self.pid, options)
            except ChildProcessError:  # somebody else has asked
                found, status = self.pid, 0
            if found:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code


def possible() -> bool:
    """Whether a fork of this process can do all that a fresh interpreter can: CUDA does not survive one."""
    torch = sys.modules.get("torch")
    return hasattr(os, "fork") and not (torch is not None and torch.cuda.is_initialized())


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
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return Forked(pid)
    code = 1
    try:
        _become(program, arguments, folder, environment, log)
        code = _run(program)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _become(
    program: Path, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: IO[bytes]
) -> None:
    """Leaves behind what a fresh interpreter would not have: open files, handlers, streams, random numbers."""
    os.setsid()
    die_with_parent()
    for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (log.fileno(), 1), (log.fileno(), 2)):
        os.dup2(source, target)
    os.closerange(3, LARGEST_DESCRIPTOR)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    atexit._clear()
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w", 1, "utf-8"), os.fdopen(2, "w", 1, "utf-8")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    sys.excepthook = sys.__excepthook__
    faulthandler.enable(sys.stderr)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = [str(program), *arguments]
    sys.path[:] = [str(program.parent), *(path for path in sys.path if path)]
    lightning_name.install()
    # Forks of one process would all draw the same numbers, and a script that forgets its seed would look right.
    random.seed()
    for name in ("numpy.random", "torch"):
        if name in sys.modules:
            sys.modules[name].seed()


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


def start_launches_here() -> None:
    """Has `launch` start the ranks of this process as forks of it, as long as it can."""
    from gpulab.ranks import processes

    def begin(
        program: Path, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], log: IO[bytes]
    ) -> processes.Process:
        how = start if possible() else processes.interpreter
        return how(program, arguments, folder, environment, log)

    processes.start_with(begin)
