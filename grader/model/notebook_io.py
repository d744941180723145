"""The one way in which the harness writes notebooks: the same notebook always gives the same bytes.

Reading its own notebooks back is `notebooks.read_own`; untrusted ones are `submission`'s business.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.model.course import CourseError

KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}

LANGUAGE_INFO = {
    # What a kernel reports, less the Python version, which would differ from one machine to the next.
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
}


def to_text(notebook: NotebookNode) -> str:
    """The notebook as JSON: sorted keys, indented by one, one trailing newline.

    Raises:
        nbformat.ValidationError: it is not a valid notebook of format 4.5.
    """
    nbformat.validate(notebook, version=4, version_minor=5)
    text: str = nbformat.v4.writes(notebook, split_lines=True)
    return text.rstrip("\n") + "\n"


def write(path: Path, data: bytes) -> bool:
    """Puts `data` at `path`, whole or not at all; gives whether that changed anything.

    Raises:
        CourseError: the folder cannot be written or the disk is full; what was there is still there.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        if path.is_file() and path.read_bytes() == data:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
        reason = error.strerror or type(error).__name__
        raise CourseError(path, f"cannot be written ({reason})", "Make room, or make the folder writable.") from None
    return True


def stable_ids(cells: Sequence[NotebookNode]) -> list[str]:
    """An id for each cell that two builds agree on: its grade id, else a short hash of its type and source.

    Equal cells are told apart by a counter, so that moving one of them moves its id along with the text around it.
    """
    taken: set[str] = set()
    names = []
    for cell in cells:
        text = f"{cell.cell_type}\n{cell.source}"
        wanted = cell.metadata.get("nbgrader", {}).get("grade_id") or hashlib.sha256(text.encode()).hexdigest()[:8]
        name, copies = wanted, 1
        while name in taken:
            copies += 1
            name = f"{wanted}-{copies}"
        taken.add(name)
        names.append(name)
    return names
