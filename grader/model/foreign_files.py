"""Reads files that their owners may change meanwhile: no link is followed, and no pipe is waited for.

Between the look at a submission and its turn to be graded lie minutes. A link that takes the place of the notebook, or
of a folder above it, would lead to the solution or to another student's notebook.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

PASSING = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""A folder that is gone through: it need not be readable."""
READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Without O_NONBLOCK, a pipe that nobody writes to would hold up everybody."""


def read_foreign(path: Path, most: int) -> bytes:
    """What is in an ordinary file, or its first `most` bytes and one more if it is larger.

    Raises:
        OSError: it cannot be read, is no ordinary file, or there is a link in its path.
    """
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - `resolve` would follow the links
    here = os.open(absolute.anchor, PASSING)
    try:
        for folder in absolute.parts[1:-1]:
            below = os.open(folder, PASSING, dir_fd=here)
            os.close(here)
            here = below
        descriptor = os.open(absolute.name, READING, dir_fd=here)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise OSError(error.errno, "there is a link in its path", str(path)) from None
        raise
    finally:
        os.close(here)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not an ordinary file", str(path))
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most + 1)
