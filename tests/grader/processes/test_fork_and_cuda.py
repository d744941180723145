"""CUDA does not survive a fork: no process that forks may initialize it. Tried with a driver that keeps a log."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpulab.forkserver import client
from grader.processes import fork_server, preload

pytestmark = pytest.mark.long

DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(const char* name) {
    FILE* log = fopen(LOG, "a");
    if (log) { fprintf(log, "%d %s\n", getpid(), name); fclose(log); }
}
int cuInit(unsigned flags) { note("cuInit"); return 0; }
int cuDriverGetVersion(int* version) { *version = 13000; return 0; }
int cuDeviceGetCount(int* count) { note("cuDeviceGetCount"); *count = 1; return 0; }
static int anything(void) { note("another function"); return 100; }  /* CUDA_ERROR_NO_DEVICE */
int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long flags, void* status) {
    if (!strcmp(name, "cuInit")) *function = cuInit;
    else if (!strcmp(name, "cuDriverGetVersion")) *function = cuDriverGetVersion;
    else if (!strcmp(name, "cuDeviceGetCount")) *function = cuDeviceGetCount;
    else if (!strcmp(name, "cuGetProcAddress")) *function = cuGetProcAddress_v2;
    else *function = anything;
    return 0;
}
int cuGetProcAddress(const char* name, void** function, int version, unsigned long flags) {
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
"""
"""A library of NVIDIA's driver with one device, as far as the CUDA runtime asks for it."""
GRADED = """
import torch
from minikey import make_key

from grader.judging.session import grade
from grader.model.submission import from_answers
from grader.processes import client

answer = '''
def double(x):
    import torch

    assert not torch.cuda._is_in_bad_fork(), "CUDA was initialized before the fork"
    return 2 * x
'''
key = make_key()
parent = client.SubmissionServer({modules!r})
try:
    parent.import_more({preloaded!r})
    result = grade(from_answers(key, {{"double": answer}}), key, student="s", seed=1, parent=parent)
finally:
    parent.close()
(cell,) = (cell for cell in result.cells if cell.grade_id == "double_test")
print(cell.verdict.value, cell.message)
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with such a library in it."""
    folder = tmp_path_factory.mktemp("driver")
    (folder / "driver.c").write_text(DRIVER)
    log = f'-DLOG="{folder / "calls"}"'
    command = ["cc", "-shared", "-fPIC", log, "-o", "libcuda.so.1", "driver.c"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return folder


def graded(driver: Path, modules: tuple[str, ...], preloaded: Sequence[str] = ()) -> tuple[str, str]:
    """What becomes of an answer that looks for itself, graded where this driver is, and the driver's log.

    Args:
        driver: the folder with the driver's library.
        modules: imported by the fork server as it starts.
        preloaded: imported by it for a chapter.
    """
    log = driver / "calls"
    log.write_text("")
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(driver),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    code = GRADED.format(modules=modules, preloaded=list(preloaded))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), log.read_text()


def test_nothing_is_initialized_before_the_fork(driver: Path) -> None:
    """With all that the course imports for any chapter."""
    preloaded = [module for group in (*preload.LARGE.values(), *preload._groups().values()) for module in group]
    assert {"pytorch_lightning", "onnxruntime"} <= set(preloaded)
    verdict, calls = graded(driver, fork_server.MODULES, preloaded)
    assert verdict == "passed"
    assert "cuInit" not in calls


def test_the_log_would_show_it(driver: Path, tmp_path: Path) -> None:
    """A module that asks for a GPU as it is imported is found, by the log and by the answer."""
    asks = "asks_for_a_gpu"
    (tmp_path / f"{asks}.py").write_text("import torch\n\ntorch._C._cuda_getDeviceCount()\n")
    sys.path.insert(0, str(tmp_path))
    try:
        verdict, calls = graded(driver, (*fork_server.LIGHT_MODULES, "torch", asks))
    finally:
        sys.path.remove(str(tmp_path))
    assert "CUDA was initialized before the fork" in verdict
    assert "cuInit" in calls


SERVER = """
import sys
from pathlib import Path

from gpulab.forkserver import forking, importing, server

importing.DRIVER, forking.UNIFIED_MEMORY = Path({folder!r}), Path({folder!r}, "nvidia-uvm")


class Tells(server.ForkingServer):
    def become(self, ready, request, descriptors):
        found = sorted(set(sys.modules) & {{"meek", "opens_cuda", "uses_it", "wave"}})
        Path({folder!r}, "imported").write_text(" ".join(found))
        ready()
        return 0


Tells().serve(int(sys.argv[1]), {modules!r})
"""
"""A fork server on a machine with a driver, where CUDA opens a file of ours in place of its device."""


@pytest.fixture
def opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with modules: one initializes CUDA as it is imported, one imports that one, one does neither."""
    (tmp_path / "nvidia-uvm").touch()
    (tmp_path / "opens_cuda.py").write_text(f"device = open({str(tmp_path / 'nvidia-uvm')!r})\n")
    (tmp_path / "uses_it.py").write_text("import opens_cuda\n")
    (tmp_path / "meek.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), *sys.path)))
    return tmp_path


def imported(folder: Path, first: list[str], more: list[str]) -> list[str]:
    """Which of these modules a fork of such a server has imported.

    Args:
        folder: as `opening` made it.
        first: imported by the server as it starts.
        more: imported by it later.
    """
    started = client.ForkServer(["-c", SERVER.format(folder=str(folder), modules=first)], [], dict(os.environ))
    try:
        started.import_more(more)
        started.fork({"op": "tell"})
    finally:
        started.close()
    return (folder / "imported").read_text().split()


def test_what_would_initialize_cuda_is_left_to_the_forks(opening: Path) -> None:
    """By itself and through another module: every later grading of the class would die with the server's."""
    assert imported(opening, [], ["meek", "opens_cuda", "uses_it", "wave"]) == ["meek", "wave"]


def test_a_server_that_has_initialized_cuda_begins_again_without(opening: Path) -> None:
    assert imported(opening, ["meek", "uses_it", "wave"], []) == ["meek", "wave"]
