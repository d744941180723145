"""The command `grader` as a person meets it: help, near misses, exit codes, interrupts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from courses import LIGHT
from recorded_class import NAME, ROOT, small_course
from test_sample import course_with_bank

from grader import __version__
from grader.cli.main import main
from grader.model.course import Course
from grader.model.records import load_results

COMMANDS = ("autograde", "bench", "build", "bundle", "collect", "doctor", "release", "report", "sample", "verify")


def grader(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "grader", *arguments],
        cwd=folder,
        env={**os.environ, **LIGHT, "PYTHONPATH": str(ROOT), "COLUMNS": "140", **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


def words_of(text: str) -> str:
    """The text with all white space made one blank: help is wrapped."""
    return " ".join(text.split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example(name: str) -> None:
    shown = CliRunner().invoke(main, [name, "--help"])
    assert shown.exit_code == 0
    assert re.search(rf"Examples?:\n +grader {name}", shown.output)


def test_help_lists_every_command() -> None:
    shown = CliRunner().invoke(main, ["--help"])
    assert [name for name in COMMANDS if f"\n  {name} " not in shown.output] == []
    assert CliRunner().invoke(main, ["--version"]).output == f"grader, version {__version__}\n"


def test_help_comes_at_once() -> None:
    """Nothing heavy is imported before a command needs it."""
    code = "import sys, grader.cli.main; print(*sys.modules)"
    loaded = set(subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout.split())
    assert "click" in loaded
    assert (
        loaded & {"torch", "numpy", "nbformat", "nbgrader", "matplotlib", "IPython", "rich.console", "jinja2"} == set()
    )


def test_a_mistyped_command_is_guessed() -> None:
    shown = CliRunner().invoke(main, ["autogrde"])
    assert shown.exit_code == 2
    assert "Did you mean 'autograde'?" in shown.output


def test_a_mistyped_chapter_is_guessed(tmp_path: Path) -> None:
    small_course(tmp_path)
    ended = grader(tmp_path, "autograde", "01_smell")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"01_smell: no such chapter. Did you mean {NAME}?\n"


def test_text_is_printed_as_it_is() -> None:
    """A place in a file is no emoji (":100:" is one to rich), and brackets are no markup."""
    line = "answers/matmul.py:100: [red]wrong[/red]"
    prints = f"say({line!r}); complain({line!r}); out().print('x:100:')"
    code = f"from grader.cli.console import complain, out, say; {prints}"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert (said.stdout, said.stderr) == (f"{line}\nx:100:\n", f"{line}\n")


def test_a_command_ends_at_once(tmp_path: Path) -> None:
    """Python would look for garbage in all that was imported; half a second after a class has been graded."""
    code = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 0)); import grader.__main__"
    ended = subprocess.run([sys.executable, "-c", code, "report", NAME], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "True\n")


def test_outside_a_course_one_line_says_where_to_go(tmp_path: Path) -> None:
    ended = grader(tmp_path, "report", NAME)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "no course here or above. Change into the folder that holds nbgrader_config.py." in ended.stderr


def test_without_submissions_one_line_says_how_to_get_some(tmp_path: Path) -> None:
    small_course(tmp_path)
    ended = grader(tmp_path, "autograde", NAME)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert f'grader sample {NAME}"' in ended.stderr


def test_a_chapter_that_is_not_released_names_the_next_command(tmp_path: Path) -> None:
    _, chapter = course_with_bank(tmp_path)
    chapter.release.unlink()
    ended = grader(tmp_path, "sample", NAME)
    assert ended.returncode == 2
    assert f'not there. Run "grader release {NAME}".' in ended.stderr


def test_a_report_without_results_names_the_next_command(tmp_path: Path) -> None:
    small_course(tmp_path)
    ended = grader(tmp_path, "report", NAME)
    assert ended.returncode == 2
    assert f'no results yet. Run "grader autograde {NAME}" first.' in ended.stderr


def test_doctor_ends_well_without_a_gpu(tmp_path: Path) -> None:
    small_course(tmp_path)
    ended = grader(tmp_path, "doctor", CUDA_VISIBLE_DEVICES="")
    assert ended.returncode == 0, ended.stdout
    assert "stay pending" in words_of(ended.stdout)
    assert grader(tmp_path.parent, "doctor").returncode == 1  # no course there


def _processes_with(marker: str) -> list[int]:
    """Processes that have the marker in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if marker.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_an_interrupted_class_is_kept_and_resumed(tmp_path: Path) -> None:
    """Ctrl-C says what is kept and how to go on, leaves no process behind, and the next run does only the rest."""
    course, chapter = small_course(tmp_path)

    def submit(student: str, answer: str) -> None:
        notebook = json.loads(chapter.release.read_text())
        next(cell for cell in notebook["cells"] if cell["id"] == "double")["source"] = f"def double(x):\n    {answer}"
        path = course.submitted / student / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(notebook))

    submit("anna", "return 2 * x")
    submit("bela", "while True: pass")
    marker = f"marker-{os.getpid()}-{time.monotonic_ns()}"
    variables = {**os.environ, **LIGHT, "PYTHONPATH": str(ROOT), "LD_LIBRARY_PATH": f"/{marker}"}
    command = [sys.executable, "-m", "grader", "autograde", NAME, "--no-pages"]
    with subprocess.Popen(command, cwd=tmp_path, env=variables, stderr=subprocess.PIPE, text=True) as running:
        deadline = time.monotonic() + 60
        while not (course.results / NAME / ".recorded" / "anna").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=8)  # less than the call that hangs may take
    assert running.returncode == 130
    assert "Interrupted. 1 graded submission is kept" in words_of(said)
    assert f'run "grader autograde {NAME} --no-pages" again' in words_of(said)
    assert "Traceback" not in said
    assert _processes_with(marker) == []
    (before,) = load_results(Course(tmp_path), NAME)
    submit("bela", "return 3 * x")  # quicker to grade
    ended = grader(tmp_path, "autograde", NAME, "--no-pages")
    assert ended.returncode == 0, ended.stderr
    after = {result.student: result for result in load_results(Course(tmp_path), NAME)}
    assert after["anna"] == before
    assert after["bela"].seed == before.seed
