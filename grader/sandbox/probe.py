"""Which tiers of confinement this machine allows: found by trying each in a process that ends at once.

Runs in an interpreter of its own (`python -m grader.sandbox.probe`): trying means forking, which a driver with threads
must not do.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from grader.sandbox import course_folders, root, tiers
from grader.sandbox.tiers import Confinement, Tier


@functools.cache
def refusals() -> dict[Tier, str]:
    """The tiers that cannot be had here, each with the kernel's reason."""
    packages = str(Path(__file__).resolve().parents[2])
    paths = os.pathsep.join(filter(None, [packages, os.environ.get("PYTHONPATH")]))
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "grader.sandbox.probe"],
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return dict.fromkeys((Tier.FILES, Tier.NAMESPACES), "the probe did not end within 60 s")
    if done.returncode:
        return dict.fromkeys((Tier.FILES, Tier.NAMESPACES), done.stderr.strip()[-300:] or "the probe failed")
    return {Tier(int(number)): reason for number, reason in json.loads(done.stdout).items()}


def best_tier() -> Tier:
    """The strongest tier that works here."""
    return max(tier for tier in Tier if tier not in refusals())


def why_not(tier: Tier) -> str | None:
    """Why a tier cannot be had in this process, which must have a single thread; None when it can."""
    with tempfile.TemporaryDirectory(prefix="gpulab-probe-") as folder:
        work = Path(folder) / "work"
        work.mkdir()
        Path(folder).chmod(0o711)
        settings = Confinement(tier, root.box_for(folder, str(work), course_folders.hidden()))
        if settings.uid is not None:
            os.chown(work, settings.uid, settings.uid)
        return _in_child(lambda: _try(settings))


def _try(settings: Confinement) -> None:
    if settings.tier < Tier.NAMESPACES:
        tiers.enter(settings)
        return
    told, tells = socket.socketpair()
    maker = os.fork()
    if maker == 0:
        told.close()  # or it would never hear the other end hang up
        _make(settings, tells)
    tells.close()
    with told:
        failure, boxes, _, _ = socket.recv_fds(told, 500, 1)
        if not boxes:
            raise OSError(0, failure.decode() or "the box's maker was killed")
        tiers.join_processes(boxes[0])
        refused = _in_child(lambda: tiers.enter(settings, boxes[0]))
    os.waitpid(maker, 0)
    if refused:
        raise OSError(0, refused)


def _make(settings: Confinement, tells: socket.socket) -> NoReturn:
    """Makes a box, sends its first process or what went wrong, and keeps it until the other end hangs up."""
    try:
        first = os.pidfd_open(tiers.make_box(settings))
        socket.send_fds(tells, [b"made"], [first])
        tells.recv(1)
    except OSError as error:
        tells.sendall(str(error).encode()[:500])
    finally:
        os._exit(0)


def _in_child(action: Callable[[], None]) -> str | None:
    """What went wrong when a forked child did this; None when nothing did."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            action()
            code = 0
        except OSError as error:
            os.write(writing, str(error).encode()[:500])
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return None
    return text or (f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}")


if __name__ == "__main__":
    os.umask(tiers.UMASK)
    print(json.dumps({int(tier): reason for tier in Tier if (reason := why_not(tier)) and tier is not Tier.LIMITS}))
