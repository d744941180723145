"""environment.yml, taken at its word: its pip section goes into a fresh environment, and the course works there.

There are wheels of all that it names for every Python that the course supports: nobody needs a compiler.

uv does what conda would have pip do, and what `make` has downloaded is not downloaded again. What conda itself would
bring, Python and pip, is this machine's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import index
import pytest
import uv
import yaml

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "environment.yml"
WANTED: dict[str, Any] = yaml.safe_load(FILE.read_text())
PIP: list[str] = WANTED["dependencies"][-1]["pip"]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOW, HIGH = map(int, re.findall(r"3\.(\d+)", PROJECT["requires-python"]))

pytestmark = pytest.mark.long


def run(command: list[str], folder: Path, variables: Mapping[str, str], seconds: float = 300) -> str:
    """What the command prints; it must succeed."""
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def interpreter() -> str:
    """The Python that the file names, if this machine has one; else the one that runs the tests."""
    (version,) = (line.removeprefix("python=") for line in WANTED["dependencies"] if str(line).startswith("python="))
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [*os.environ["PATH"].split(os.pathsep), *(str(one) for one in versions.glob(f"{version}.*/bin"))]
    for python in filter(None, (shutil.which(f"python{version}", path=place) for place in places)):
        # pyenv has a stand-in on PATH for each version that it could run, if only it were told to.
        if subprocess.run([python, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
            return python
    return sys.executable


@dataclass(frozen=True)
class Made:
    """A copy of the course, with an environment of its own."""

    course: Path
    home: Path

    def __call__(self, *command: str) -> str:
        program, *arguments = command
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))}
        path = f"{self.home / 'bin'}{os.pathsep}{os.environ['PATH']}"
        variables = inherited | {"PATH": path, "COLUMNS": "200"}
        return run([str(self.home / "bin" / program), *arguments], self.course, variables)


@pytest.fixture(scope="module", autouse=True)
def found_wheels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Future[str]]]:
    """For each Python what uv finds, looked up beside all other tests: it is the network that takes the time."""
    folder = tmp_path_factory.mktemp("wheels")
    needs = folder / "needs.txt"
    needs.write_text("\n".join(line for line in PIP if not line.startswith("--")))
    command = [uv.find_uv_bin(), "pip", "compile", "--quiet", "--only-binary", ":all:", "--no-deps", str(needs)]
    variables = os.environ | index.settings(folder)

    def found(minor: int) -> str:
        platform = ["--python-version", f"3.{minor}", "--python-platform", "x86_64-manylinux_2_28"]
        return run([*command, *platform], folder, variables)

    with ThreadPoolExecutor() as pool:
        yield [pool.submit(found, minor) for minor in range(LOW, HIGH)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """The steps at the top of the file, with uv in conda's and pip's place."""
    folder = tmp_path_factory.mktemp("conda")
    course, home = folder / "course", folder / "environment"
    course.mkdir()
    # An editable install writes beside the sources.
    for name in ("data", "gpulab", "grader", "notebooks", "solutions"):
        shutil.copytree(ROOT / name, course / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "README.md", "nbgrader_config.py", "pyproject.toml"):
        shutil.copy(ROOT / name, course)
    needs = course / "needs.txt"
    needs.write_text("\n".join(PIP))
    (bolts,) = re.findall(r"^# +pip install (--no-deps \S+)$", FILE.read_text(), re.MULTILINE)
    variables = os.environ | index.settings(folder) | {"VIRTUAL_ENV": str(home)}
    program = uv.find_uv_bin()
    try:
        run([program, "venv", "--quiet", "--python", interpreter(), str(home)], course, variables)
        run([program, "pip", "install", "--quiet", "--requirement", str(needs)], course, variables)
        run([program, "pip", "install", "--quiet", *bolts.split()], course, variables)
        yield Made(course, home)
    finally:
        shutil.rmtree(folder)  # 6 GB where files could not be linked


def test_the_course_is_installed_from_the_folder(made: Made) -> None:
    assert made("grader", "--version").startswith("grader, version ")
    where = made("python", "-c", "import gpulab, grader; print(gpulab.__file__, grader.__file__, sep='\\n')")
    assert [Path(line).parents[1] for line in where.splitlines()] == [made.course, made.course]


def test_torch_and_what_needs_it_can_be_imported(made: Made) -> None:
    said = made(
        "python", "-c", "import torch, torchvision; from gpulab import bolts; print(bolts.pl_bolts.__version__)"
    )
    assert said.strip() in FILE.read_text()


def test_the_doctor_is_content(made: Made) -> None:
    """With everything but the GPU, which is not the file's business."""
    red = [line for line in made("grader", "doctor").splitlines() if "✗" in line and not line.startswith("GPU")]
    assert red == []


def test_there_are_wheels_for_every_supported_python(found_wheels: list[Future[str]]) -> None:
    for listed in found_wheels:
        assert {"torch", "torchvision", "jupyterlab"} <= set(re.findall(r"^([\w-]+)==", listed.result(), re.MULTILINE))
