"""What lies in a download, an archive or a folder: names, sizes, times, and bytes of what is wanted.

Nothing is unpacked: an entry is read into memory, and never more of it than a notebook may have. So neither a path that
leads out of the archive, nor a link, nor a bomb can do harm; each comes back as an entry with a `fault`.
"""

from __future__ import annotations

import lzma
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from grader.intake.discovery import LEFT_BY_TOOLS
from grader.intake.times import moment_of
from grader.model.course import CourseError
from grader.model.foreign_files import read_foreign
from grader.model.submission import MAX_NOTEBOOK_BYTES

MOST_ENTRIES = 50_000
ALL_AT_ONCE = timedelta(minutes=10)
"""Times that lie no further apart are those of the download, not of the submissions."""
OTHER_ARCHIVES = {
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"\x1f\x8b": "compressed with gzip, probably a tar archive",
    b"%PDF": "a PDF",
    b"<": "a web page, probably that of a login",
}
"""First bytes → what such a file is."""
HIDDEN_TOOLS = {
    ".DS_Store", ".cache", ".config", ".conda", ".git", ".github", ".idea", ".ipynb_checkpoints", ".ipython",
    ".jupyter", ".local", ".venv", ".virtual_documents", ".vscode",
}  # fmt: skip
"""Hidden folders and files that tools leave behind: nobody's submission."""


@dataclass(frozen=True)
class DownloadEntry:
    """One file of a download."""

    parts: tuple[str, ...]
    """Its path, folder by folder."""
    size: int
    """Bytes, as declared."""
    time: datetime | None = None
    """When it was written, UTC; None where that is not told or not to be believed."""
    fault: str = ""
    """Why it cannot be taken, whatever is in it."""
    key: str = ""
    """How the source itself names it."""

    @property
    def path(self) -> str:
        """Where it lies, for people."""
        return "/".join(self.parts)


class Download(Protocol):
    """A download."""

    entries: Sequence[DownloadEntry]

    def read(self, entry: DownloadEntry) -> bytes:
        """The bytes of an entry without a fault.

        Raises:
            ValueError: they cannot be had; the text says why.
        """


@contextmanager
def opened(path: Path) -> Iterator[Download]:
    """The download at `path`, a zip archive or a folder.

    Raises:
        CourseError: there is nothing, or something else.
    """
    if path.is_dir():
        yield Folder(path)
        return
    if not path.exists():
        raise CourseError(path, "not there", "Give the zip archive as it was downloaded, or a folder of notebooks.")
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile, struct.error, ValueError, NotImplementedError) as error:
        raise _no_archive(path, error) from None
    with archive:
        yield Archive(path, archive)


class Folder:
    """A folder of notebooks, or one that a download was unpacked into. Links are not followed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            self.entries: Sequence[DownloadEntry] = list(self._walk(folder.resolve()))
        except OSError as error:
            raise CourseError(folder, f"cannot be read ({error.strerror})", "Make it readable and try again.") from None

    def _walk(self, folder: Path) -> Iterator[DownloadEntry]:
        closed: list[OSError] = []
        for here, folders, files in os.walk(folder, onerror=closed.append):
            links = [name for name in folders if os.path.islink(os.path.join(here, name))]  # noqa: PTH114, PTH118 - Path's raises
            folders[:] = sorted(name for name in folders if not _left_by_a_known_tool(name))
            for name in sorted([*files, *links]):
                path = Path(here) / name
                parts = path.relative_to(folder).parts
                if any(map(_left_by_tools, parts)) and not _dotted(parts):
                    continue
                try:
                    status = path.lstat()
                except OSError as error:  # gone again, or a path that is too long, or a closed folder: one student's
                    yield DownloadEntry(parts, 0, None, f"cannot be read ({error.strerror})", str(path))
                    continue
                kinds = {stat.S_IFREG: "", stat.S_IFLNK: "a link"}
                fault = kinds.get(stat.S_IFMT(status.st_mode), "no ordinary file")
                time = moment_of(status.st_mtime)
                yield DownloadEntry(parts, status.st_size, time, fault or _dotted(parts), str(path))
        for refusal in closed:
            path = Path(refusal.filename)
            if path == folder:
                raise refusal
            fault = f"cannot be opened ({refusal.strerror})"
            yield DownloadEntry(path.relative_to(folder).parts, 0, None, fault, str(path))

    def read(self, entry: DownloadEntry) -> bytes:
        """The bytes of an entry."""
        try:
            data = read_foreign(Path(entry.key), MAX_NOTEBOOK_BYTES)
        except OSError as error:
            raise ValueError(f"cannot be read ({error.strerror})") from None
        return _short_enough(data)


class Archive:
    """A zip archive, read member by member."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        members = [member for member in archive.infolist() if not member.is_dir()]
        if len(members) > MOST_ENTRIES:
            what = f"{len(members)} files in it, and {MOST_ENTRIES} is the most that is looked at"
            raise CourseError(path, what, "Is this the right archive?")
        self._members = {str(number): member for number, member in enumerate(members)}
        entries = [_entry(key, member) for key, member in self._members.items()]
        entries = [replace(one, fault=one.fault or _dotted(one.parts)) for one in entries]
        wanted = [one for one in entries if _dotted(one.parts) or not any(_left_by_tools(part) for part in one.parts)]
        self.entries: Sequence[DownloadEntry] = _with_believable_times(wanted)

    def read(self, entry: DownloadEntry) -> bytes:
        """The bytes of an entry."""
        try:
            with self._archive.open(self._members[entry.key]) as file:
                data = file.read(MAX_NOTEBOOK_BYTES + 1)  # whatever size was declared
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError) as error:
            raise ValueError(f"damaged in the archive ({error})") from None
        except (NotImplementedError, RuntimeError, MemoryError) as error:
            raise ValueError(f"cannot be unpacked ({error})") from None
        return _short_enough(data)


def _entry(key: str, member: zipfile.ZipInfo) -> DownloadEntry:
    name = _decoded(member).replace("\\", "/")
    parts = tuple(name.split("/"))
    mode = member.external_attr >> 16
    fault = ""
    if name.startswith("/") or ".." in parts or re.fullmatch("[A-Za-z]:", parts[0]):
        fault = "its path leads out of the archive"
    elif mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        fault = "a link" if stat.S_ISLNK(mode) else "no ordinary file"
    elif member.flag_bits & 0x1:
        fault = "encrypted"
    try:
        # Archives hold local time without a zone; Moodle and Canvas write that of the server.
        time = datetime(*member.date_time).astimezone(UTC)
    except (ValueError, OverflowError):
        time = None
    kept = tuple(part for part in parts if part not in ("", ".")) or ("?",)
    return DownloadEntry(kept, member.file_size, time, fault, key)


def _decoded(member: zipfile.ZipInfo) -> str:
    """The member's name; archives of macOS hold UTF-8 without saying so, which reads as gibberish."""
    if member.flag_bits & 0x800:
        return member.filename
    try:
        return member.filename.encode("cp437").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return member.filename


def _with_believable_times(entries: list[DownloadEntry]) -> list[DownloadEntry]:
    """The entries, without their times where all of them were written at once, by the download."""
    times = [entry.time for entry in entries if entry.time is not None]
    if len(times) == len(entries) and times and max(times) - min(times) > ALL_AT_ONCE:
        return entries
    return [replace(one, time=None) for one in entries]


def without_common_top(entries: Sequence[DownloadEntry], archive: str, chapters: Sequence[str]) -> list[DownloadEntry]:
    """The entries without a folder that all of them lie in, as when a folder of submissions was zipped.

    Args:
        entries: all of a download.
        archive: the download's name without its suffix: a folder of that name is nobody's.
        chapters: names of the course's chapters: what holds several of them may be one student's folder.
    """
    entries = list(entries)
    while True:
        sound = [one.parts for one in entries if not one.fault]
        tops = {parts[0] for parts in sound}
        if len(tops) != 1 or min(map(len, sound)) < 2 or any("_assignsubmission_" in top for top in tops):
            return entries
        below = {parts[1] for parts in sound}
        of_many = len(below) > 1 and not any(name.startswith(tuple(chapters)) for name in below)
        if not of_many and tops != {archive}:
            return entries
        entries = [
            replace(one, parts=one.parts[1:]) if one.parts[0] in tops and one.parts[1:] else one for one in entries
        ]


def _left_by_tools(name: str) -> bool:
    return (name.startswith(".") and name not in (".", "..")) or name in LEFT_BY_TOOLS


def _left_by_a_known_tool(name: str) -> bool:
    return name in LEFT_BY_TOOLS or name in HIDDEN_TOOLS or name.startswith(("._", ".Trash"))


def _dotted(parts: Sequence[str]) -> str:
    """Why a notebook is not taken that may be somebody's whose name begins with a dot; empty for all other files."""
    if any(map(_left_by_a_known_tool, parts)) or not parts[-1].lower().endswith(".ipynb"):
        return ""
    dotted = next((part for part in parts if _left_by_tools(part)), None)
    return "its name begins with a dot, as hidden files do: rename it if it is a submission" if dotted else ""


def _short_enough(data: bytes) -> bytes:
    if len(data) > MAX_NOTEBOOK_BYTES:
        raise ValueError(f"larger than {MAX_NOTEBOOK_BYTES / 1e6:.0f} MB, whatever the archive says")
    return data


def _no_archive(path: Path, error: Exception) -> CourseError:
    """What the file is instead of a zip archive, as far as its first bytes tell."""
    try:
        with path.open("rb") as file:
            start = file.read(512)
    except OSError as reason:
        return CourseError(path, f"cannot be read ({reason.strerror})", "Make it readable and try again.")
    if not start:
        return CourseError(path, "the file is empty", "Download it again.")
    if start.lstrip().startswith(b"{"):
        return CourseError(path, "one notebook, not a class", "Give the folder that it lies in.")
    known = next((what for first, what in OTHER_ARCHIVES.items() if start.lstrip().startswith(first)), "")
    if start.startswith(b"PK"):
        return CourseError(path, f"a zip archive that breaks off or is damaged ({error})", "Download it again.")
    what = f"not a zip archive but {known}" if known else "not a zip archive"
    return CourseError(path, what, "Download it again, or unpack it and give the folder.")
