"""Decides what becomes of every file in a learning platform's bulk download: taken, skipped, and why.

`plan` looks and changes nothing; `intake.disk` does what was planned. Whose a file is `intake.names` reads, of which
chapter `intake.chapters`, and what is in the download `intake.sources`.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from grader.intake import ledger
from grader.intake.chapters import chapter_of, grade_ids
from grader.intake.decisions import Decision, FileState
from grader.intake.disk import present, sha256_of
from grader.intake.ledger import Taken
from grader.intake.names import Owner, Platform, folded, folder_name, owner_of, platform_of, student_of
from grader.intake.roster import Roster
from grader.intake.sources import Archive, Download, DownloadEntry, without_common_top
from grader.intake.times import after, is_late
from grader.model.course import Course
from grader.model.harmless_text import printable
from grader.model.submission import MAX_NOTEBOOK_BYTES


@dataclass(frozen=True)
class Wishes:
    """What the instructor asked for."""

    chapter: str | None = None
    """Take this chapter's notebooks only; None: whatever each one is."""
    platform: Platform | None = None
    due: datetime | None = None
    skip_late: bool = False
    roster: Roster | None = None


@dataclass(frozen=True)
class _Candidate:
    """A notebook that may be taken."""

    entry: DownloadEntry
    owner: Owner
    student: str
    chapter: str
    sha256: str
    time: datetime | None
    notes: tuple[str, ...] = ()
    late: bool | None = None


@dataclass
class _Look:
    """What is known of the course while a download is looked through."""

    course: Course
    wishes: Wishes
    platform: Platform
    grade_ids: dict[str, frozenset[str]]
    skipped: list[Decision] = field(default_factory=list)

    def skip(self, entry: DownloadEntry, why: str, student: str = "", chapter: str = "") -> None:
        self.skipped.append(Decision(FileState.SKIPPED, printable(entry.path), student, chapter, (why,)))


def plan(course: Course, source: Download, name: str, wishes: Wishes) -> list[Decision]:
    """What is to become of every file of a download, sorted by student; changes nothing.

    Args:
        course: whose chapters and submissions.
        source: the download.
        name: what it is called, without a suffix.
        wishes: what the instructor asked for.
    """
    names = [chapter.name for chapter in course.chapters()]
    entries: Sequence[DownloadEntry] = source.entries
    if isinstance(source, Archive):
        entries = without_common_top(entries, name, names)
    platform = wishes.platform or platform_of([entry.parts for entry in entries])
    look = _Look(course, wishes, platform, {chapter: grade_ids(course, chapter) for chapter in names})
    candidates = list(_candidates(look, source, entries))
    decisions = [decision for group in _groups(look, candidates) for decision in _of_one(look, group)]
    decisions = _told_of_twins([*decisions, *look.skipped], course)
    return sorted(
        decisions, key=lambda one: (one.state is FileState.SKIPPED, one.student.casefold(), one.chapter, one.file)
    )


# ---------------------------------------------------------------------------------------------- from files to notebooks


def _candidates(look: _Look, source: Download, entries: Sequence[DownloadEntry]) -> Iterator[_Candidate]:
    """The notebooks among the files; whatever cannot be taken is skipped with its reason."""
    owners = [(entry, owner_of(entry.parts, look.platform, list(look.grade_ids))) for entry in entries]
    namesakes = _namesakes(owner for _, owner in owners if owner is not None)
    for entry, owner in owners:
        fault = _fault(entry, owner, look.platform)
        student = student_of(owner, look.platform, namesakes=owner.name in namesakes) if owner else ""
        if owner and student in look.grade_ids and owner.id:
            student = f"{student}_{owner.id}"
        if fault or owner is None:
            look.skip(entry, fault, "" if entry.fault else student)
            continue
        if not student:
            look.skip(entry, "nothing of the student's name can stand in a folder's name")
            continue
        if student in look.grade_ids:
            # Beside the class's folders, one of this name would be taken for the notebooks of a single student.
            look.skip(entry, "its owner has the name of a chapter; rename the folder", student)
            continue
        person = look.wishes.roster.find(owner.name, owner.id, student) if look.wishes.roster else None
        if look.wishes.roster and person is None:
            look.skip(entry, f"nobody, or more than one, on {look.wishes.roster.path.name} is {owner.name}", student)
            continue
        try:
            data = source.read(entry)
            chapter, notes = chapter_of(data, owner.file, look.wishes.chapter, look.grade_ids)
        except ValueError as error:
            look.skip(entry, str(error), student)
            continue
        time = person.submitted if person and person.submitted else entry.time
        found = _Candidate(entry, owner, student, chapter, hashlib.sha256(data).hexdigest(), time, notes)
        late = owner.late if owner.late is not None else is_late(time, look.wishes.due)
        if late and look.wishes.skip_late:
            look.skip(entry, f"late{after(time, look.wishes.due)}", student, chapter)
            continue
        yield replace(found, late=late, notes=notes + ((f"late{after(time, look.wishes.due)}",) if late else ()))


def _fault(entry: DownloadEntry, owner: Owner | None, platform: Platform) -> str:
    """Why a file cannot be a submission, as far as that can be seen from outside; empty when nothing is wrong."""
    suffix = entry.parts[-1].rpartition(".")[2].lower()
    if entry.fault:
        return entry.fault
    if suffix != "ipynb":
        inside = suffix in ("zip", "rar", "7z", "gz", "tar")
        if "_onlinetext" in entry.path:
            return "text typed into the page, not a notebook"
        return "an archive in the archive: unpack it by hand" if inside else "not a notebook"
    if owner is None:
        return (
            "neither folder nor file name says whose it is"
            if platform is Platform.FOLDER
            else f"its path is not of {platform}'s form, so that it says not whose it is"
        )
    if entry.size > MAX_NOTEBOOK_BYTES:
        return f"{entry.size / 1e6:,.0f} MB, and {MAX_NOTEBOOK_BYTES / 1e6:.0f} MB is the most that is read"
    if entry.size == 0:
        return "the file is empty"
    return ""


def _namesakes(owners: Iterator[Owner]) -> frozenset[str]:
    """Names that several people of a download have, or that would come to the same folder."""
    ids: dict[str, set[str]] = defaultdict(set)
    names: dict[str, set[str]] = defaultdict(set)
    for owner in owners:
        for key in (f"name {folded(owner.name)}", f"folder {folder_name(owner.name)}"):
            ids[key].add(owner.id)
            names[key].add(owner.name)
    return frozenset(name for key, numbers in ids.items() if len(numbers) > 1 for name in names[key])


# ---------------------------------------------------------------------------------------------------- one of a student


def _groups(look: _Look, candidates: Sequence[_Candidate]) -> Iterator[list[_Candidate]]:
    """The notebooks of one student for one chapter together; folders that two people would share are nobody's."""
    groups: dict[tuple[str, str], list[_Candidate]] = defaultdict(list)
    for one in candidates:
        groups[one.student, one.chapter].append(one)
    for group in groups.values():
        people = {one.owner.id or unicodedata.normalize("NFC", one.owner.name) for one in group}
        if len(people) > 1:
            for one in group:
                names = " and ".join(sorted({other.owner.name for other in group}))
                look.skip(one.entry, f"the folder {one.student} would be that of {names}", one.student, one.chapter)
            continue
        yield group


def _of_one(look: _Look, group: list[_Candidate]) -> Iterator[Decision]:
    """The newest of a student's notebooks for a chapter; the others are skipped."""
    named = [f"{one.chapter}.ipynb" == one.owner.file for one in group]
    ranked = sorted(
        zip(group, named, strict=True),
        key=lambda pair: (
            pair[0].time or datetime.min.replace(tzinfo=UTC),
            pair[0].owner.order,
            pair[1],
            pair[0].entry.path,
        ),
    )
    best = ranked[-1][0]
    for other, _ in ranked[:-1]:
        same = other.sha256 == best.sha256
        name = printable(best.owner.file if best.owner.file != other.owner.file else best.entry.path)
        why = "the same notebook again" if same else f"older than {name}, which counts"
        if not same and _undecided(ranked):
            why = f"one of {len(group)} that no time or number tells apart; {name} counts"
        look.skip(other.entry, why, best.student, best.chapter)
    yield _against_what_is_there(look, best, len(group))


def _undecided(ranked: Sequence[tuple[_Candidate, bool]]) -> bool:
    (last, named), (one_before, other_named) = ranked[-1], ranked[-2]
    return (last.time, last.owner.order, named) == (one_before.time, one_before.owner.order, other_named)


def _against_what_is_there(look: _Look, one: _Candidate, of: int) -> Decision:
    """Whether the notebook is new, newer, or there already."""
    there = present(look.course, one.student, one.chapter)
    known = ledger.load(look.course, one.chapter).get(one.student)
    notes = one.notes + ((f"newest of {of}",) if of > 1 else ())
    other_person = known is not None and known.platform is look.platform and known.id != one.owner.id and one.owner.id
    if known is not None and other_person and not one.student.endswith(f"_{one.owner.id}"):
        # Two people with the same name, in different downloads: the folder belongs to the first one.
        note = f"another {one.student} was collected before, number {known.id}"
        other = replace(one, student=f"{one.student}_{one.owner.id}", notes=(*one.notes, note))
        return _against_what_is_there(look, other, of)
    time = one.time.isoformat(timespec="seconds") if one.time else ""
    taken = Taken(one.student, look.platform, one.owner.name, one.owner.id, one.entry.path, one.sha256, time, one.late)
    decision = Decision(FileState.TAKEN, printable(one.entry.path), one.student, one.chapter, notes, taken, one.entry)
    link = next((path for path in (*there, *_folders(look.course, one)) if path.is_symlink()), None)
    if link is not None:
        return replace(
            decision, state=FileState.SKIPPED, notes=(f"{link} is a link: replace it by a folder",), taken=None
        )
    if not there:
        return decision
    if len(there) == 1 and sha256_of(there[0]) == one.sha256:
        return replace(decision, state=FileState.UNCHANGED)
    if known and known.when and one.time and one.time < known.when and len(there) == 1:
        why = f"older than what is there, of {known.when.astimezone():%Y-%m-%d %H:%M}"
        return replace(decision, state=FileState.SKIPPED, notes=(why,), taken=None)
    return replace(decision, state=FileState.REPLACED, notes=(*notes, "the earlier one is put aside"))


def _told_of_twins(decisions: Sequence[Decision], course: Course) -> list[Decision]:
    """The decisions, with a note where two students sent the very same notebook, or the one that was handed out."""
    counts = Counter((one.chapter, one.taken.sha256) for one in decisions if one.taken)
    blank = {one.chapter: sha256_of(course.chapter(one.chapter).release) for one in decisions if one.taken}
    told = []
    for one in decisions:
        if one.taken is None:
            told.append(one)
            continue
        note = ""
        if one.taken.sha256 == blank[one.chapter]:
            note = "as it was handed out"
        elif counts[one.chapter, one.taken.sha256] > 1:
            others = [
                other.student
                for other in decisions
                if other is not one and other.taken and other.taken.sha256 == one.taken.sha256
            ]
            note = f"the very same file as {', '.join(others[:3])}'s"
        told.append(replace(one, notes=(*one.notes, note)) if note else one)
    return told


def _folders(course: Course, one: _Candidate) -> tuple[Path, ...]:
    return course.submitted / one.student, course.submitted / one.student / one.chapter
