"""A sample of the random kernels; `differential.py` runs as many as wanted."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def differential() -> ModuleType:
    place = Path(__file__).with_name("differential.py")
    spec = importlib.util.spec_from_file_location("differential", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["differential"] = module
    spec.loader.exec_module(module)
    return module


def test_optimized_and_plain_code_agree_with_numpy(differential: ModuleType) -> None:
    assert not differential.check_expressions(0, 59)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_compute_the_same_however_they_are_compiled(differential: ModuleType, seed: int) -> None:
    assert not differential.check_program(seed)


def test_a_wrong_result_is_noticed(differential: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: here NumPy adds where the kernel subtracts."""
    drawn = differential.Expression("a - b", lambda inputs: inputs["a"] + inputs["b"], "unsigned")
    monkeypatch.setattr(differential.Drawer, "expression", lambda self, kind, depth: drawn)
    findings = differential.check_expressions(1, 2)
    assert len(findings) == 4
    assert "seed 1, optimized: a - b = " in findings[0]
