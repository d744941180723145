"""The course of these tests has a gradebook."""

from __future__ import annotations

import pytest

from grader.model.course import Course


@pytest.fixture
def course(course_with_gradebook: Course) -> Course:
    return course_with_gradebook
