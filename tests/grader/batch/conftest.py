"""What tests of a class's run share."""

from __future__ import annotations

from pathlib import Path

import pytest
from paper_course import Room


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path)
    room.submit(anna="1", bela="2", carla="3")
    return room
