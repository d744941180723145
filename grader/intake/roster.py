"""The people of a class, from a table that Moodle or Canvas exports, and the same table with grades filled in.

Moodle's is the grading worksheet of the assignment (View all submissions → Download grading worksheet), Canvas' the
gradebook's export. Any other CSV with a column `student` or `name` will do for telling who belongs to the class.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from grader.intake.names import Platform, folded
from grader.model.course import CourseError

MOODLE_TIMES = (
    "%A, %d %B %Y, %I:%M %p",
    "%A, %d %B %Y, %I:%M:%S %p",
    "%A, %B %d, %Y, %I:%M %p",
    "%A, %B %d, %Y, %I:%M:%S %p",
    "%d %B %Y, %I:%M %p",
    "%A, %d %B %Y, %H:%M",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%d %H:%M",
)
"""As Moodle writes times in English, and as spreadsheets change them to."""
NAME_COLUMNS = ("full name", "student", "name", "student name", "user")
LOGIN_COLUMNS = ("sis login id", "username", "login", "id number", "sis user id")
CANVAS_NO_STUDENTS = ("points possible", "student, test")


@dataclass(frozen=True)
class Person:
    """One student of the class, as the platform knows them."""

    name: str
    id: str = ""
    logins: tuple[str, ...] = ()
    """Other names: login, number, address and what stands before its @."""
    submitted: datetime | None = None
    """When the platform says that they last submitted, UTC."""
    row: int = -1
    """Which of the table's rows this is."""


@dataclass(frozen=True)
class Roster:
    """A class."""

    path: Path
    platform: Platform
    people: tuple[Person, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = field(repr=False)

    def find(self, name: str, id: str = "", *more: str) -> Person | None:
        """The person with this number, else the only one with this name or login; None when that tells nobody."""
        if id and (found := [one for one in self.people if one.id == id]):
            return found[0] if len(found) == 1 else None
        wanted = {folded(text) for text in (name, *more) if folded(text)}
        found = [one for one in self.people if wanted & {folded(text) for text in (one.name, *one.logins) if text}]
        if not found and self.platform is Platform.CANVAS:  # its files are named after names without spaces
            squeezed = re.sub(r"\W", "", name).casefold()
            found = [one for one in self.people if re.sub(r"\W", "", one.name).casefold() == squeezed]
        return found[0] if len(found) == 1 else None

    def column(self, *names: str) -> int:
        """Index of the first column that has one of these names.

        Raises:
            CourseError: there is none.
        """
        index = _column(self.header, *names)
        if index is None:
            there = ", ".join(name for name in self.header if name)
            remedy = "Export it again with the platform's language set to English."
            raise CourseError(self.path, f"no column {names[0]!r} (there are: {there})", remedy)
        return index

    def text_with(self, cells: dict[tuple[int, int], str], more_columns: Sequence[str] = ()) -> str:
        """The table as CSV, with these cells, by row and column, changed, and columns added."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*self.header, *more_columns])
        for number, row in enumerate(self.rows):
            padded = [*row, *[""] * (len(self.header) + len(more_columns) - len(row))]
            writer.writerow([cells.get((number, column), value) for column, value in enumerate(padded)])
        return out.getvalue()


def read(path: Path) -> Roster:
    """The class in a CSV file.

    Raises:
        CourseError: it cannot be read, or has no names in it.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise CourseError(path, f"cannot be read ({error.strerror})", "Give a CSV file.") from None
    except UnicodeDecodeError:
        raise CourseError(path, "not a text file in UTF-8", "Export it again as CSV, not as a spreadsheet.") from None
    lines = text.splitlines()
    delimiter = ";" if lines and lines[0].count(";") > lines[0].count(",") else ","
    try:
        header, *rows = [tuple(row) for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(row)]
    except (ValueError, csv.Error):
        raise CourseError(path, "no table in it", "Give a CSV file with a first line of column names.") from None
    roster = Roster(path, _platform(header), (), header, tuple(rows))
    people = tuple(person for number, row in enumerate(rows) if (person := _person(roster, row, number)) is not None)
    if not people:
        raise CourseError(path, "no students in it", 'It needs a column "Full name", "Student" or "name".')
    return replace(roster, people=people)


def _platform(header: Sequence[str]) -> Platform:
    if _column(header, "Identifier") is not None:
        return Platform.MOODLE
    if _column(header, "Student") is not None and _column(header, "ID") is not None:
        return Platform.CANVAS
    return Platform.FOLDER


def _person(roster: Roster, row: Sequence[str], number: int) -> Person | None:
    def cell(*names: str) -> str:
        index = _column(roster.header, *names)
        return row[index].strip() if index is not None and index < len(row) else ""

    name = (
        cell(*NAME_COLUMNS) or f"{cell('first name', 'firstname')} {cell('last name', 'lastname', 'surname')}".strip()
    )
    if not name or (roster.platform is Platform.CANVAS and name.casefold().startswith(CANVAS_NO_STUDENTS)):
        return None
    id = cell("ID") if roster.platform is Platform.CANVAS else ""
    if roster.platform is Platform.MOODLE:  # "Participant 123", in any language
        id = found[0] if (found := re.findall(r"\d+$", cell("Identifier"))) else ""
    address = cell("Email address", "Email", "e-mail")
    logins = [cell(column) for column in LOGIN_COLUMNS] + [address, address.partition("@")[0]]
    return Person(name, id, tuple(filter(None, logins)), _time(cell("Last modified (submission)")), number)


def _column(header: Sequence[str], *names: str) -> int | None:
    plain = [title.strip().casefold() for title in header]
    return next((plain.index(name.casefold()) for name in names if name.casefold() in plain), None)


def _time(text: str) -> datetime | None:
    """What Moodle writes, taken for this machine's time zone; None for `-` and for other languages."""
    for form in MOODLE_TIMES:
        try:
            return datetime.strptime(text.strip(), form).astimezone(UTC)
        except ValueError:
            continue
    return None
