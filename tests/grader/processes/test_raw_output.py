"""What a student's process prints past its notebook is read, however many descriptors the driver has open."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterator

import pytest

from grader.processes.raw_output import RawOutput

BEYOND_SELECT = 1_100
"""Descriptors: `select.select` takes none above 1,023."""


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """As many as a driver with many slots has."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], BEYOND_SELECT + 200), limits[1]))
    with contextlib.ExitStack() as stack:
        for _ in range(BEYOND_SELECT):
            stack.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.usefixtures("many_descriptors")
def test_output_is_read_from_a_descriptor_of_any_number() -> None:
    reading, writing = os.pipe()
    assert reading > BEYOND_SELECT
    output = RawOutput(reading, 1_000)
    os.write(writing, b"printed by C")
    assert output.take() == "printed by C"
    os.close(writing)
    output.close()
    with pytest.raises(OSError):
        os.fstat(reading)
