"""The file system that student code sees: an allow-list of read-only folders, and a little space of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.sandbox import course_folders, gpu, kernel

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/alternatives", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime", "/etc/fonts", "/etc/ssl",
    "/sys/devices/system",
)  # fmt: skip
"""Read-only; what Python, a C compiler and a CUDA library need to start, and nothing that is anybody's."""
DEVICES = ("null", "zero", "full", "random", "urandom")
HOME = "/home/student"
HOST_NAME = "student"


@dataclass(frozen=True)
class Box:
    """What is in the file system of one student process."""

    folder: str
    """A folder outside, ours, that the new root is built in."""
    work: str
    """A folder outside that is the student's home where nothing can be mounted."""
    read_only: tuple[str, ...]
    """Further folders outside that are visible at their own paths."""
    courses: tuple[str, ...] = ()
    """Folders of which nothing else may be seen, wherever they lie."""
    scratch_mb: int = 512
    """Size of `/tmp`, and again of `/dev/shm` and of the home: all in memory, so that none of it can fill a disk."""


def box_for(folder: str, work: str, courses: tuple[str, ...], more: tuple[str, ...] = ()) -> Box:
    """The box of a student's process of ours.

    Args:
        folder: see `Box`.
        work: see `Box`.
        courses: folders of courses, of which nothing but `gpulab` and its data may be seen.
        more: folders that may be seen too.
    """
    return Box(folder, work, (*course_folders.interpreter_folders(courses), *course_folders.OPEN, *more), courses)


def build(box: Box) -> str:
    """Builds the new root in a fresh mount namespace, and returns its folder; `kernel.enter_root` makes it the root.

    Raises:
        OSError: a mount is refused.
    """
    root = Path(box.folder) / "root"
    root.mkdir(exist_ok=True)
    kernel.mount("none", "/", flags=kernel.RECURSIVE | kernel.PRIVATE)
    safe = kernel.NO_SETUID | kernel.NO_DEVICES
    kernel.mount("tmpfs", str(root), "tmpfs", safe, "size=1m,mode=755")
    for folder in ("tmp", "dev/shm", "proc", "run", "var/tmp", HOME.lstrip("/")):
        (root / folder).mkdir(parents=True)
    for folder in ("tmp", "dev/shm", HOME.lstrip("/")):
        kernel.mount("tmpfs", str(root / folder), "tmpfs", safe, f"size={box.scratch_mb}m,nr_inodes=100k,mode=1777")
    inner = [path for path in box.read_only if course_folders.within(path, box.courses)]
    for path in (*SYSTEM, *(path for path in box.read_only if path not in inner)):
        _show(path, root)
    covered = [str(root / course.lstrip("/")) for course in box.courses if (root / course.lstrip("/")).is_dir()]
    for place in covered:  # it lies in something that is visible
        kernel.mount("tmpfs", place, "tmpfs", safe, "size=64k,mode=755")
    for path in inner:
        _show(path, root)
    for place in covered:
        kernel.set_mount_flags(place, kernel.READ_ONLY | kernel.NO_SETUID, recursive=False)
    (root / "etc/hosts").write_text(f"127.0.0.1 localhost {HOST_NAME}\n")  # torchrun looks its own name up
    for name in DEVICES:
        kernel.bind(f"/dev/{name}", str(root / "dev" / name), read_only=False)
    for path in gpu.shown():
        if Path(path).exists():
            kernel.bind(path, str(root / path.lstrip("/")), read_only=not path.startswith("/dev"))
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        (root / "dev" / name).symlink_to(f"/proc/self/fd/{number}")
    (root / "dev/fd").symlink_to("/proc/self/fd")
    return str(root)


def _show(path: str, root: Path) -> None:
    """Makes a path visible in the new root, read-only; nothing happens where there is none."""
    inside = root / path.lstrip("/")
    if Path(path).is_symlink():
        inside.parent.mkdir(parents=True, exist_ok=True)
        if not inside.is_symlink():
            inside.symlink_to(Path(path).readlink())
    elif Path(path).exists():
        kernel.bind(path, str(inside), read_only=True)
