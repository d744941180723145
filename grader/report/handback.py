"""Gives feedback back: through nbgrader's exchange, or into a folder that students can read."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path

from grader.model import notebook_io
from grader.model.course import Chapter, Course, CourseError
from grader.report.feedback import EXCHANGE_NOTES
from grader.report.page import STUDENT_REPORT


def into_folder(course: Course, chapter: Chapter, student: str, target: Path) -> list[Path]:
    """Copies a student's pages to `<target>/<student>/<chapter>/`, where others can read them too, and gives the paths.

    Raises:
        CourseError: the folder cannot be written.
    """
    source = course.feedback / student / chapter.name
    copied = []
    for name in (f"{chapter.name}.html", STUDENT_REPORT):
        with suppress(FileNotFoundError):
            data = (source / name).read_bytes()
            copied.append(target / student / chapter.name / name)
            notebook_io.write(copied[-1], data)
    return copied


def into_exchange(course: Course, chapter: Chapter, student: str, root: Path) -> bool:
    """Releases a student's feedback page as `nbgrader release_feedback` does; whether there was one to release.

    Only what came through the exchange has the note by which the student's server finds the page.

    Raises:
        CourseError: nbgrader cannot release it.
    """
    folder = course.feedback / student / chapter.name
    if not all((folder / name).is_file() for name in EXCHANGE_NOTES):
        return False
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.exchange import ExchangeError
    from nbgrader.exchange.default.release_feedback import ExchangeReleaseFeedback
    from traitlets.config import Config

    from grader.gradebook.gradebook import COURSE_ID

    config = Config()
    config.Exchange.root = str(root)
    places = CourseDirectory(
        root=str(course.root),
        course_id=COURSE_ID,
        feedback_directory=str(course.feedback.relative_to(course.root)),
        assignment_id=chapter.name,
        student_id=student,
    )
    quiet = logging.getLogger("grader.exchange")
    quiet.setLevel(logging.CRITICAL)
    try:
        ExchangeReleaseFeedback(coursedir=places, config=config, log=quiet).start()
    except (ExchangeError, OSError) as error:
        raise CourseError(root, f"takes no feedback for {student} ({error})", "Make it writable for you.") from None
    return True
