"""nbval over a small course's notebooks, in a pytest of its own: what the plugin adds is seen in how the run ends."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from courses import NAME, ROOT, built_course
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output

from grader.authoring.execution import gpu_name
from grader.authoring.nbval_plugin import near
from grader.model.course import Course

pytestmark = pytest.mark.long

NO_GPU = pytest.mark.skipif(gpu_name() is not None, reason="says what happens without a GPU")


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A built course, with the settings that the repository runs its own notebooks with."""
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    return built_course(tmp_path)


def change(course: Course, spoil: Callable[[NotebookNode], None]) -> None:
    path = course.chapter(NAME).solution
    notebook = nbformat.read(path, as_version=4)
    spoil(notebook)
    nbformat.write(notebook, path)


def nbval(course: Course, *options: str) -> tuple[int, str]:
    """Exit status and output of the README's command."""
    return run_pytest(course.root, "--nbval-lax", "solutions", *options)


def run_pytest(folder: Path, *options: str) -> tuple[int, str]:
    """Exit status and output of pytest in a process of its own, with the plugin loaded as if installed."""
    search = [str(ROOT), *sys.path]
    points = [point for found in importlib.metadata.distributions(path=search) for point in found.entry_points]
    installed = any(point.group == "pytest11" and point.value == "grader.authoring.nbval_plugin" for point in points)
    load = [] if installed else ["-p", "grader.authoring.nbval_plugin"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *load, *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment |= {"PYTHONPATH": str(ROOT), "COLUMNS": "160"}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return run.returncode, run.stdout + run.stderr


def position(notebook: NotebookNode, grade_id: str) -> int:
    return [cell.id for cell in notebook.cells].index(grade_id)


@NO_GPU
def test_a_built_notebook_passes_and_says_what_a_gpu_would_try(course: Course) -> None:
    status, said = nbval(course)
    assert status == 0, said
    assert "6 passed, 1 skipped" in said
    assert f"1 not run, no CUDA device here: {NAME}, double_gpu" in said


def test_a_gpu_runs_what_was_built_without_one(course: Course) -> None:
    """Such a cell is stored unexecuted, and that is no fault of it."""
    seen = "import grader.authoring.execution\n\ngrader.authoring.execution.gpu_name = lambda: 'NVIDIA Imaginary'\n"
    (course.root / "conftest.py").write_text(seen)

    def spoil(notebook: NotebookNode) -> None:
        notebook.cells[position(notebook, "double_gpu")].source = "assert double(4) == 8"

    change(course, spoil)
    status, said = nbval(course)
    assert status == 0, said
    assert "7 passed" in said


def test_what_nbval_passes_over(course: Course) -> None:
    """A cell never run; numbers off by more than allowed; a picture gone. Numbers within the tolerance pass."""

    def cell(name: str, source: str, output: NotebookNode, **metadata: object) -> NotebookNode:
        metadata = {"tags": ["nbval-check-output"], **metadata}
        return new_code_cell(source, id=name, outputs=[output], execution_count=1, metadata=metadata)

    def spoil(notebook: NotebookNode) -> None:
        notebook.cells[position(notebook, "double")].execution_count = None
        picture = new_output("display_data", {"text/plain": "<Figure>", "image/png": "aGVsbG8="})
        drawn = "from IPython.display import display\n\ndisplay({'text/plain': '<Figure>'}, raw=True)"
        notebook.cells += [
            cell("near", "print('ratio 2.0000001.')", new_output("stream", text="ratio 2.0.\n"), nbval_rtol=1e-6),
            cell("far", "print('ratio 2.001.')", new_output("stream", text="ratio 2.0.\n"), nbval_rtol=1e-6),
            cell("exact", "2.0000001", new_output("execute_result", {"text/plain": "2.0"}, execution_count=1)),
            cell("picture", drawn, picture),
        ]

    change(course, spoil)
    status, said = nbval(course)
    assert status == 1, said
    failed = sorted(int(number) for number in re.findall(r"FAILED .*::Cell (\d+)", said))
    assert failed == [1, 8, 9, 10], said  # cells are counted without the prose
    assert f'double was never executed: run "grader build {NAME}"' in said
    assert "0 pictures, 1 in the notebook" in said


def test_a_dead_kernel_fails_at_once(course: Course) -> None:
    """Not after the cell's time limit; the cells after it fail too."""

    def spoil(notebook: NotebookNode) -> None:
        notebook.cells[position(notebook, "double")].source = "import os\nos._exit(1)"

    change(course, spoil)
    started = time.monotonic()
    status, said = nbval(course)
    assert time.monotonic() - started < 40
    assert status == 1, said
    assert "the kernel died while this cell ran" in said
    assert "1 passed" in said


def test_kernels_that_begin_at_once_cannot_be_given_the_same_port(course: Course) -> None:
    """They get none: what one worker finds free, another one may take before the kernel does."""

    def spoil(notebook: NotebookNode) -> None:
        says = "\nimport ipykernel, json\nassert json.loads(ipykernel.get_connection_info())['transport'] == 'ipc'"
        notebook.cells[position(notebook, "double")].source += says

    change(course, spoil)
    status, said = nbval(course)
    assert status == 0, said
    assert "6 passed" in said


@NO_GPU
def test_a_notebook_stays_on_one_worker(course: Course) -> None:
    """Its cells share a kernel, which cells on another worker would not have."""
    pytest.importorskip("xdist")
    status, said = nbval(course, "-n", "2")
    assert status == 0, said
    assert "6 passed, 1 skipped" in said
    assert "1 not run, no CUDA device here" in said


def test_it_sleeps_when_nbval_does(tmp_path: Path) -> None:
    """An ordinary test run over the same folder collects no notebook and says nothing of GPUs."""
    course = built_course(tmp_path)
    (course.root / "solutions" / "test_one.py").write_text("def test_one(): pass\n")
    status, said = run_pytest(course.root, "solutions")
    assert status == 0, said
    assert "1 passed" in said and "GPU" not in said


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("2.0 GB/s", "2.001 GB/s", True),
        ("2.0 GB/s", "2.01 GB/s", False),
        ("2.0 GB/s", "2.0 MB/s", False),
        ("2.0, 3.0", "2.0", False),
        ("-1e-3.", "-1.0005e-3.", True),
        ("1-2", "1-2.001", True),
        ("0.84ms", "0.8401ms", True),
        ("v1.2.3", "v1.2.4", False),
        ("", "", False),
    ],
)
def test_near_compares_numbers_and_nothing_else(one: str, other: str, equal: bool) -> None:
    assert near(one, other, 1e-3) is equal
