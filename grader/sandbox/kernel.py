"""The system calls that confining a process takes, with their errors raised; nothing here decides when to use them.

Everything acts on the calling process, which must have a single thread. Linux only; numbers from the kernel's headers.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import socket
import struct
from pathlib import Path

from gpulab.forkserver.process_control import Option, prctl

_libc = ctypes.CDLL(None, use_errno=True)

NEW_MOUNTS, NEW_HOSTNAME, NEW_IPC = 0x20000, 0x4000000, 0x8000000
NEW_USERS, NEW_PIDS, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000

READ_ONLY, NO_SETUID, NO_DEVICES, NO_EXECUTE = 1, 2, 4, 8
BIND, RECURSIVE, PRIVATE = 4096, 16384, 1 << 18

_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR = 442
_CAPABILITY_VERSION_3 = 0x20080522
_COLLAPSE = 25
_HUGE_PAGE = 2 << 20
_SECCOMP_MODE_FILTER = 2


def checked(result: int, what: str) -> int:
    """The result of a C call.

    Raises:
        OSError: it is negative; with errno's number and `what` in the text.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: object, what: str) -> int:
    """A system call by number.

    Raises:
        OSError: it failed.
    """
    return checked(_libc.syscall(ctypes.c_long(number), *arguments), what)


def unshare(flags: int) -> None:
    """Leaves the namespaces that `flags` names for new ones.

    Raises:
        OSError: the kernel or a container's policy refuses.
    """
    checked(_libc.unshare(flags), "unshare")


def join(process: int, spaces: int) -> None:
    """Enters namespaces of another process; of a process namespace, what is forked from now on.

    Args:
        process: a descriptor of `os.pidfd_open`.
        spaces: which.

    Raises:
        OSError: the process is gone, or the kernel refuses.
    """
    checked(_libc.setns(process, spaces), "setns")


def mount(source: str, target: str, kind: str | None = None, flags: int = 0, data: str | None = None) -> None:
    """`mount(2)`.

    Raises:
        OSError: it failed.
    """

    def text(value: str | None) -> bytes | None:
        return None if value is None else value.encode()

    result = _libc.mount(text(source), text(target), text(kind), ctypes.c_ulong(flags), text(data))
    checked(result, f"mount {source} on {target}")


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns", ctypes.c_uint64),
    )


def set_mount_flags(path: str, flags: int, recursive: bool = True) -> None:
    """Sets mount flags on a mount, and on those beneath it.

    Raises:
        OSError: it failed, as on kernels before 5.12.
    """
    attributes = _MountAttributes(flags, 0, 0, 0)
    where = _AT_RECURSIVE if recursive else 0
    syscall(
        _MOUNT_SETATTR,
        _AT_FDCWD,
        path.encode(),
        where,
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
        what=f"mount_setattr {path}",
    )


def bind(source: str, target: str, read_only: bool) -> None:
    """Makes `source` visible at `target`, which is created, without setuid programs.

    Raises:
        OSError: it failed.
    """
    if Path(source).is_dir():
        Path(target).mkdir(parents=True, exist_ok=True)
    else:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(target).touch()
    mount(source, target, flags=BIND | RECURSIVE)
    set_mount_flags(target, (READ_ONLY if read_only else 0) | NO_SETUID)


def enter_root(root: str) -> None:
    """Makes `root`, a mount point, the root folder, and lets go of the old one.

    Raises:
        OSError: it failed.
    """
    os.chdir(root)
    syscall(_PIVOT_ROOT[platform.machine()], b".", b".", what="pivot_root")
    checked(_libc.umount2(b".", _DETACH), "umount2")
    os.chdir("/")


def loopback_up() -> None:
    """Switches the loopback device on: a new network namespace has it, but down.

    Raises:
        OSError: it failed.
    """
    set_flags, up_and_running = 0x8914, 0x1 | 0x40
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, set_flags, struct.pack("16sH14s", b"lo", up_and_running, b""))


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def drop_capabilities() -> None:
    """Gives up every capability, for this process and all that it will ever start.

    Raises:
        OSError: it failed.
    """
    for number in range(64):
        try:
            prctl(Option.CAPBSET_DROP, number)
        except OSError:  # past the last one that this kernel knows, or none of ours to drop
            break
    header = _CapabilityHeader(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    checked(_libc.capset(ctypes.byref(header), nothing), "capset")


def no_new_privileges() -> None:
    """Makes setuid programs powerless for this process and its children; cannot be undone."""
    prctl(Option.NO_NEW_PRIVS, 1)


def close_to_debuggers(closed: bool = True) -> None:
    """Keeps other processes of the same user from reading this one's memory; `False` lets them again."""
    prctl(Option.DUMPABLE, 0 if closed else 1)


def install_filter(program: bytes) -> None:
    """Installs a seccomp filter; no new privileges must be set.

    Raises:
        OSError: it failed.
    """

    class Filter(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("program", ctypes.c_void_p))

    buffer = ctypes.create_string_buffer(program, len(program))
    description = Filter(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    prctl(Option.SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(description))


def use_huge_pages() -> int:
    """Moves this process's heaps into pages of 2 MB, where the kernel can (Linux 6.1); the bytes moved, at most.

    A fork copies the table of its parent's pages, an exit walks it, and both are in proportion to their number: with
    PyTorch imported, 140 000 of the usual size. A child's write to a huge page still copies only 4 kB.
    """
    moved = 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, rights, *_, name = (*line.split(maxsplit=5), "")[:6]
        first, last = (int(bound, 16) for bound in span.split("-"))
        first, last = -(-first // _HUGE_PAGE) * _HUGE_PAGE, last // _HUGE_PAGE * _HUGE_PAGE
        if rights == "rw-p" and name in ("", "[heap]") and first < last:
            size = ctypes.c_size_t(last - first)
            moved += last - first if _libc.madvise(ctypes.c_void_p(first), size, _COLLAPSE) == 0 else 0
    return moved
