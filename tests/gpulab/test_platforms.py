"""On macOS and Windows the package imports, every chapter's imports work, and so do exercises that start no process.

The platform is faked: Linux-only modules, functions and constants are hidden from a process of its own after it has
imported what others wrote, which is installed for Linux here.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from grader.authoring.answers import load
from grader.model.course import Chapter, Course
from grader.model.notebooks import Role, cells_of, load_key, visible

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = [chapter for chapter in Course(ROOT).chapters() if chapter.release.is_file()]
LINUX_ONLY = {
    "darwin": {"modules": [], "os": ["sched_getaffinity", "pidfd_open", "memfd_create", "unshare"], "signal": []},
    "win32": {
        "modules": ["fcntl", "resource", "pwd", "grp", "termios", "pty", "tty"],
        "os": [
            *("sched_getaffinity", "pidfd_open", "memfd_create", "unshare", "fork", "forkpty", "sysconf", "getuid"),
            *("geteuid", "getgid", "setsid", "killpg", "getpgid", "uname", "WNOHANG", "mkfifo", "nice"),
        ],
        "signal": ["SIGKILL", "SIGALRM", "SIGCHLD", "SIGHUP", "SIGSTOP", "SIGUSR1", "SIGUSR2", "setitimer"],
    },
}
ELSEWHERE = """
import json, os, platform, signal, socket, sys
import IPython.core.interactiveshell, matplotlib.pyplot, numba.cuda, numpy, onnx, onnxruntime, pytorch_lightning
import sklearn.datasets, subprocess, multiprocessing, tempfile, torch, torch.profiler, torchvision
name, hidden = sys.argv[1], json.loads(sys.argv[2])

for module in (*hidden["modules"], "triton"):
    for loaded in [one for one in sys.modules if one.startswith(f"{module}.")]:
        del sys.modules[loaded]
    sys.modules[module] = None  # as if it were not installed
for owner in (os, signal):
    for attribute in hidden[owner.__name__]:
        if hasattr(owner, attribute):
            delattr(owner, attribute)
if name == "win32":
    del socket.AF_UNIX
sys.platform = name
"""


def run(platform: str, code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ELSEWHERE + code, platform, json.dumps(LINUX_ONLY[platform])]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def imports_of(chapter: Chapter) -> list[str]:
    """Import statements of a chapter that name ours, but for those of Triton, which is for Linux alone."""
    found: dict[str, None] = {}
    for cell in nbformat.read(chapter.release, as_version=4).cells:
        if cell.cell_type == "code" and not cell.source.startswith("%%"):
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gpulab"):
                    found[ast.unparse(node)] = None
    return list(found)


@pytest.mark.parametrize("platform", LINUX_ONLY)
def test_all_that_chapters_import_can_be_imported(platform: str) -> None:
    lines = ["import gpulab", *(line for chapter in CHAPTERS for line in imports_of(chapter))]
    assert len(lines) > 50
    lines += [f"gpulab.{name}" for name in ("launch", "speedup", "exporter", "virtual_gpu", "streams", "trace")]
    done = run(platform, "\n".join([*lines, "gpulab.this_machine()", "print('all imported')"]))
    assert done.returncode == 0, done.stderr[-1500:]
    assert "all imported" in done.stdout


@pytest.mark.parametrize("platform", LINUX_ONLY)
@pytest.mark.parametrize(
    ("number", "exercise"), [(0, "occupancy"), (1, "vec_add"), (1, "SAXPY_CU"), (4, "simulate_scaler")]
)
def test_an_exercise_works_that_starts_no_process(platform: str, number: int, exercise: str) -> None:
    """A right answer passes its visible test."""
    chapter = CHAPTERS[number]
    key = load_key(chapter)
    answer = next(
        one.source for one in load(ROOT / "answers" / chapter.name, key)
        if (one.exercise, one.kind.value) == (exercise, "right")
    )  # fmt: skip
    cells = list(cells_of(nbformat.read(chapter.release, as_version=4)))
    first = next(cell.source for cell in cells if cell.role is Role.CODE)
    test = next(visible(cell.source) for cell in cells if cell.role is Role.TEST and cell.grade_id.startswith(exercise))
    done = run(platform, "\n".join([first, answer, test, "print('passed')"]))
    assert done.returncode == 0, done.stderr[-1500:]
    assert "passed" in done.stdout


def test_on_windows_one_line_says_that_ranks_do_not_run() -> None:
    code = "from gpulab.ranks import processes\nfrom pathlib import Path\nprocesses.run_ranks(Path('x'), [], [], [], 1)"
    done = run("win32", code)
    assert "OSError: Several ranks need Linux or macOS. On Windows, open the course in WSL 2.\n" in done.stderr
