"""The tiers of confinement, and the order of the steps that lead to each; `probe` tells which one a machine allows.

Every step happens in a freshly forked process with a single thread, before any student code runs in it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import select
import signal
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import NoReturn

from gpulab.forkserver.forking import MAX_DESCRIPTOR
from gpulab.forkserver.process_control import die_with_parent
from grader.sandbox import course_folders, gpu, kernel, landlock, root, seccomp

UMASK = 0o022
"""Of every process that builds a sandbox, whatever the driver's is: the student's user must get into its folders."""
FIRST_UID = 200_000
"""Student processes of a driver that is root run as users from here up: one user a process, none of them anybody."""
UIDS = 50_000
INNER_UID = 1000
"""What an ordinary user's student process is called inside its user namespace."""


_SPACES = kernel.NEW_MOUNTS | kernel.NEW_HOSTNAME | kernel.NEW_IPC | kernel.NEW_NETWORK
"""What a box has of its own, and a process in it enters, in addition to the processes."""
_MADE = "made"


class Tier(IntEnum):
    """How far a student process is confined."""

    LIMITS = 0
    """Resource limits, and the end of its process group with it. For a machine that refuses everything else."""
    FILES = 1
    """Landlock: sees only its own files. Seccomp: no way into other processes. Where namespaces are refused."""
    NAMESPACES = 2
    """File system, processes, network and users of its own, on top of tier 1 as far as the kernel has it."""

    def __str__(self) -> str:
        return f"{self.value} ({self.name.lower()})"


@dataclass(frozen=True)
class Confinement:
    """What one student process gets."""

    tier: Tier
    box: root.Box
    number: int = 0
    """Different for each process that lives at the same time; picks its user id."""
    processes: int = 256
    file_bytes: int = 256_000_000
    cpu_seconds: int = 600

    @property
    def uid(self) -> int | None:
        """The user id to run as; None to stay who we are.

        An ordinary user cannot become anybody else. Root drops to an unprivileged user, unless there is no namespace
        and that nobody could not even read the interpreter or its own folder (one in a home folder, say): then it stays
        root without capabilities, and what holds it is Landlock.
        """
        needed = (*self.box.read_only, self.box.folder)
        if os.getuid() != 0 or (self.tier < Tier.NAMESPACES and not _open_to_all(needed)):
            return None
        return FIRST_UID + self.number % UIDS


def _open_to_all(paths: tuple[str, ...]) -> bool:
    """Whether any user may enter the folders that lead to these paths."""
    folders = {folder for path in paths for folder in (Path(path), *Path(path).parents) if folder.is_dir()}
    return all(folder.stat().st_mode & 0o001 for folder in folders)


def make_box(settings: Confinement) -> int:
    """Makes the namespaces of tier 2, with their file system, and a first process that holds them: its process id.

    The calling process leads the way in and stays there; when it ends, the first process does, and with that one the
    kernel ends everything else in there.

    Raises:
        OSError: the machine refuses a step.
    """
    die_with_parent()
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(_SPACES | kernel.NEW_PIDS | (kernel.NEW_USERS if uid else 0))
    if uid:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{INNER_UID} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{INNER_UID} {gid} 1")
    kernel.loopback_up()
    new_root = root.build(settings.box)
    outcome, made = os.pipe()
    maker = os.pidfd_open(os.getpid())
    first = os.fork()
    if first == 0:
        _hold_box(settings, new_root, maker, made)
    os.close(maker)
    os.close(made)
    with os.fdopen(outcome, "rb") as pipe:
        answer = pipe.read().decode()
    if answer != _MADE:
        raise OSError(errno.EPERM, answer or "the first process of a namespace was killed")
    return first


def _hold_box(settings: Confinement, new_root: str, maker: int, made: int) -> NoReturn:
    """Is the first process of a box: opens its root, gives up what it may do, and reaps whatever is orphaned to it."""
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # so that nothing in here can end it
        protected = kernel.NO_SETUID | kernel.NO_DEVICES | kernel.NO_EXECUTE
        kernel.mount("proc", f"{new_root}/proc", "proc", protected)
        kernel.enter_root(new_root)
        kernel.set_mount_flags("/", kernel.READ_ONLY, recursive=False)
        socket.sethostname(root.HOST_NAME)
        if settings.uid is not None:
            change_user(settings.uid, ())
        _give_up_rights(settings)
        die_with_parent()  # changing the user would have undone it
        if not select.select([maker], [], [], 0)[0]:
            os.write(made, _MADE.encode())
            os.closerange(0, MAX_DESCRIPTOR)
            while signal.sigwait([signal.SIGCHLD]):
                with contextlib.suppress(ChildProcessError):
                    while os.waitpid(-1, os.WNOHANG)[0]:
                        pass
    except OSError as error:
        os.write(made, str(error).encode())
    finally:
        os._exit(1)


def join_processes(box: int) -> None:
    """Has what this process forks from now on be in a box's process namespace, and be its user's.

    Args:
        box: the box's first process, a descriptor of `os.pidfd_open`.

    Raises:
        OSError: the box is gone.
    """
    kernel.join(box, kernel.NEW_PIDS | (kernel.NEW_USERS if os.getuid() else 0))


def enter(settings: Confinement, box: int | None = None) -> None:
    """Confines this process: from here on it can do no more than student code may.

    Args:
        settings: what it gets.
        box: in tier 2, the first process of the box, which `join_processes` was called with before the fork.

    Raises:
        OSError: the machine refuses a step of the tier.
    """
    die_with_parent()
    secrets = course_folders.secrets(settings.box.courses, settings.box.read_only)
    uid, groups = settings.uid, gpu.groups()  # before the namespaces hide who we are
    home = settings.box.work
    if box is not None:
        kernel.join(box, _SPACES)
        home = root.HOME
    set_limits(settings)
    os.chdir(home)
    if uid is not None:
        change_user(uid, groups)
        die_with_parent()  # changing the user has undone it
    if settings.tier >= Tier.FILES:
        _give_up_rights(settings)
        course_folders.prove_hidden(secrets)


def _give_up_rights(settings: Confinement) -> None:
    """What holds a process of the student's user in tiers 1 and 2, in addition to the namespaces.

    Raises:
        OSError: the machine refuses a step of the tier.
    """
    confine_files(settings)
    kernel.drop_capabilities()
    kernel.no_new_privileges()
    with contextlib.suppress(OSError) if settings.tier == Tier.NAMESPACES else contextlib.nullcontext():
        seccomp.confine(shared=settings.tier == Tier.NAMESPACES)  # last: it refuses the calls that the others make


def change_user(uid: int, groups: Sequence[int]) -> None:
    """Becomes another user, of the group of the same number and of these."""
    os.setgroups(groups)
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def confine_files(settings: Confinement) -> None:
    """Landlock over what is left visible; in tier 2 the new root has done the work, and this is a second lock.

    Raises:
        OSError: tier 1 and the kernel has no Landlock.
    """
    if settings.tier == Tier.NAMESPACES:
        read_only: tuple[str, ...] = ("/",)
        writable: tuple[str, ...] = ("/tmp", "/dev", "/proc", root.HOME)
        if landlock.version() < 1:
            return
    else:
        network = ("/sys/class/net", "/sys/bus/pci", "/sys/devices")  # gloo looks for its device in there
        system = (*root.SYSTEM, "/proc/self", "/etc/hosts", "/dev/zero", "/dev/urandom")
        courses = settings.box.courses
        inner = [path for path in settings.box.read_only if course_folders.within(path, courses)]
        outer = (path for path in (*system, *settings.box.read_only) if path not in inner)
        around = (part for path in outer for part in course_folders.without(path, courses))
        devices = gpu.device_files()
        read_only = (*around, *network, *inner, *(gpu.SYSTEM + gpu.PROC if devices else ()))
        writable = (settings.box.work, "/dev/null", "/dev/shm", "/dev/full", *devices)
    landlock.confine(read_only, writable)


def set_limits(settings: Confinement) -> None:
    """Resource limits that hold for every process of the submission. Never of address space: CUDA maps terabytes."""
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: settings.file_bytes,
        resource.RLIMIT_NOFILE: 1024,
        resource.RLIMIT_CPU: settings.cpu_seconds,
    }
    if settings.tier == Tier.NAMESPACES or settings.uid is not None:
        limits[resource.RLIMIT_NPROC] = settings.processes  # counted by user: only where the user is this box's own
    for which, most in limits.items():
        try:
            resource.setrlimit(which, (most, most))
        except ValueError:  # above the limit that we run under ourselves, and only root may raise that
            hard = resource.getrlimit(which)[1]
            resource.setrlimit(which, (hard, hard))
