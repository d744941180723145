"""Opens nbgrader's database, and says in one line what is wrong when it cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbgrader
from alembic.script import ScriptDirectory
from nbgrader.api import Base, BaseCell, Gradebook, InvalidEntry
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DatabaseError
from tornado.log import app_log

from grader.model.course import Course, CourseError
from grader.processes.interrupt import unbroken

COURSE_ID = "gpulab"
"""As in nbgrader_config.py."""

REMEDIES = {
    "locked": "Close what else is writing to it (formgrader, another grader), then run the same command again.",
    "readonly": "Make the file and its folder writable, then run the same command again.",
    "unable to open": "Make the file and its folder readable and writable, then run the same command again.",
    "full": "Free some space, then run the same command again.",
    "no such": 'It was made by another version of nbgrader: copy it to a safe place, then run "nbgrader db upgrade".',
}
"""What to do, by words in SQLite's message."""


def open_gradebook(course: Course) -> Gradebook:
    """nbgrader's gradebook, as a context manager; opening one that is not there would make it."""
    return ClosingGradebook(database_url(course.gradebook), COURSE_ID)


class ClosingGradebook(Gradebook):
    """nbgrader's gradebook, which closes its connection also when it cannot be opened (locked, or no database)."""

    def __init__(self, url: str, course: str) -> None:
        try:
            super().__init__(url, course)
        except BaseException:
            if "db" in vars(self):
                self.close()
            raise

    def close(self) -> None:
        """Closes the connection. An interrupt waits meanwhile: SQLAlchemy would log it as a failure."""
        with unbroken():
            super().close()


def make_schema(path: Path) -> None:
    """nbgrader's tables in a new file, with the schema's version beside them.

    nbgrader would ask the program `alembic` for that version: seconds of imports in a process of its own, and not found
    where a virtual environment was not activated.
    """
    head = ScriptDirectory(str(Path(nbgrader.__file__).parent / "alembic")).get_current_head()
    engine = create_engine(database_url(path))
    try:
        with engine.begin() as connection:
            Base.metadata.create_all(connection)
            connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
            connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": head})
    finally:
        engine.dispose()


def database_url(path: Path) -> str:
    """The path as nbgrader wants it."""
    return f"sqlite:///{path}"


@contextmanager
def database_errors(course: Course) -> Iterator[None]:
    """Turns a database's complaints into a line that says what to do."""
    app_log.disabled = True  # nbgrader logs a traceback there and raises InvalidEntry, which says the same
    try:
        yield
    except (DatabaseError, InvalidEntry) as error:
        reason = str(error.orig) if isinstance(error, DatabaseError) else str(error)
        default = "Move it to a safe place and grade the class again."
        remedy = next((remedy for words, remedy in REMEDIES.items() if words in reason), default)
        raise CourseError(course.gradebook, f"cannot be used ({reason})", remedy) from None
    finally:
        app_log.disabled = False


@contextmanager
def reading(course: Course) -> Iterator[Gradebook]:
    """The gradebook, to read what is recorded of a class; of the cells it is asked only once.

    Raises:
        CourseError: it cannot be used.
    """
    with database_errors(course), open_gradebook(course) as book:
        cells = book.db.query(BaseCell).all()  # as long as somebody holds them, they are not fetched again
        yield book
        del cells
