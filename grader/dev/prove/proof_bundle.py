"""Carries what a proof produced from a machine with a GPU to a tree that can be committed: one archive, and back."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path, PurePosixPath

from grader.model.course import Course, CourseError
from grader.model.notebook_io import write

LARGEST_BYTES = 16_000_000
"""What a runner's artefact store, or a tool between two machines, may be expected to carry."""
LARGEST_UNPACKED_BYTES = 10 * LARGEST_BYTES
PLACES = (
    *("solutions/*/*.ipynb", "notebooks/*/*.ipynb"),
    *("data/machines/*.json", "data/machines/*.md", "data/machines/*/*.csv"),
    *("work/prove/*/*.json", "work/prove/*/readings/*.json"),
)
"""What a proof writes, and all that a bundle may hold. The last ones are what is known by step and row, with which the
next machine of that kind continues, and the values that were read of the GPU."""


def pack(course: Course, target: Path) -> list[str]:
    """Writes executed notebooks, releases and reports into one archive; gives their names.

    Raises:
        CourseError: there is nothing, it is larger than 16 MB, or it cannot be written.
    """
    paths = sorted(path for place in PLACES for path in course.root.glob(place))
    names = [path.relative_to(course.root).as_posix() for path in paths]
    if not names:
        raise CourseError(course.root, "holds no executed notebook and no report", "Run grader prove first.")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for path, name in zip(paths, names, strict=True):
            member = tarfile.TarInfo(name)
            member.size = path.stat().st_size
            with path.open("rb") as file:
                archive.addfile(member, file)
    if packed.tell() > LARGEST_BYTES:
        size = f"{packed.tell() / 1e6:.0f} MB, more than {LARGEST_BYTES / 1e6:.0f}"
        raise CourseError(target, f"would be {size}", "Are the notebooks' figures too large?")
    try:
        write(target, packed.getvalue())
    except OSError as error:
        raise CourseError(target, f"cannot be written ({error.strerror})", "Name another file.") from None
    return names


def apply(course: Course, source: Path) -> list[str]:
    """Puts what a bundle holds into this tree; gives the names of the files that changed.

    Nothing is written unless all of it can be: a bundle comes from another machine and is not trusted with paths.

    Raises:
        CourseError: it cannot be read, or holds something that no proof writes.
    """
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(source, "r:xz") as archive:
            for member in archive:
                inner = PurePosixPath(member.name)
                known = any(inner.match(place) and len(inner.parts) == place.count("/") + 1 for place in PLACES)
                if not member.isfile() or not known or ".." in inner.parts:
                    raise CourseError(source, f"holds {member.name!r}, which no proof writes", "Nothing was taken.")
                if sum(map(len, found.values())) + member.size > LARGEST_UNPACKED_BYTES:
                    raise CourseError(source, "unpacks to more than a proof writes", "Nothing was taken.")
                file = archive.extractfile(member)
                found[member.name] = file.read() if file else b""
    except (OSError, tarfile.TarError, EOFError) as error:
        raise CourseError(source, f"is no bundle ({error})", 'Make one with "grader prove --bundle FILE".') from None
    changed = []
    for name, data in sorted(found.items()):
        path = course.root / name
        if path.is_symlink() or any(parent.is_symlink() for parent in path.parents if parent != course.root):
            raise CourseError(path, "is a link", "Nothing is written through one.")
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, data)
            changed.append(name)
    return changed
