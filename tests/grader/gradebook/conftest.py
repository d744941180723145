"""A gradebook of a small course, for tests of what is recorded in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from recorded_class import small_course

from grader.gradebook import gradebook
from grader.model.course import Course


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """Made once for all."""
    folder = tmp_path_factory.mktemp("prepared")
    gradebook.prepare(*small_course(folder))
    return folder


@pytest.fixture
def course(prepared, tmp_path):
    """A course whose gradebook is ready for its chapter."""
    return Course(Path(shutil.copytree(prepared, tmp_path / "course")))
