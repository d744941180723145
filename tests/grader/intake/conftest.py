"""Downloads as a learning platform packs them, for tests of what is taken from them."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from downloads import OTHER
from recorded_class import small_course

from grader.model.course import Course


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course with one released chapter, and a second one whose cells have other names."""
    made, chapter = small_course(tmp_path / "course")
    other = copy.deepcopy(json.loads(chapter.release.read_text()))
    for cell in other["cells"]:
        if "nbgrader" in cell["metadata"]:
            cell["metadata"]["nbgrader"]["grade_id"] += "_2"
    second = made.root / "notebooks" / OTHER / f"{OTHER}.ipynb"
    second.parent.mkdir(parents=True)
    second.write_text(json.dumps(other))
    (made.root / "solutions" / f"{OTHER}.md").write_text("# other\n")
    return made
