"""The exercise that CONTRIBUTING.md adds, added as it says there, to a chapter that has nothing else."""

from __future__ import annotations

import re
import shutil
import textwrap
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from courses import FRONT_MATTER

from grader.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
CHAPTER = "01_gpu_architecture"
HEAD = f"{FRONT_MATTER}# A chapter\n\n"


def example(language: str, fence: str) -> str:
    """The first block of this language in the page, without its indentation."""
    (block, *_) = re.findall(rf"^( *){fence}{language}\n(.*?)^ *{fence}$", PAGE, re.MULTILINE | re.DOTALL)
    return textwrap.dedent(block[1])


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course with the page's exercise and its answers, as the working directory."""
    for folder in ("solutions", "notebooks", f"answers/{CHAPTER}"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    (tmp_path / "solutions" / f"{CHAPTER}.md").write_text(HEAD + example("markdown", "````"))
    (tmp_path / "answers" / CHAPTER / "bytes_in_flight.py").write_text(example("python", "```"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def grader(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_the_example_passes_the_gate(course: Path) -> None:
    """The page's steps 2 to 5 work as they are written, with one build, in less than five minutes."""
    started = time.monotonic()
    commands = re.findall(r"^\d\. .*?`grader ((?:build|release|verify) 01[^`]*)`", PAGE, re.MULTILINE)
    assert commands == ["build 01", "release 01", "verify 01 bytes_in_flight"]
    for command in commands:
        done = grader(*command.split())
        assert done.exit_code == 0, f"{command}: {done.output}"
    assert "4 answers checked" in done.output
    assert time.monotonic() - started < 300
    release = (course / "notebooks" / CHAPTER / f"{CHAPTER}.ipynb").read_text()
    assert "bytes_in_flight(500, 1000)" in release
    assert "return latency_ns * bandwidth_gbs" not in release


def test_a_test_that_cannot_fail_is_found_out(course: Path) -> None:
    """The page promises that step 5 notices it."""
    source = course / "solutions" / f"{CHAPTER}.md"
    blunt = source.read_text().replace(" 500_000,", " answer,")
    source.write_text(blunt.replace("latency * bandwidth,", "bytes_in_flight(latency, bandwidth),"))
    assert grader("build", "01").exit_code == 0
    assert grader("release", "01").exit_code == 0
    done = grader("verify", "01")
    assert done.exit_code == 1
    assert "bytes_in_flight, wrong: bits for bytes: earned 2, must earn 0" in done.output
