"""What tests of the tracer share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpulab import trace


@pytest.fixture
def only_the_tracer() -> Iterator[None]:
    """Kernels run in Python, however long they take."""
    trace.compile_launches(False)
    yield
    trace.compile_launches(True)
