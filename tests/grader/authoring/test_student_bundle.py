"""`grader bundle`: what students get works by itself, holds no answer, and is the same every time."""

from __future__ import annotations

import ast
import io
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions, version
from pathlib import Path

import nbformat
import pytest
import yaml
from click.testing import CliRunner
from recorded_class import NAME, ROOT, small_course

from gpulab.doctor.onnx_runtimes import FOR_CUDA
from grader.authoring import student_bundle
from grader.cli.main import main
from grader.model.course import Course, CourseError
from grader.model.findings import Findings
from grader.model.notebooks import HIDDEN, SOLUTION, cells_of

pytestmark = pytest.mark.long

TOP = "gpulab-0.1.0"
ALONE = """\
import importlib.util, sys
# The course that this environment was installed from is not there for a student.
sys.meta_path[:] = [one for one in sys.meta_path if "__editable__" not in getattr(one, "__module__", "")]
sys.path[:] = [one for one in sys.path if one.rstrip("/") != {root!r} and "__editable__" not in one]
sys.path.insert(0, {home!r})
assert importlib.util.find_spec("grader") is None
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole course's bundle, unpacked where nothing else is."""
    bundle = student_bundle.pack(Course(ROOT), [one for one in Course(ROOT).chapters() if one.release.is_file()])
    folder = tmp_path_factory.mktemp("student")
    with zipfile.ZipFile(io.BytesIO(bundle.data)) as archive:
        archive.extractall(folder)
    return folder / TOP


def run(unpacked: Path, code: str, cwd: Path) -> str:
    """What the code prints in a process that sees the unpacked bundle and not the course."""
    program = ALONE.format(root=str(ROOT), home=str(unpacked)) + code
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def chapters_in(unpacked: Path) -> list[Path]:
    return sorted((unpacked / "notebooks").glob("*/*.ipynb"))


def test_every_import_of_every_chapter_is_met(unpacked: Path) -> None:
    """By what is in the archive and what it has installed, not by the course that it was made from."""
    imports: dict[str, None] = {}
    for path in chapters_in(unpacked):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code" and not cell.source.startswith("%%"):  # those are files and C++
                imports |= {ast.unparse(node): None for node in ast.walk(ast.parse(cell.source)) if is_ours(node)}
    assert len(imports) > 10
    told = run(unpacked, "\n".join([*imports, "import gpulab; print(gpulab.__file__)"]), unpacked / "notebooks")
    assert told.strip() == str(unpacked / "gpulab" / "__init__.py")


def is_ours(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").startswith("gpulab")
    return isinstance(node, ast.Import) and any(name.name.startswith("gpulab") for name in node.names)


def test_first_cells_run_and_tables_are_found(unpacked: Path) -> None:
    (first, *_) = chapters_in(unpacked)
    notebook = nbformat.read(first, as_version=4)
    begin = next(cell.source for cell in notebook.cells if cell.cell_type == "code")
    shown = run(unpacked, begin + "\nimport gpulab\nprint(len(gpulab.table('gpus')))", first.parent)
    assert int(shown.split()[-1]) > 5


def test_the_launcher_runs(unpacked: Path) -> None:
    notebook = nbformat.read(unpacked / "notebooks" / "README.ipynb", as_version=4)
    (code,) = (cell.source for cell in notebook.cells if cell.cell_type == "code")
    shown = run(unpacked, code.replace("progress()", "print(progress())", 1), unpacked / "notebooks")
    for path in chapters_in(unpacked):
        assert re.search(rf"^{path.stem}: 0 of \d+ exercises done", shown, re.MULTILINE)


def test_all_tables_and_recordings_are_in_it(unpacked: Path) -> None:
    """Also those in folders: what was recorded on a GPU is for those who have none."""
    there = {path.relative_to(ROOT / "data") for path in (ROOT / "data").rglob("*.*") if path.is_file()}
    assert there == {path.relative_to(unpacked / "data") for path in (unpacked / "data").rglob("*.*") if path.is_file()}


def test_nothing_of_the_instructors_is_in_it(unpacked: Path) -> None:
    names = {path.relative_to(unpacked).parts[0] for path in unpacked.rglob("*") if path.is_file()}
    assert names == {
        *("LICENSE", "README.md", "data", "environment.yml", "gpulab", "jupyter"),
        *("notebooks", "pyproject.toml", "start.sh", "cuda12.txt"),
    }
    everything = "\n".join(path.read_text(errors="replace") for path in unpacked.rglob("*") if path.is_file())
    for chapter in Course(ROOT).chapters():
        if not chapter.solution.is_file():
            continue
        for cell in cells_of(nbformat.read(chapter.solution, as_version=4)):
            for secret in [*SOLUTION.findall(cell.source), *HIDDEN.findall(cell.source)]:
                if len(secret.strip()) >= 60:
                    assert secret.strip() not in everything, cell.grade_id
    assert "BEGIN HIDDEN TESTS" not in everything


def test_modules_of_other_chapters_stay_out(unpacked: Path) -> None:
    """So do those that only hidden tests use: what timed kernels are given."""
    (first, *_) = Course(ROOT).chapters()
    names = student_bundle.pack(Course(ROOT), [first]).names
    assert "gpulab/chapters/architecture/models.py" in names
    assert "gpulab/chapters/shared_memory/diagrams.py" not in names
    assert (ROOT / "gpulab" / "chapters" / "shared_memory" / "workloads.py").is_file()
    assert not (unpacked / "gpulab" / "chapters" / "shared_memory" / "workloads.py").exists()
    assert not (unpacked / "grader").exists()


def test_the_same_course_gives_the_same_bytes(tmp_path: Path) -> None:
    chapters = Course(ROOT).chapters()[:1]
    one = student_bundle.pack(Course(ROOT), chapters)
    copy = tmp_path / "elsewhere"
    for name in ("nbgrader_config.py", "solutions", "notebooks"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, copy / name if source.is_dir() else mkdir(copy))
    assert student_bundle.pack(Course(copy), Course(copy).chapters()[:1]).data == one.data


def mkdir(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def test_an_answer_in_a_released_file_stops_it(tmp_path: Path) -> None:
    """Whatever way it got there: nothing is written then."""
    course, chapter = small_course(tmp_path / "course")
    (chapter.release.parent / "notes.py").write_text("def double(x):\n        return the_secret_way(x) * 2\n")
    with pytest.raises(Findings, match="holds the answer or hidden tests of double"):
        student_bundle.pack(course, [chapter])


def test_an_answer_in_a_notebook_stops_it(tmp_path: Path) -> None:
    course, chapter = small_course(tmp_path / "course")
    notebook = nbformat.read(chapter.release, as_version=4)
    notebook.cells[0].source += "\n\n    return the_secret_way(x) * 2"
    nbformat.write(notebook, chapter.release)
    with pytest.raises(Findings, match=r"01_small\.ipynb: holds the answer or hidden tests of double"):
        student_bundle.pack(course, [chapter])


def test_what_is_not_released_cannot_be_packed(tmp_path: Path) -> None:
    course, chapter = small_course(tmp_path / "course")
    chapter.release.unlink()
    with pytest.raises(CourseError, match=r'not released yet\. Run "grader release 01_small"'):
        student_bundle.pack(course, [chapter])


def test_the_command_writes_it_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course, _ = small_course(tmp_path / "course")
    monkeypatch.chdir(course.root)
    shown = CliRunner().invoke(main, ["bundle"])
    assert shown.exit_code == 0, shown.output
    assert re.search(rf"gpulab-students.zip: {NAME}; \d+ files", shown.output.replace("\n", ""))
    with zipfile.ZipFile(course.work / "gpulab-students.zip") as archive:
        assert f"{TOP}/notebooks/{NAME}/{NAME}.ipynb" in archive.namelist()
    assert "as it was" in CliRunner().invoke(main, ["bundle"]).output


class TestInstallation:
    """What the bundle's own files promise."""

    def test_what_gpulab_imports_is_installed(self, unpacked: Path) -> None:
        """A package that only instructors need must not be one that the notebooks import."""
        project = tomllib.loads((unpacked / "pyproject.toml").read_text())["project"]
        installed = {re.split(r"[\[<>=]", need)[0].replace("_", "-").lower() for need in project["dependencies"]}
        known = packages_distributions()
        for path in (unpacked / "gpulab").rglob("*.py"):
            for name in imported(path) & (student_bundle.INSTRUCTORS_ONLY | {"yaml", "nbgrader"}):
                distributions = {one.lower() for one in known.get(name, [name])}
                assert distributions & installed, f"{path.name} imports {name}"

    def test_it_can_be_installed(self, unpacked: Path, tmp_path: Path) -> None:
        """Its pyproject.toml makes a wheel of every module; dependencies are not fetched here."""
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), "."]
        if int(version("setuptools").partition(".")[0]) >= 77:  # as its pyproject.toml asks: then no network is needed
            command.append("--no-build-isolation")
        done = subprocess.run(command, cwd=unpacked, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        (wheel,) = tmp_path.glob("gpulab-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            inside = {name for name in archive.namelist() if name.startswith("gpulab/")}
        there = {path.relative_to(unpacked).as_posix() for path in (unpacked / "gpulab").rglob("*.py")}
        assert there <= inside
        shutil.rmtree(unpacked / "build", ignore_errors=True)
        for left in unpacked.glob("*.egg-info"):
            shutil.rmtree(left)

    def test_pins_are_those_of_the_course(self, unpacked: Path) -> None:
        ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
        theirs = tomllib.loads((unpacked / "pyproject.toml").read_text())["project"]["dependencies"]
        assert theirs == [need for need in ours if need in theirs]
        *pins, course = yaml.safe_load((unpacked / "environment.yml").read_text())["dependencies"][-1]["pip"]
        assert (pins, course) == (theirs, "--editable .")

    def test_packages_are_those_that_are_there(self, unpacked: Path) -> None:
        packages = tomllib.loads((unpacked / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
        there = {".".join(path.parent.relative_to(unpacked).parts) for path in (unpacked / "gpulab").rglob("*.py")}
        assert set(packages) == there

    def test_the_script_is_one_and_its_pins_are_ours(self, unpacked: Path) -> None:
        script = unpacked / "start.sh"
        assert subprocess.run(["sh", "-n", script], check=False).returncode == 0
        text = script.read_text()
        assert "@" not in text.replace('"$@"', "")
        (bolts,) = re.findall(r"lightning-bolts==[\w.]+", text)
        assert bolts in (ROOT / "Makefile").read_text()

    def test_the_script_refuses_another_python(self, unpacked: Path, tmp_path: Path) -> None:
        python = tmp_path / "python"
        python.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.1 && exit 0\nexit 1\n')
        python.chmod(0o755)
        done = subprocess.run(
            ["sh", unpacked / "start.sh"],
            env={"PYTHON": str(python), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1
        assert "Python 3.9.1 is not supported: install Python 3.11 to 3.13" in done.stderr
        assert not (unpacked / ".venv").exists()

    @pytest.mark.parametrize("system", ["Darwin", "MINGW64_NT-10.0"])
    def test_the_script_refuses_another_system(self, unpacked: Path, tmp_path: Path, system: str) -> None:
        (tmp_path / "uname").write_text(f"#!/bin/sh\necho {system}\n")
        (tmp_path / "uname").chmod(0o755)
        done = subprocess.run(
            ["sh", unpacked / "start.sh"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True
        )
        assert done.returncode == 1
        assert f"not for {system}" in done.stderr
        assert "WSL 2" in done.stderr
        assert not (unpacked / ".venv").exists()

    @pytest.mark.parametrize(("says", "installs"), [("535.161.07, 8.0", "cu126"), ("580.95, 9.0", ""), ("", "")])
    def test_the_script_installs_for_the_driver(self, unpacked: Path, tmp_path: Path, says: str, installs: str) -> None:
        """Where there is a driver of CUDA 12, uv installs everything for it; else pip does, as ever."""
        for name in ("start.sh", "cuda12.txt"):
            shutil.copy(unpacked / name, tmp_path)
        asked, tools = tmp_path / "asked", tmp_path / ".venv" / "bin"
        tools.mkdir(parents=True)
        for path, text in {
            tools / "python": f'echo "python $*" >> {asked}\ncase "$*" in *freeze*) echo torch==9.9 ;; esac',
            tools / "uv": f'echo "uv $*" >> {asked}',
            tools / "jupyter": "exit 0",
            tmp_path / "nvidia-smi": f"[ -n '{says}' ] && echo '{says}'",
        }.items():
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
        command = ["sh", "start.sh"]
        own = {"PYTHON": str(tools / "python"), "PATH": f"{tmp_path}:/usr/bin:/bin"}
        done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        every = asked.read_text().splitlines()
        lines = [line for line in every if "--editable" in line]
        assert len(lines) == 1
        runtime = [line.removeprefix("python -m pip ") for line in every if "onnxruntime" in line]
        wanted = FOR_CUDA[12 if installs else 13]
        both = "uninstall --quiet --yes onnxruntime onnxruntime-gpu"
        assert runtime == ([both, f"install --quiet {wanted}"] if says else [])
        assert not runtime or every.index(lines[0]) < every.index(f"python -m pip {both}")
        if installs:
            assert lines[0].startswith("uv pip install ")
            assert f"--torch-backend {installs} --override cuda12.txt" in lines[0]
        else:
            assert lines[0].startswith("python -m pip install ")

    def test_its_readme_names_files_that_are_there(self, unpacked: Path) -> None:
        text = (unpacked / "README.md").read_text()
        for name in [*re.findall(r"\]\(([^)]+)\)", text), "start.sh", "environment.yml", "notebooks/README.ipynb"]:
            assert (unpacked / name).is_file(), name


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").partition(".")[0])
    return names
