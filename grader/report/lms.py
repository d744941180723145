"""Grades as Moodle and Canvas read them: their own tables with points filled in, or new ones from what was collected.

Points are the gradebook's, those given by hand included; what is not decided is not counted, and told. Moodle takes
`moodle.csv` under "Upload grading worksheet" of the assignment, Canvas `canvas.csv` under Grades → Import.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from grader.intake.ledger import Taken
from grader.intake.names import Platform
from grader.intake.roster import Person, Roster
from grader.model.course import CourseError
from grader.model.results import SubmissionResult
from grader.report.class_statistics import points
from grader.report.spreadsheet import csv_text

MOODLE_HEADER = ("Identifier", "Full name", "Grade", "Maximum grade", "Last modified (grade)", "Feedback comments")
CANVAS_HEADER = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
POINTS_POSSIBLE = "    Points Possible"


@dataclass(frozen=True)
class Grade:
    """What one student is to get."""

    student: str
    """Name of the folder in the course."""
    earned: float
    possible: float
    pending: float

    @property
    def comment(self) -> str:
        """For the student: `27 of 30 points; 3 pending`."""
        more = f"; {points(self.pending)} pending" if self.pending else ""
        return f"{points(self.earned)} of {points(self.possible)} points{more}"

    def out_of(self, most: float | None) -> float:
        """The points, scaled to those that the platform's assignment has."""
        scale = most / self.possible if most and self.possible else 1.0
        return round(self.earned * scale, 2)


@dataclass(frozen=True)
class Filled:
    """A platform's table with grades in it, and what did not fit."""

    text: str
    matched: tuple[str, ...]
    """Students who are in it."""
    nowhere: tuple[str, ...]
    """Graded students who are not in the table."""
    ungraded: tuple[str, ...]
    """Names in the table of whom nothing is graded."""
    scaled_to: float | None = None
    """The platform's points, where they are not the chapter's."""


def grades_of(results: Sequence[SubmissionResult], recorded: Mapping[str, float]) -> list[Grade]:
    """Each graded student's points: those in the gradebook, where it has any."""
    return [
        Grade(one.student, recorded.get(one.student, one.earned), one.possible, one.pending)
        for one in results
        if one.problem is None
    ]


def by_hand(results: Sequence[SubmissionResult], recorded: Mapping[str, float]) -> list[str]:
    """Students whose points in the gradebook are not the judge's: somebody has changed them."""
    return [
        one.student
        for one in results
        if one.problem is None and abs(recorded.get(one.student, one.earned) - one.earned) > 1e-6
    ]


def moodle_text(grades: Sequence[Grade], taken: Mapping[str, Taken]) -> str | None:
    """A grading worksheet for those collected from Moodle; None when nobody was."""
    rows = [
        [f"Participant {one.id}", one.name, f"{grade.out_of(None):g}", f"{grade.possible:g}", "-", grade.comment]
        for grade in grades
        if (one := taken.get(grade.student)) and one.platform is Platform.MOODLE and one.id
    ]
    return csv_text([MOODLE_HEADER, *rows]) if rows else None


def canvas_text(grades: Sequence[Grade], taken: Mapping[str, Taken], title: str) -> str | None:
    """A gradebook for those collected from Canvas; None when nobody was.

    Args:
        grades: of the class.
        taken: what was collected, by student.
        title: the assignment's name in Canvas; one that is not there yet would be made.
    """
    rows = [
        [one.name, one.id, "", "", "", f"{grade.out_of(None):g}"]
        for grade in grades
        if (one := taken.get(grade.student)) and one.platform is Platform.CANVAS and one.id.isdecimal()
    ]
    if not rows:
        return None
    possible = max(grade.possible for grade in grades)
    return csv_text([[*CANVAS_HEADER, title], [POINTS_POSSIBLE, "", "", "", "", f"{possible:g}"], *rows])


def filled(roster: Roster, grades: Sequence[Grade], taken: Mapping[str, Taken], titles: Sequence[str]) -> Filled:
    """The platform's own table with the grades in their column; every other cell is as it was.

    Args:
        roster: the table.
        grades: of the class.
        taken: what was collected, by student: whose number is whose.
        titles: names by which Canvas' column for the assignment may be known.

    Raises:
        CourseError: it is neither Moodle's nor Canvas', or has no column for the grades.
    """
    if roster.platform is Platform.FOLDER:
        remedy = "Give Moodle's grading worksheet or Canvas' gradebook export; grades.csv is for everything else."
        raise CourseError(roster.path, "neither Moodle's table nor Canvas'", remedy)
    matches = {grade.student: _person(roster, grade, taken) for grade in grades}
    matches = _without_doubles(roster, matches, taken)
    column = roster.column("Grade") if roster.platform is Platform.MOODLE else _canvas_column(roster, titles)
    most = _possible(roster, column)
    cells: dict[tuple[int, int], str] = {}
    scaled = None
    for grade in grades:
        person = matches[grade.student]
        if person is None:
            continue
        limit = most(person)
        scaled = limit if limit and limit != grade.possible else scaled
        cells[person.row, column] = f"{grade.out_of(limit):g}"
        if roster.platform is Platform.MOODLE and "Feedback comments" in roster.header:
            cells[person.row, roster.header.index("Feedback comments")] = grade.comment
    rows = {row for row, _ in cells}
    return Filled(
        text=roster.text_with(cells),
        matched=tuple(name for name, person in matches.items() if person),
        nowhere=tuple(name for name, person in matches.items() if person is None),
        ungraded=tuple(one.name for one in roster.people if one.row not in rows),
        scaled_to=scaled,
    )


def _person(roster: Roster, grade: Grade, taken: Mapping[str, Taken]) -> Person | None:
    """Whose row it is: by the number that the file came with, else by a name that nobody else has."""
    known = taken.get(grade.student)
    if known is not None and known.platform is roster.platform and known.id:
        return roster.find("", known.id)
    return roster.find(grade.student)


def _without_doubles(
    roster: Roster, matches: Mapping[str, Person | None], taken: Mapping[str, Taken]
) -> dict[str, Person | None]:
    """The matches without those of several students with one person, unless the platform's number tells whose it is."""
    claims = Counter(person.row for person in matches.values() if person)
    sure = {
        person.row: name
        for name, person in matches.items()
        if person and (known := taken.get(name)) and known.platform is roster.platform and known.id == person.id != ""
    }
    return {
        name: person if person and (claims[person.row] == 1 or sure.get(person.row) == name) else None
        for name, person in matches.items()
    }


def _canvas_column(roster: Roster, titles: Sequence[str]) -> int:
    """The column of the assignment; Canvas writes its number behind the name."""
    fitting = [
        index
        for index, header in enumerate(roster.header)
        if any(header.strip().casefold().startswith(title.casefold()) for title in titles)
    ]
    if len(fitting) != 1:
        several = "more than one column" if fitting else "no column"
        what = f"{several} that begins with {' or '.join(repr(title) for title in titles)}"
        raise CourseError(roster.path, what, "Name it with --column, as far as it is unlike the others.")
    return fitting[0]


def _possible(roster: Roster, column: int) -> Callable[[Person], float | None]:
    """person → the most that the platform gives for the assignment; None where it does not say."""
    if roster.platform is Platform.MOODLE:
        index = next((i for i, name in enumerate(roster.header) if name.casefold() == "maximum grade"), None)
        return lambda person: _number(roster.rows[person.row], index)
    first = next((row for row in roster.rows if row and row[0].strip().casefold() == "points possible"), ())
    return lambda person: _number(first, column)


def _number(row: Sequence[str], index: int | None) -> float | None:
    try:
        return float(row[index].replace(",", ".")) or None if index is not None else None
    except (ValueError, IndexError):
        return None
