"""Who has a variant of a chapter, and the course's secret that their codes come from: `work/variants.json`.

Without that file, or without the chapter in it, there are no variants, and grading is as ever.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from grader.intake import ledger
from grader.intake.names import Owner, Platform, folded, student_of
from grader.intake.roster import Person, Roster, read
from grader.model import notebook_io
from grader.model.course import Course, CourseError
from grader.model.menus import Codes, menus_of
from grader.model.notebooks import ChapterKey


@dataclass(frozen=True)
class Variants:
    """The variants of one chapter."""

    secret: bytes = field(repr=False)
    """The course's; the same for all chapters."""
    people: dict[str, Person]
    """Folder below `work/variants/` → whose it is."""

    def folder_of(self, student: str, taken: ledger.Taken | None = None) -> str | None:
        """The folder of the student who submits under this name; None where that is nobody's, or several people's."""
        if student in self.people:
            return student
        roster = Roster(Path(), taken.platform if taken else Platform.FOLDER, tuple(self.people.values()), (), ())
        person = roster.find(taken.name, taken.id) if taken else roster.find(student)
        return next((folder for folder, one in self.people.items() if one is person), None)


def path_of(course: Course) -> Path:
    """Where the secret and the names are kept."""
    return course.work / "variants.json"


def people_in(path: Path) -> dict[str, Person]:
    """The students in a roster by the names of their folders: a CSV file, or a text file with one name per line.

    Raises:
        CourseError: it cannot be read, holds no names, or two students would share a folder.
    """
    if path.suffix.lower() == ".csv":
        roster = read(path)
        platform, people = roster.platform, roster.people
    else:
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            remedy = "Give a CSV file, or a text file in UTF-8 with one name per line."
            raise CourseError(path, f"cannot be read ({type(error).__name__})", remedy) from None
        platform, people = Platform.FOLDER, tuple(Person(line.strip()) for line in lines if line.strip())
    if not people:
        raise CourseError(path, "no students in it", "Give a CSV file, or a text file with one name per line.")
    names = [folded(one.name) for one in people]
    found: dict[str, Person] = {}
    for person in people:
        namesakes = names.count(folded(person.name)) > 1
        # Canvas' own folders are named after its files; a submission is found by name or number.
        folder = student_of(Owner(person.name, "", person.id), Platform.MOODLE, namesakes=namesakes)
        if not folder or folder in found:
            what = f"{person.name!r} gives no folder of its own" if folder else f"{person.name!r} is no folder's name"
            raise CourseError(path, what, "Give each student a name of their own.")
        # Moodle's numbers change from one assignment to the next.
        found[folder] = Person(person.name, person.id if platform is Platform.CANVAS else "", person.logins)
    return found


def load(course: Course, chapter: str) -> Variants | None:
    """The variants of a chapter; None where it has none.

    Raises:
        CourseError: the file is damaged.
    """
    kept = _kept(course)
    people = kept["chapters"].get(chapter)
    if people is None:
        return None
    persons = {folder: Person(one["name"], one["id"], tuple(one["logins"])) for folder, one in people.items()}
    return Variants(bytes.fromhex(kept["secret"]), persons)


def secret_of(course: Course) -> bytes:
    """The secret that codes are made from: the course's, or a new one where it has none yet. Writes nothing.

    Raises:
        CourseError: the file is damaged.
    """
    return bytes.fromhex(_kept(course)["secret"])


def enroll(course: Course, chapter: str, people: Mapping[str, Person], secret: bytes) -> None:
    """Adds students to those who have a variant of the chapter, made with this secret; keeps it the first time.

    Raises:
        CourseError: the file is damaged or cannot be written.
    """
    kept = {**_kept(course), "secret": secret.hex()}
    there = kept["chapters"].setdefault(chapter, {})
    for folder, person in people.items():
        there[folder] = {"name": person.name, "id": person.id, "logins": list(person.logins)}
    path = path_of(course)
    notebook_io.write(path, (json.dumps(kept, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode())
    path.chmod(0o600)


def codes_for(course: Course, key: ChapterKey) -> Callable[[str], dict[str, Codes]]:
    """Name of a submission → exercise → the student's codes; none at all where the chapter has no variants."""
    variants = load(course, key.name)
    if variants is None:
        return lambda student: {}
    menus, taken = menus_of(key.cells), ledger.load(course, key.name)

    def codes(student: str) -> dict[str, Codes]:
        folder = variants.folder_of(student, taken.get(student))
        if folder is None:
            return {menu.exercise: Codes({}, tuple(menu.items)) for menu in menus}
        return {
            menu.exercise: Codes(
                {code: word for word, code in menu.codes_of(variants.secret, folder, key.name).items()},
                tuple(menu.items),
            )
            for menu in menus
        }

    return codes


def _kept(course: Course) -> dict[str, Any]:
    path = path_of(course)
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        return {"secret": bytes.fromhex(kept["secret"]).hex(), "chapters": dict(kept["chapters"])}
    except FileNotFoundError:
        return {"secret": secrets.token_hex(32), "chapters": {}}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        remedy = "Restore it from a backup: without its secret, the codes of the notebooks mean nothing."
        raise CourseError(path, f"cannot be used ({type(error).__name__})", remedy) from None
