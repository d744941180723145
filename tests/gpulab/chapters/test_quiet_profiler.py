"""Chapters that profile: PyTorch's recorder writes nothing of its own below their cells."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOLUTIONS = Path(__file__).resolve().parents[3] / "solutions"
PROFILING = [path for path in sorted(SOLUTIONS.glob("[0-9]*.md")) if "profile(" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", PROFILING, ids=lambda path: path.stem)
def test_the_chapters_package_silences_the_recorder(path: Path) -> None:
    """Otherwise the first profile ends with lines such as "gpuGetDeviceCount failed with code 35", in red."""
    packages = set(re.findall(r"^from (gpulab\.chapters\.\w+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    script = f"import os, {', '.join(sorted(packages))}\nprint(os.environ.get('KINETO_LOG_LEVEL'))"
    clean = {name: value for name, value in os.environ.items() if name != "KINETO_LOG_LEVEL"}
    done = subprocess.run([sys.executable, "-c", script], env=clean, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "9", done.stderr


def test_there_are_chapters_that_profile() -> None:
    assert len(PROFILING) >= 4
