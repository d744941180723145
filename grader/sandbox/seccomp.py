"""Which system calls student code may not make: those that reach into other processes or change the machine."""

from __future__ import annotations

import errno
import platform
import struct

from grader.sandbox import kernel

DENIED = {
    "x86_64": {
        "ptrace": 101, "pivot_root": 155, "chroot": 161, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168,
        "reboot": 169, "sethostname": 170, "init_module": 175, "delete_module": 176, "kexec_load": 246, "add_key": 248,
        "request_key": 249, "keyctl": 250, "unshare": 272, "perf_event_open": 298, "name_to_handle_at": 303,
        "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312,
        "finit_module": 313, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323, "io_uring_setup": 425,
        "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "pidfd_getfd": 438,
        "mount_setattr": 442,
    },
    "aarch64": {
        "umount2": 39, "mount": 40, "pivot_root": 41, "chroot": 51, "kexec_load": 104, "init_module": 105,
        "delete_module": 106, "ptrace": 117, "reboot": 142, "sethostname": 161, "add_key": 217, "request_key": 218,
        "keyctl": 219, "swapon": 224, "swapoff": 225, "unshare": 97, "perf_event_open": 241, "name_to_handle_at": 264,
        "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
        "finit_module": 273, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294, "io_uring_setup": 425,
        "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "pidfd_getfd": 438,
        "mount_setattr": 442,
    },
}  # fmt: skip
"""Names and numbers from the kernel's syscall tables (arch/x86/entry/syscalls, include/uapi/asm-generic/unistd.h)."""

SHARED = {
    "x86_64": {
        "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66, "shmdt": 67, "msgget": 68,
        "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "semtimedop": 220, "mq_open": 240, "mq_unlink": 241,
    },
    "aarch64": {
        "mq_open": 180, "mq_unlink": 181, "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189, "semget": 190,
        "semctl": 191, "semtimedop": 192, "semop": 193, "shmget": 194, "shmctl": 195, "shmat": 196, "shmdt": 197,
    },
}  # fmt: skip
"""Shared memory, semaphores and queues of System V, and POSIX queues: without a namespace of its own, what one
submission leaves in them the next one finds. Nothing of Python's or PyTorch's uses them."""

FOREIGN = {
    "x86_64": {
        "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198,
        "fremovexattr": 199, "inotify_init": 253, "inotify_add_watch": 254, "inotify_init1": 294, "fanotify_init": 300,
        "setxattrat": 463, "removexattrat": 466,
    },
    "aarch64": {
        "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
        "inotify_init1": 26, "inotify_add_watch": 27, "fanotify_init": 262, "setxattrat": 463, "removexattrat": 466,
    },
}  # fmt: skip
"""What Landlock lets a process do to files that it may not open, if they are its user's: give them attributes, and
watch who opens them. Told that this file system has none, libraries go on."""
PRETENDED = {
    "x86_64": {
        "chmod": 90, "fchmod": 91, "utime": 132, "utimes": 235, "futimesat": 261, "fchmodat": 268, "utimensat": 280,
        "fchmodat2": 452,
    },
    "aarch64": {"fchmod": 52, "fchmodat": 53, "utimensat": 88, "fchmodat2": 452},
}  # fmt: skip
"""The same for modes and times. These calls do nothing and succeed: copying a file sets both, and must not fail."""
PRLIMIT = {"x86_64": 302, "aarch64": 261}
"""Limits of other processes of the same user, such as the grader."""

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE = {"x86_64": 56, "aarch64": 220}
CLONE3 = 435
NAMESPACE_FLAGS = 0x7E020000
"""Every CLONE_NEW… flag: a namespace of one's own would bring capabilities back."""
X32_BIT = 0x40000000
SOCKET = {"x86_64": 41, "aarch64": 198}
FAMILIES = (1, 2, 10, 16)
"""Kinds of socket that may be made: UNIX, IPv4, IPv6, netlink. A VSOCK would lead out of a virtual machine, whatever
network namespace it is made in."""

_LOAD_WORD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x50000
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT = 0, 4, 16


def program(machine: str, shared: bool = True) -> bytes:
    """The filter in the kernel's classic BPF, 8 bytes an instruction.

    Args:
        machine: as the kernel calls it.
        shared: whether the calls of `SHARED`, `FOREIGN`, `PRETENDED` and `PRLIMIT` are let through, as is right for a
            process in namespaces of its own.

    Raises:
        KeyError: the machine's system-call numbers are not known here.
    """
    code: list[bytes] = []

    def add(operation: int, value: int, if_true: int = 0, if_false: int = 0) -> None:
        code.append(struct.pack("HBBI", operation, if_true, if_false, value))

    def refuse_if(operation: int, value: int, error: int) -> None:
        add(operation, value, if_false=1)
        add(_RETURN, _ERRNO | error)

    add(_LOAD_WORD, _ARCH_AT)
    add(_JUMP_EQUAL, AUDIT_ARCH[machine], if_true=1)
    add(_RETURN, _KILL)
    add(_LOAD_WORD, _NUMBER_AT)
    refuse_if(_JUMP_GREATER_EQUAL, X32_BIT, errno.EPERM)
    # clone3 keeps its flags in memory, where a filter cannot look. Told that it does not exist, libc takes clone.
    refuse_if(_JUMP_EQUAL, CLONE3, errno.ENOSYS)
    denied = DENIED[machine] if shared else {**DENIED[machine], **SHARED[machine]}
    for number in sorted(denied.values()):
        refuse_if(_JUMP_EQUAL, number, errno.EPERM)
    if not shared:
        for number in sorted(FOREIGN[machine].values()):
            refuse_if(_JUMP_EQUAL, number, errno.EOPNOTSUPP)
        for number in sorted(PRETENDED[machine].values()):
            refuse_if(_JUMP_EQUAL, number, 0)
        add(_JUMP_EQUAL, PRLIMIT[machine], if_false=4)
        add(_LOAD_WORD, _FIRST_ARGUMENT_AT)
        refuse_if(_JUMP_ANY_BIT, 0xFFFFFFFF, errno.EPERM)  # 0 is the caller itself
        add(_RETURN, _ALLOW)
    add(_JUMP_EQUAL, SOCKET[machine], if_false=len(FAMILIES) + 3)
    add(_LOAD_WORD, _FIRST_ARGUMENT_AT)
    for index, family in enumerate(FAMILIES):
        add(_JUMP_EQUAL, family, if_true=len(FAMILIES) - index)
    add(_RETURN, _ERRNO | errno.EAFNOSUPPORT)
    add(_RETURN, _ALLOW)
    add(_JUMP_EQUAL, CLONE[machine], if_true=1)
    add(_RETURN, _ALLOW)
    add(_LOAD_WORD, _FIRST_ARGUMENT_AT)
    refuse_if(_JUMP_ANY_BIT, NAMESPACE_FLAGS, errno.EPERM)
    add(_RETURN, _ALLOW)
    return b"".join(code)


def confine(shared: bool = True) -> None:
    """Refuses the calls above to this process and all that it will start; no new privileges must be set.

    Args:
        shared: see `program`; right for a process in an IPC namespace of its own.

    Raises:
        OSError: the kernel has no seccomp filters, or the machine's numbers are not known.
    """
    machine = platform.machine()
    if machine not in DENIED:
        raise OSError(errno.ENOSYS, f"no seccomp filter for {machine}")
    kernel.install_filter(program(machine, shared))
