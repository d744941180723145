"""The shell of a notebook's kernel is found; elsewhere there is none, and IPython is not imported for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

ELSEWHERE = """
import sys
from gpulab import ipython
assert ipython.shell() is None and 'IPython' not in sys.modules
"""
IN_A_KERNEL = """
from IPython.core.interactiveshell import InteractiveShell
from gpulab import ipython
shell = InteractiveShell.instance()
assert ipython.shell() is shell
"""


@pytest.mark.parametrize("program", [ELSEWHERE, IN_A_KERNEL], ids=["elsewhere", "in a kernel"])
def test_the_shell_is_the_running_one(program: str) -> None:
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
