"""A course with a gradebook, for tests of what is recorded in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from recorded_class import small_course

from grader.gradebook import gradebook
from grader.model.course import Course


@pytest.fixture(scope="session")
def prepared_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once for all."""
    folder = tmp_path_factory.mktemp("prepared")
    gradebook.prepare(*small_course(folder))
    return folder


@pytest.fixture
def course_with_gradebook(prepared_course: Path, tmp_path: Path) -> Course:
    """A course whose gradebook is ready for its chapter."""
    return Course(shutil.copytree(prepared_course, tmp_path / "course"))
