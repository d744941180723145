"""What tests of the doctor share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpulab.doctor import hardware, onnx_runtimes


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """What the driver and the runtimes said is remembered between calls, but not between tests."""
    remembered = hardware.gpus, onnx_runtimes.trouble  # some tests replace them
    for one in remembered:
        one.cache_clear()
    yield
    for one in remembered:
        one.cache_clear()
