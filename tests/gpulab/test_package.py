"""`import gpulab`: what it costs and what it offers."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gpulab


def fresh(code: str) -> str:
    """What the code prints in an interpreter of its own."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_neither_torch_nor_matplotlib_nor_numpy() -> None:
    loaded = "import sys, gpulab; print(sorted({'torch', 'matplotlib', 'numpy', 'IPython'} & sys.modules.keys()))"
    assert fresh(loaded) == "[]\n"


def test_checking_plain_values_loads_nothing_either() -> None:
    code = "import sys; from gpulab import check; check.close([1.0], [1], 'x'); print('numpy' in sys.modules)"
    assert fresh(code) == "False\n"


def test_names_are_the_callables_whatever_was_imported_before() -> None:
    """No module bears the name of a function, so that importing one never hides the other."""
    code = (
        "import gpulab.measuring.devices, gpulab.check.predictions, gpulab.figures.plot, gpulab.measuring.machine\n"
        "from gpulab import check, device, measure, needs_gpu, plot, predict, race, seed, table, timing\n"
        "print(callable(device), callable(predict), callable(seed), callable(table), callable(measure), plot.__name__)"
    )
    assert fresh(code) == "True True True True True gpulab.figures.plot\n"


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'plott'"):
        gpulab.plott  # noqa: B018 - the access is the test
    assert set(gpulab.__all__) == set(dir(gpulab))
