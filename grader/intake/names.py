"""Whose notebook a path in a download is: the naming schemes of Moodle, of Canvas, and of plain folders.

Pure functions of the path; what lies there is `intake.sources`', what becomes of it `collect`'s business.

Moodle's "Download all submissions" (mod/assign/classes/downloader.php) writes
`<full name>_<id>_assignsubmission_file/<path>`, older ones with a `_` after it, or without folders
`<full name>_<id>_assignsubmission_file_<name>`; the id belongs to the assignment and is that of its grading worksheet
("Participant <id>"). Canvas' "Download Submissions" (lib/content_zipper.rb) writes, flat,
`<sortable name without spaces>[_LATE]_<user id>_<attachment id>_<name>`; the user id is the gradebook's ID.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from grader.intake.discovery import LONGEST_NAME_BYTES
from grader.model.harmless_text import printable

MOODLE = re.compile(
    r"(?P<name>[^_]+?)(?:_(?P<id>\d+))?_assignsubmission_(?P<kind>file|onlinetext)(?:_(?P<file>.*))?", re.DOTALL
)
CANVAS = re.compile(
    r"(?P<name>\w+?)_(?:(?P<late>late)_)?(?P<id>\d+)_(?P<attachment>\d+)_(?P<file>.+)", re.DOTALL | re.IGNORECASE
)
CANVAS_ANONYMOUS = re.compile(
    r"(?P<name>anon)_(?P<id>\w{5})_(?:(?P<late>late)_)?(?P<attachment>\d+)_(?P<file>.+)", re.DOTALL | re.IGNORECASE
)
COPY = re.compile(r"^(?P<stem>.*?)(?:\s*\((?P<browser>\d+)\)|-(?P<canvas>\d{1,2})|\s*[-_ ]*[Cc]opy\d*)$", re.DOTALL)
NOT_IN_NAMES = re.compile(r"[/\\*?\[\]<>:|\"\x00-\x1f\x7f]+")
BLIND = "Participant"
"""What Moodle calls everybody while marking is anonymous, in English."""


class Platform(StrEnum):
    """Where a download comes from."""

    MOODLE = "Moodle"
    CANVAS = "Canvas"
    FOLDER = "folder"


@dataclass(frozen=True)
class Owner:
    """Whose file a path is, as far as it tells."""

    name: str
    """The student's name as the platform writes it."""
    file: str
    """Name of the file, as the student gave it."""
    id: str = ""
    """The platform's number for the student; empty where there is none."""
    late: bool | None = None
    """Whether the platform says that it came late; None where it does not tell."""
    order: int = 0
    """Of two files of one student the higher one is newer, where the times do not tell."""


def platform_of(paths: Sequence[Sequence[str]]) -> Platform:
    """The platform that most probably wrote these paths."""
    # By what lies on top, of which a student has one: files inside of it can have any name.
    tops: dict[str, list[Sequence[str]]] = {}
    for parts in paths:
        if parts[-1].lower().endswith(".ipynb") or _moodle(parts) is not None:
            tops.setdefault(parts[0], []).append(parts)
    outside = sum(MOODLE.fullmatch(top) is not None for top in tops)
    anywhere = sum(any(_moodle(parts) is not None for parts in inside) for inside in tops.values())
    if (outside and 2 * outside >= len(tops)) or 2 * anywhere > len(tops):
        return Platform.MOODLE
    named = sum(2 * sum(_canvas(parts) is not None for parts in inside) > len(inside) for inside in tops.values())
    return Platform.CANVAS if named and 2 * named > len(tops) else Platform.FOLDER


def owner_of(parts: Sequence[str], platform: Platform, chapters: Sequence[str]) -> Owner | None:
    """Whose file it is; None where the path does not tell.

    Args:
        parts: the path's folders and file, from outside to inside.
        platform: which scheme to read it by.
        chapters: names of the course's chapters: they are nobody's name.
    """
    if platform is Platform.MOODLE:
        return _moodle(parts)
    if platform is Platform.CANVAS:
        return _canvas(parts)
    return _plain(parts, chapters)


def student_of(owner: Owner, platform: Platform, *, namesakes: bool = False) -> str:
    """The name of the student's folder: readable, and safe as part of a path; empty where nothing is left of it.

    Moodle's numbers change from assignment to assignment, so that only namesakes have theirs in the folder's name. What
    Canvas writes of a name is no more than a hint, and its numbers stay: everybody has theirs.
    """
    name = folder_name(owner.name)
    numbered = platform is Platform.CANVAS or namesakes or owner.name == BLIND
    return f"{name}_{owner.id}" if name and owner.id and numbered else name


def folder_name(name: str) -> str:
    """A person's name as the name of a folder: one form of each letter, nothing that paths or pages could trip over."""
    text = unicodedata.normalize("NFC", name)
    text = printable("".join(char for char in text if unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")))
    text = re.sub(r"\s+", " ", NOT_IN_NAMES.sub("_", text)).strip(" .")
    while len(text.encode()) > LONGEST_NAME_BYTES - 20:  # a number comes after it
        text = text[:-1].rstrip()
    return "" if not text.strip("_ ") else text


def folded(name: str) -> str:
    """The name for comparing: without case, accents, order of its parts and punctuation."""
    text = unicodedata.normalize("NFKD", name).casefold()
    return " ".join(sorted(re.findall(r"[^\W_]+", "".join(char for char in text if not unicodedata.combining(char)))))


def _moodle(parts: Sequence[str]) -> Owner | None:
    for depth, part in enumerate(parts):
        match = MOODLE.fullmatch(part)
        if match is None:
            continue
        inside = parts[depth + 1 :]
        if inside or match["file"]:
            name = inside[-1] if inside else match["file"]
            return Owner(match["name"].strip(), name, match["id"] or "", order=_version(name)[1])
    return None


def _canvas(parts: Sequence[str]) -> Owner | None:
    match = CANVAS_ANONYMOUS.fullmatch(parts[-1]) or CANVAS.fullmatch(parts[-1])
    if match is None:
        return None
    late = match["late"] is not None
    return Owner(match["name"], match["file"], match["id"], late=late, order=int(match["attachment"]))


def _plain(parts: Sequence[str], chapters: Sequence[str]) -> Owner | None:
    """`<student>/…/<file>`, `<student>.ipynb`, `<student>_<chapter>.ipynb` or `<chapter>_<student>.ipynb`."""
    stem, order = _version(parts[-1])
    if len(parts) > 1 and parts[0] not in chapters:
        return Owner(parts[0], parts[-1], order=order)
    if len(parts) > 2:  # <chapter>/<student>/…
        return Owner(parts[1], parts[-1], order=order)
    for chapter in chapters:
        if stem.startswith(chapter):
            stem = stem[len(chapter) :]
        elif stem.endswith(chapter):
            stem = stem[: -len(chapter)]
    stem = stem.strip(" _-+.")
    return Owner(stem, parts[-1], order=order) if stem else None


def _version(file: str) -> tuple[str, int]:
    """A file's stem without what browsers and platforms put behind a name that is taken, and that number."""
    stem = re.sub(r"\.ipynb$", "", file, flags=re.IGNORECASE)
    match = COPY.match(stem)
    if match is None or not match["stem"]:
        return stem, 0
    return match["stem"], int(match["browser"] or match["canvas"] or 1)
