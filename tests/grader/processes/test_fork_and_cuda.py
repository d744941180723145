"""CUDA does not survive a fork: no process that forks may initialize it. Tried with a driver that keeps a log."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from grader.processes import fork_server, preload

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
    from gpulab import chapters

    preloaded = [
        f"{chapters.__name__}.{path.parent.name}.preload" for path in Path(chapters.__path__[0]).glob("*/preload.py")
    ]
    assert preloaded
    preloaded += [module for group in preload.LARGE.values() for module in group]
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
