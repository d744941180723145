"""Whether tests with a real Prometheus can run: elsewhere they are skipped, in CI its absence is a failure."""

from __future__ import annotations

import os

import pytest
import visited_by_prometheus as scrape


def need_prometheus() -> None:
    """Skips the test where there is no Prometheus, or fails it where `GPULAB_PROMETHEUS` is `required`."""
    if scrape.installed():
        return
    told = "no prometheus on this machine: apt-get install prometheus"
    if os.environ.get("GPULAB_PROMETHEUS") == "required":
        pytest.fail(f"{told}. In CI these tests are not skipped.", pytrace=False)
    pytest.skip(told)
