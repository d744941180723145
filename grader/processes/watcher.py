"""Watches over the process that runs student code, from outside its confinement, until all that it started has ended.

Two ways: the first process of a namespace need only reap, since the kernel ends everything else with it; without
namespaces, what the student's process leaves behind is adopted and ended here.
"""

from __future__ import annotations

import contextlib
import os
import signal

from gpulab.forkserver.ending import end_children
from gpulab.forkserver.process_control import die_with_parent

CLEANING_SECONDS = 1.5
"""How long processes that start new ones are chased; less than `server.end` waits for the one that chases."""
AWAITED = (signal.SIGTERM, signal.SIGCHLD)


def fork_watched() -> int:
    """Forks the process that `watch_worker` is for: its process id, or 0 in that process.

    From here on, a request to end and the end of the fork server wait until `watch_worker` asks for them: an ordinary
    signal could end this process before it has anything in place, or while it cleans up, and leave all that it
    watches over.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    die_with_parent(signal.SIGTERM)
    worker = os.fork()
    if worker == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
    return worker


def watch_worker(worker: int, uid: int | None) -> None:
    """Waits for the student's process and then ends all that it started: what a process namespace does in tier 2.

    Told to end, or when the fork server ends, it ends the student's process first. Never returns.

    Args:
        worker: the student's process, from `fork_watched`.
        uid: the user that it alone runs as; None when it runs as we do.
    """
    code = None
    while code is None:
        if signal.sigwait(AWAITED) == signal.SIGTERM:
            os.kill(worker, signal.SIGKILL)  # not reaped yet, so the number is still its own
            code = exit_code_of(worker)
        else:
            code = reap(worker)
    if uid is not None:
        end_all_of(uid)
    end_children(CLEANING_SECONDS)
    os._exit(code)


def reap(child: int) -> int | None:
    """Reaps the children that have ended. This one's exit code if it is among them."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            if found[0] == child:
                code = os.waitstatus_to_exitcode(found[1]) & 0xFF
    return code


def end_all_of(uid: int) -> None:
    """Kills every process of a user, in one stroke: nothing that they start meanwhile escapes."""
    killer = os.fork()
    if killer == 0:
        os.setresuid(uid, uid, uid)
        os.kill(-1, signal.SIGKILL)  # everything that this user may signal, and that is all but ourselves
        os._exit(0)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(killer, 0)


def exit_code_of(child: int) -> int:
    """Reaps children until this one has ended: a first process must reap whatever is orphaned to it."""
    while True:
        try:
            pid, status = os.wait()
        except InterruptedError:
            continue
        except ChildProcessError:
            return 0
        if pid == child:
            return os.waitstatus_to_exitcode(status) & 0xFF
