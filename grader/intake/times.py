"""When a submission came, when it was due, and by how much it is late. Pure functions."""

from __future__ import annotations

from datetime import UTC, datetime

from grader.model.course import CourseError


def moment_of(seconds: float) -> datetime | None:
    """The time of a file, UTC; None where it is none that people use: owners of files set it as they like."""
    try:
        moment = datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if 1970 <= moment.year < 9_000 else None


def is_late(time: datetime | None, due: datetime | None) -> bool | None:
    """Whether it came after it was due; None where one of them is not known."""
    return time > due if time is not None and due is not None else None


def after(time: datetime | None, due: datetime | None) -> str:
    """By how much, in words: ` by 2 days 3 h`; empty where that is not known."""
    if time is None or due is None or time <= due:
        return ""
    minutes = int((time - due).total_seconds() // 60)
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f" by {days} day{'s' * (days > 1)} {hours} h"
    return f" by {hours} h {minutes % 60} min" if hours else f" by {max(minutes, 1)} min"


def when_due(text: str) -> datetime:
    """The moment that is meant by `2026-11-20`, `2026-11-20 18:00` or `2026-11-20T18:00+01:00`; a day ends at its end.

    Raises:
        CourseError: it is none.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise CourseError(
            "--due", f"{text!r} is no time", 'Write "2026-11-20 18:00", or with a zone behind it.'
        ) from None
    if len(text.strip()) <= 10:
        moment = moment.replace(hour=23, minute=59, second=59)
    return moment.astimezone(UTC)
