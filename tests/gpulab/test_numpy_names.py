"""Kernels compile with a NumPy that has dropped what numba-cuda uses."""

from __future__ import annotations

import subprocess
import sys

import pytest

COMPILE = """
import numpy
vars(numpy).pop("row_stack")  # like numpy 2.5
{first}
from numba import cuda, types
def double(x):
    x[cuda.grid(1)] *= 2
print(cuda.compile_ptx(double, (types.float32[::1],), cc=(8, 0))[0].count(".entry"))
"""


def compiled(first: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", COMPILE.format(first=first)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("module", ["gpulab.trace", "grader.dev.prove.kernels", "grader.dev.prove.claimed_numbers"])
def test_a_kernel_compiles_with_a_newer_numpy(module: str) -> None:
    done = compiled(f"import {module}")
    assert done.stdout == "1\n", done.stderr[-500:]


def test_the_name_is_still_needed() -> None:
    """Once this fails, numba-cuda does without: `gpulab.numpy_names` can go, and so can the bound on numpy."""
    done = compiled("")
    assert "no attribute 'row_stack'" in done.stderr
