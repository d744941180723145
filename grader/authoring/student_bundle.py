"""What students get when there is no shared machine: one archive with notebooks, `gpulab`, data and how to install it.

The same course gives the same bytes, on any machine. Answers, hidden tests, answer bank and grader are not in it, which
is looked for before anything is written. `proof_bundle` is another thing: it carries evidence from a GPU to a tree.
"""

from __future__ import annotations

import io
import re
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from grader import __version__
from grader.authoring import hosted
from grader.authoring.building import files_below
from grader.authoring.launcher import Outline, outline_of
from grader.authoring.launcher import text_of as launcher_text
from grader.model.course import Chapter, Course, CourseError
from grader.model.dependencies import needed_files
from grader.model.findings import Finding, Findings
from grader.model.notebook_io import write
from grader.model.notebooks import HIDDEN, SOLUTION, Role, cells_of, read_own

HOME = Path(__file__).resolve().parents[2]
"""Where the packages, `pyproject.toml` and the settings of JupyterLab lie: beside the grader itself."""
INSTRUCTORS_ONLY = frozenset(
    {"nbval", "nbclient", "nbformat", "jupytext", "click", "rich", "jinja2", "pyyaml", "dask", "distributed"}
)
"""Packages that only building and grading need. What is new is the students' too, until it is named here."""
SETTINGS = (
    "jupyter/jupyter_lab_config.py",
    "jupyter/jupyter_server_config.d/gpulab.json",
    "jupyter/labconfig/default_setting_overrides.json",
    "jupyter/labconfig/page_config.json",
    "jupyter/labextensions/gpulab-alt-text/alt_text.js",
    "jupyter/labextensions/gpulab-alt-text/package.json",
    "jupyter/labextensions/gpulab-outputs/outputs.js",
    "jupyter/labextensions/gpulab-outputs/package.json",
)
ARCHIVE = "gpulab-students.zip"
LONG_ENOUGH = 25
"""Characters from which an answer or hidden test is looked for: shorter ones may stand anywhere."""


@dataclass(frozen=True)
class Bundle:
    """An archive that is ready to be written."""

    data: bytes
    names: tuple[str, ...]
    """The files in it."""
    chapters: tuple[str, ...]


def pack(course: Course, chapters: Sequence[Chapter]) -> Bundle:
    """The archive for students.

    Args:
        course: the course.
        chapters: which of its chapters.

    Raises:
        CourseError: a chapter is not released, or there is none.
        Findings: an answer or a hidden test would be in it.
    """
    if not chapters:
        raise CourseError(course.root, "no chapter to pack", "Name one that is released.")
    files = dict(sorted(_files(course, chapters).items()))
    if found := list(_given_away(course, files)):
        raise Findings(tuple(found))
    top = f"gpulab-{__version__}"
    packed = io.BytesIO()
    # Stored, not deflated: what a compressor makes of the same bytes depends on its version.
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            member = zipfile.ZipInfo(f"{top}/{name}", date_time=(1980, 1, 1, 0, 0, 0))
            member.external_attr = 0o100644 << 16
            member.create_system = 3  # Unix, also when it was made elsewhere
            archive.writestr(member, data)
    return Bundle(packed.getvalue(), tuple(files), tuple(chapter.name for chapter in chapters))


def pack_for_hosts(course: Course, chapters: Sequence[Chapter], url: str) -> dict[str, bytes]:
    """The folder for notebook hosts, to be put on the web: wheel, notebooks, the page of links, the archive.

    Args:
        course: the course.
        chapters: which of its chapters.
        url: where the folder will be.

    Raises:
        CourseError: a chapter is not released, or there is none.
        Findings: an answer or a hidden test would be in it.
    """
    archive = pack(course, chapters)
    files = _files(course, chapters)
    package = {name: data for name, data in files.items() if name.startswith("gpulab/")}
    package |= {f"gpulab/_{name}": data for name, data in files.items() if name.startswith("data/")}
    project = _project()
    wheel, data = hosted.wheel_of(project, needed(project["dependencies"]), package)
    place = hosted.place_of(url)
    notebooks = {
        f"{chapter.name}.ipynb": hosted.with_set_up(chapter.release.read_bytes(), wheel, place) for chapter in chapters
    }
    if found := list(_given_away(course, package | notebooks)):
        raise Findings(tuple(found))
    pages = hosted.pages([outline_of(chapter) for chapter in chapters], place, wheel, ARCHIVE)
    return {wheel: data, **notebooks, **pages, ARCHIVE: archive.data}


def save(bundle: Bundle, path: Path) -> bool:
    """Writes the archive, whole or not at all; gives whether that changed anything.

    Raises:
        CourseError: the folder cannot be written or the disk is full.
    """
    return write(path, bundle.data)


def _files(course: Course, chapters: Sequence[Chapter]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    texts = []
    for chapter in chapters:
        if not chapter.release.is_file():
            raise CourseError(chapter.release, "not released yet", f'Run "grader release {chapter.name}".')
        notebook = read_own(chapter.release, f'Run "grader release {chapter.name}".')
        texts += [cell.source for cell in cells_of(notebook) if cell.role is not Role.PROSE]
        files[f"notebooks/{chapter.name}/{chapter.name}.ipynb"] = chapter.release.read_bytes()
        for path in files_below(chapter.release.parent):
            files[path.relative_to(course.root).as_posix()] = path.read_bytes()
    outlines = [outline_of(chapter) for chapter in chapters]
    files["notebooks/README.ipynb"] = launcher_text(outlines).encode()
    files |= {path.relative_to(HOME).as_posix(): path.read_bytes() for path in _package(texts)}
    files |= {path.relative_to(HOME).as_posix(): path.read_bytes() for path in files_below(HOME / "data")}
    files |= {name: (HOME / name).read_bytes() for name in SETTINGS}
    project = _project()
    needs = needed(project["dependencies"])
    packages = sorted({".".join(Path(name).parts[:-1]) for name in files if name.startswith("gpulab/")})
    files["cuda12.txt"] = (HOME / "cuda12.txt").read_bytes()
    files["LICENSE"] = (HOME / "LICENSE").read_bytes()
    files["pyproject.toml"] = _pyproject(project, needs, packages).encode()
    files["environment.yml"] = _environment(needs).encode()
    files["start.sh"] = _start(project).encode()
    files["README.md"] = _readme(outlines, project).encode()
    return files


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project


def needed(dependencies: Sequence[str]) -> list[str]:
    """Those of the distribution's dependencies that students need."""
    return [need for need in dependencies if re.split(r"[\[<>=]", need)[0] not in INSTRUCTORS_ONLY]


def _package(texts: Sequence[str]) -> Iterator[Path]:
    """The modules of `gpulab`, without those of chapters that are not in the archive."""
    modules = sorted((HOME / "gpulab").rglob("*.py"))
    named = set(needed_files(texts, modules))
    shelf = HOME / "gpulab" / "chapters"
    topics = {path.parent for path in named if path.parent.parent == shelf and path.name != "__init__.py"}
    yield HOME / "gpulab" / "py.typed"
    yield from (path for path in modules if path.parent.parent != shelf or (path in named and path.parent in topics))


def _pyproject(project: dict[str, Any], needs: Sequence[str], packages: Sequence[str]) -> str:
    lines = "".join(f'  "{need}",\n' for need in needs)
    names = ", ".join(f'"{name}"' for name in packages)
    return (
        "# Installs what the notebooks import. Made by grader bundle.\n"
        '[build-system]\nrequires = ["setuptools>=77"]\nbuild-backend = "setuptools.build_meta"\n\n'
        f'[project]\nname = "{project["name"]}"\nversion = "{project["version"]}"\n'
        f'description = "What the notebooks of the GPU course import"\nlicense = "MIT"\n'
        f'requires-python = "{project["requires-python"]}"\ndependencies = [\n{lines}]\n\n'
        f'[tool.setuptools]\npackages = [{names}]\n\n[tool.setuptools.package-data]\ngpulab = ["py.typed"]\n'
    )


def _environment(needs: Sequence[str]) -> str:
    lines = "".join(f"      - {need}\n" for need in needs)
    return (
        f"# conda env create --file environment.yml; conda activate gpulab; pip install --no-deps {_bolts()}\n"
        "name: gpulab\nchannels:\n  - conda-forge\n  - nodefaults\ndependencies:\n  - python=3.12\n  - pip>=23.2\n"
        f"  - pip:\n{lines}      - --editable .\n"
    )


def _readme(outlines: Sequence[Outline], project: dict[str, Any]) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    low, high = _minors(project)
    python = f"Python 3.{low} to 3.{high}"
    page = environment.get_template("student_readme.md.j2")
    text: str = page.render(title="A GPU course in notebooks", chapters=outlines, python=python, bolts=_bolts())
    return text


def _start(project: dict[str, Any]) -> str:
    """The script that installs and opens JupyterLab."""
    low, high = _minors(project)
    torch = " ".join(f'"{need}"' for need in project["dependencies"] if need.startswith("torch"))
    templates = Path(__file__).with_name("templates")
    text = (templates / "student_start.sh").read_text(encoding="utf-8")
    backend = (templates / "torch_backend.sh").read_text(encoding="utf-8").rstrip()
    (uv,) = re.findall(r"^UV := (.+)$", (HOME / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    values = {"LOW": low, "HIGH": high, "TORCH": torch, "UV": f'"{uv}"', "BOLTS": _bolts(), "BACKEND": backend}
    for name, value in values.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def _minors(project: dict[str, Any]) -> tuple[int, int]:
    """Oldest and newest Python 3 that the course runs on."""
    low, above = re.findall(r"3\.(\d+)", project["requires-python"])
    return int(low), int(above) - 1


def _bolts() -> str:
    """The one package that is installed apart, as in the Makefile, with its version."""
    (pin,) = re.findall(r"^BOLTS := (\S+)$", (HOME / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    return str(pin)


def _given_away(course: Course, files: dict[str, bytes]) -> Iterator[Finding]:
    """Answers and hidden tests of any chapter, packed or not, that are in the archive."""
    texts = {name: _plain(data.decode("utf-8", "replace")) for name, data in files.items()}
    for chapter in course.chapters():
        if not chapter.solution.is_file():
            continue
        for cell in cells_of(read_own(chapter.solution, f'Run "grader build {chapter.name}".')):
            region = {Role.SOLUTION: SOLUTION, Role.TEST: HIDDEN}.get(cell.role)
            for secret in map(_plain, region.findall(cell.source) if region else ()):
                for name, text in texts.items():
                    if len(secret) >= LONG_ENOUGH and (secret in text or _plain_json(secret) in text):
                        yield Finding(name, f"holds the answer or hidden tests of {cell.grade_id}", "Take it out.")
    for name, text in texts.items():
        if "### BEGIN SOLUTION" in text or "### BEGIN HIDDEN TESTS" in text:
            yield Finding(name, "holds a marker of an answer or hidden test", "Take it out.")


def _plain(code: str) -> str:
    """The code without indentation, blank lines and comments, for being looked for elsewhere."""
    lines = (line.strip() for line in code.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))


def _plain_json(code: str) -> str:
    """The same as it would stand in a notebook's file: a list of strings, one a line."""
    return "\n".join(f'"{line}\\n",' for line in code.replace("\\", "\\\\").replace('"', '\\"').splitlines())
