"""pyproject.toml, environment.yml and Dockerfile: what they promise, and that they agree with each other."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from packaging.requirements import Requirement
from setuptools import find_packages

from gpulab.doctor.onnx_runtimes import FOR_CUDA

ROOT = Path(__file__).resolve().parents[1]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def bolts_pins(name: str) -> set[str]:
    """Every version of lightning-bolts that the file `name` asks for."""
    return set(re.findall(r"lightning-bolts==[\w.]+", (ROOT / name).read_text()))


def test_every_package_folder_is_shipped() -> None:
    """A sub-package that pyproject.toml forgets works in a checkout and is missing from the wheel."""
    modules = [path for top in ("gpulab", "grader") for path in (ROOT / top).rglob("*.py")]
    packages = {".".join(path.parent.relative_to(ROOT).parts) for path in modules}
    settings = PROJECT["tool"]["setuptools"]["packages"]["find"]
    assert packages == set(find_packages(str(ROOT), include=settings["include"]))


def test_changelog_starts_with_this_version() -> None:
    """The version that people upgrade to stands on top."""
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == PROJECT["project"]["version"]


def test_constraints_hold_one_exact_version_of_everything() -> None:
    """Of each dependency at least; no address of an index, no path of somebody's machine."""
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pins = dict(re.fullmatch(r"([\w.-]+)==([\w.+!-]+)", line).groups() for line in lines)  # type: ignore[union-attr]
    assert len(pins) == len(lines)
    extra = PROJECT["project"]["optional-dependencies"]["dev"]
    for need in map(Requirement, [*PROJECT["project"]["dependencies"], *extra]):
        assert need.specifier.contains(pins[need.name.lower()]), need


def test_lightning_bolts_has_one_version() -> None:
    """It is installed apart from the pins, so nothing but this compares the places that name it."""
    (version,) = bolts_pins("Makefile")
    assert bolts_pins("environment.yml") == bolts_pins("Dockerfile") == {version}


def test_the_image_is_installed_by_the_uv_that_make_uses() -> None:
    (wanted,) = re.findall(r"^UV := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert f' "{wanted}" ' in (ROOT / "Dockerfile").read_text()
    assert wanted in PROJECT["project"]["optional-dependencies"]["dev"]


class TestEnvironmentFile:
    """environment.yml: its form, and that it agrees with pyproject.toml. `test_environment` installs it."""

    data: ClassVar[dict[str, Any]] = yaml.safe_load((ROOT / "environment.yml").read_text())

    def test_has_the_form_that_conda_reads(self) -> None:
        assert set(self.data) == {"name", "channels", "dependencies"}
        assert self.data["name"] == "gpulab"
        assert all(isinstance(channel, str) for channel in self.data["channels"])
        *packages, pip = self.data["dependencies"]
        assert all(re.fullmatch(r"[a-z][\w-]*(=|[<>]=?)[\d.]+", package) for package in packages)
        assert list(pip) == ["pip"]
        assert all(isinstance(line, str) for line in pip["pip"])

    def test_its_python_is_one_that_the_package_accepts(self) -> None:
        (python,) = (line for line in self.data["dependencies"] if str(line).startswith("python="))
        minor = int(python.removeprefix("python=3."))
        low, high = re.findall(r"3\.(\d+)", PROJECT["project"]["requires-python"])
        assert int(low) <= minor < int(high)

    def test_its_pins_are_those_of_the_package(self) -> None:
        *pins, course = self.data["dependencies"][-1]["pip"]
        assert pins == PROJECT["project"]["dependencies"]
        assert shlex.split(course) == ["--editable", "."]


class TestDockerfile:
    """The image is not built here; its instructions are read, and the one that computes something is run."""

    text = re.sub(r"\\\n", "", (ROOT / "Dockerfile").read_text())
    lines = tuple(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    steps = tuple(tuple(line.split(maxsplit=1)) for line in lines)

    def arguments(self, name: str) -> list[str]:
        return [step[1] for step in self.steps if step[0] == name]

    def test_knows_only_common_instructions(self) -> None:
        """Here-documents, mounts and the like need BuildKit, which podman and buildah of Debian 12 lack."""
        known = {"ARG", "FROM", "ENV", "RUN", "WORKDIR", "COPY", "USER", "EXPOSE", "HEALTHCHECK", "CMD"}
        assert {step[0] for step in self.steps} == known
        assert "<<" not in self.text
        assert "--mount" not in self.text

    def test_base_is_an_argument(self) -> None:
        assert self.steps[:2] == (("ARG", "BASE=python:3.12-slim"), ("FROM", "${BASE}"))

    def test_leaves_out_what_make_leaves_out_for_an_older_driver(self) -> None:
        (pattern,) = re.findall(r"^OF_CUDA := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert f"grep -vE '{pattern}' constraints.txt" in self.text
        assert "TORCH_BACKEND" in self.arguments("ARG")

    def test_runs_as_an_ordinary_user(self) -> None:
        assert self.arguments("USER") == ["student"]
        after = self.steps[self.steps.index(("USER", "student")) :]
        assert "RUN" not in {step[0] for step in after}

    def test_installs_before_it_copies_the_course(self) -> None:
        """A changed notebook must not cost a 5 GB layer."""
        order = [(name, text) for name, text in self.steps if name in ("COPY", "RUN")]
        installs = next(i for i, (_, text) in enumerate(order) if "--requirement" in text)
        copies = next(i for i, (name, text) in enumerate(order) if name == "COPY" and text.endswith(". ./"))
        assert order[installs - 1] == ("COPY", "pyproject.toml constraints.txt cuda12.txt ./")
        assert installs < copies

    def test_keeps_grades_and_history_out(self) -> None:
        ignored = set((ROOT / ".dockerignore").read_text().split("\n"))
        assert {".git", ".venv", "work", "gradebook.db"} <= ignored
        needed = {"README.md", "data", "gpulab", "grader", "jupyter", "nbgrader_config.py", "notebooks", "solutions"}
        assert not needed & ignored

    @pytest.mark.parametrize("torch", ["yes", "no"])
    def test_torch_can_be_left_out(self, torch: str, tmp_path: Path) -> None:
        """TORCH=no drops PyTorch and what would bring it back in, and nothing else."""
        (program,) = re.findall(r'python -c "(import tomllib.*?)" > /tmp/needed.txt', self.text)
        shutil.copy(ROOT / "pyproject.toml", tmp_path)
        command = ["bash", "-c", f'TORCH={torch}; {sys.executable} -c "{program}"']
        lines = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
        left_out = [need for need in PROJECT["project"]["dependencies"] if need not in lines]
        names = [re.split("[<>=]", need)[0] for need in left_out]
        assert names == ([] if torch == "yes" else ["torch", "torchvision", "pytorch-lightning"])

    def test_one_onnx_runtime_takes_the_place_of_the_other(self) -> None:
        """Of the kinds that `make` installs; the two write the same files."""
        (line,) = re.findall(r'if \[ -n "\$\{ONNX_RUNTIME:-\}" \]; then (.*?); fi', self.text)
        assert line == 'uv pip uninstall --quiet onnxruntime && uv pip install --quiet "$ONNX_RUNTIME"'
        named = set(re.findall(r'ONNX_RUNTIME="([^"]+)"', (ROOT / "Dockerfile").read_text()))
        assert named == set(FOR_CUDA.values())
        assert f'"{FOR_CUDA[13]}"' in (ROOT / "environment.yml").read_text()

    def test_command_and_health_check_are_lists(self) -> None:
        """The shell form would swallow the stop signal."""
        (command,) = self.arguments("CMD")
        assert json.loads(command)[:2] == ["jupyter", "lab"]
        (check,) = self.arguments("HEALTHCHECK")
        assert json.loads(check.split("CMD", 1)[1])[0] == "python"
