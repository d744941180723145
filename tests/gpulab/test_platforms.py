"""On macOS and Windows the package imports, every chapter's imports work, and so do exercises that start no process.

The platform is faked: Linux-only modules, functions and constants are hidden from a process of its own. It is forked by
one that has imported what others wrote, which is installed for Linux here, and nothing of ours.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
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
import json, os, platform, signal, socket, sys, traceback
import IPython.core.interactiveshell, matplotlib.pyplot, numba.cuda, numpy, onnx, onnxruntime, pytorch_lightning
import sklearn.datasets, subprocess, multiprocessing, tempfile, torch, torch.profiler, torchvision

def becomes(name, hidden):
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

for line in sys.stdin:
    name, hidden, code, output = json.loads(line)
    if not (child := os.fork()):
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT), 1)
        os.dup2(1, 2)
        try:
            becomes(name, hidden)
            exec(code, {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            failed = True
        else:
            failed = False
        sys.stdout.flush()
        os._exit(failed)  # at once: what others wrote ends threads that a fork does not have
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Done:
    """How a process ended, and what it said on both streams."""

    code: int
    said: str


Run = Callable[[str, str], Done]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Runs code as on a platform, in a process of its own."""
    output = tmp_path_factory.mktemp("elsewhere") / "output"
    command = [sys.executable, "-c", ELSEWHERE]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:

        def run(platform: str, code: str) -> Done:
            output.unlink(missing_ok=True)
            assert parent.stdin and parent.stdout
            print(json.dumps([platform, LINUX_ONLY[platform], code, str(output)]), file=parent.stdin, flush=True)
            return Done(int(parent.stdout.readline()), output.read_text())

        yield run


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
def test_all_that_chapters_import_can_be_imported(run: Run, platform: str) -> None:
    lines = ["import gpulab", *(line for chapter in CHAPTERS for line in imports_of(chapter))]
    assert len(lines) > 50
    lines += [f"gpulab.{name}" for name in ("launch", "speedup", "exporter", "virtual_gpu", "streams", "trace")]
    done = run(platform, "\n".join([*lines, "gpulab.this_machine()", "print('all imported')"]))
    assert done.code == 0, done.said[-1500:]
    assert "all imported" in done.said


@pytest.mark.parametrize("platform", LINUX_ONLY)
@pytest.mark.parametrize(
    ("number", "exercise"), [(0, "occupancy"), (1, "vec_add"), (1, "SAXPY_CU"), (4, "simulate_scaler")]
)
def test_an_exercise_works_that_starts_no_process(run: Run, platform: str, number: int, exercise: str) -> None:
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
    assert done.code == 0, done.said[-1500:]
    assert "passed" in done.said


def test_on_windows_one_line_says_that_ranks_do_not_run(run: Run) -> None:
    code = "from gpulab.ranks import processes\nfrom pathlib import Path\nprocesses.run_ranks(Path('x'), [], [], [], 1)"
    done = run("win32", code)
    assert "OSError: Several ranks need Linux or macOS. On Windows, open the course in WSL 2.\n" in done.said
