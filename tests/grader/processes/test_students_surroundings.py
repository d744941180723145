"""What libraries find around them in a student's process: a place to keep kernels, CUDA's toolkit, and no MPI."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from minikey import make_key

from grader.judging.session import grade
from grader.model.submission import from_answers
from grader.processes import client, fork_server
from grader.sandbox import Tier

pytestmark = pytest.mark.long

COMPILES = """
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))


source = ASTSource(copy, {"x": "*fp32", "out": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 64})
made = triton.compile(source, target=GPUTarget("cuda", 90, 32))
print(len(made.asm["cubin"]) > 0, triton.knobs.cache.dir.startswith(__import__("os").environ["HOME"]))
"""
TOOLKIT = 'import os\nprint(os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"))\n'


def printed(source: str, tier: Tier, *modules: str) -> str:
    """What a student's cell prints first, or raises, in a process of a fork server that has imported these modules."""
    parent = client.SubmissionServer((*fork_server.LIGHT_MODULES, *modules), tier)
    try:
        submission = from_answers(make_key(), {"double": source})
        result = grade(submission, make_key(), student="s", seed=1, only=frozenset(), parent=parent)
    finally:
        parent.close()
    first = result.outputs["double"][0]  # warnings may follow
    return str(first.get("text") or first["evalue"]).strip()


@pytest.mark.parametrize("tier", [Tier.FILES, Tier.NAMESPACES])
def test_triton_keeps_compiled_kernels_in_the_students_own_home(
    tier: Tier, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Imported before the fork, it remembers the grader's home, which is not there or not writable after it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert printed(COMPILES, tier, "triton") == "True True"
    assert not list(tmp_path.glob(".triton*"))


def test_the_toolkit_is_found_where_the_machine_says_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", "/usr/local/cuda")
    monkeypatch.setenv("CUDA_PATH", "/usr/local/cuda-13.0")
    assert printed(TOOLKIT, Tier.NAMESPACES) == "/usr/local/cuda /usr/local/cuda-13.0"


ASKS_FOR_MPI = """
from lightning_fabric.plugins.environments.mpi import MPIEnvironment

print(MPIEnvironment.detect())
"""


@pytest.mark.parametrize("tier", [Tier.FILES, Tier.NAMESPACES])
def test_lightning_finds_no_mpi(tier: Tier, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Open MPI 4 ends a process in whose sandbox it finds neither its programs nor a network: 0 for right answers."""
    package = tmp_path / "mpi4py"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "MPI.py").write_text("import os\n\nos._exit(1)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    assert printed(ASKS_FOR_MPI, tier, "pytorch_lightning") == "False"
