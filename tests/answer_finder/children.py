"""Runs a function in a child of this process, in a folder of its own, and brings back what it returned."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import functools
import os
import pickle
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MOST_BYTES = 8 << 30
"""Of memory that a child may add to what it starts with."""
MOST_SHOWN = 1_000
"""Characters of a child's stack, and of its first and its last words, in the message of its end."""

ENDS = {
    os: ("_exit", "abort", "kill", "killpg"),
    signal: ("raise_signal", "pthread_kill", "pidfd_send_signal"),
    atexit: ("_run_exitfuncs", "_clear"),
}
"""Functions that no search may call."""


class Ended(Exception):
    """The child ended before it had a result."""


class Killed(Ended):
    """A signal ended it: a fault in compiled code, or memory that could not be had."""


def in_child(work: Callable[[], Any], folder: Path, name: str, seconds: float, tries: bool = False) -> Any:
    """What the function returns.

    Args:
        work: what it prints is dropped; what it starts is killed when it has returned.
        folder: becomes the child's working directory.
        name: of the child's files in this folder.
        seconds: by the clock on the wall.
        tries: whether the work calls things that must not end processes, as in `ENDS`.

    Raises:
        Ended: it raised, ended its process, or took too long.
        Killed: a signal ended it that this function has not sent.
    """
    place, wrong, printed, stack = (folder / f"{name}.{kind}" for kind in ("pickle", "error", "printed", "stack"))
    for left in (place, wrong, stack):
        left.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        end = os._exit
        try:
            os.setsid()
            os.chdir(folder)
            _limit_memory()
            with printed.open("wb") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            faulthandler.enable(stack.open("wb"), all_threads=False)
            if tries:
                _refuse_ends()
            content = pickle.dumps(work())
            place.with_suffix(".part").write_bytes(content)
            place.with_suffix(".part").replace(place)
        except BaseException as error:
            wrong.write_text(repr(error), encoding="utf-8")
        finally:
            end(0)
    deadline = time.monotonic() + seconds
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            wrong.write_text(f"it took more than {seconds:g} s", encoding="utf-8")
            break
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not place.exists():
        if os.WIFSIGNALED(ended[1]):
            where = stack.read_text(encoding="utf-8")[:MOST_SHOWN]
            said = printed.read_text(encoding="utf-8", errors="replace")
            said = said if len(said) <= 2 * MOST_SHOWN else f"{said[:MOST_SHOWN]} … {said[-MOST_SHOWN:]}"
            raise Killed(f"{signal.Signals(os.WTERMSIG(ended[1])).name}\n{where}\nIt had printed: {said}")
        raise Ended(wrong.read_text(encoding="utf-8") if wrong.exists() else "it ended its process")
    return pickle.loads(place.read_bytes())


def _refuse_ends() -> None:
    """What is tried with any arguments may send signals to any process, or end this one: here, that raises.

    Its own children may be ended, and may end themselves: a fork that could not would go on with the search.
    """
    owner = os.getpid()

    def guarded(function: Callable[..., Any], sends: bool) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            if os.getpid() == owner and not (sends and arguments and _is_ours(arguments[0])):
                raise PermissionError("nothing ends a process here")
            return function(*arguments, **named)

        return call

    for module, names in ENDS.items():
        for name in names:
            setattr(module, name, guarded(getattr(module, name), sends=name in ("kill", "killpg")))


def _is_ours(pid: Any) -> bool:
    """Whether this process has started it, or one that started it."""
    while isinstance(pid, int) and pid > 1:
        try:
            status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return False
        pid = int(status.rpartition(")")[2].split()[1])
        if pid == os.getpid():
            return True
    return False


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
