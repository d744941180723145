"""`grader bundle --url`: a chapter works on a notebook host without an installation, and is graded as any other."""

from __future__ import annotations

import http.server
import json
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from pathlib import Path

import nbformat
import notebook_host
import pytest
from click.testing import CliRunner
from drawn import a_share
from recorded_class import NAME, ROOT, small_course

from grader.authoring import hosted, student_bundle
from grader.authoring.answers import load
from grader.cli.main import main
from grader.judging.session import grade
from grader.model.course import Course
from grader.model.findings import Findings
from grader.model.limits import Limits
from grader.model.notebooks import load_key
from grader.model.submission import parse

pytestmark = pytest.mark.long

CHAPTER = "02_cuda_basics"
EXERCISE = "vec_add"
GITHUB = "https://github.com/someone/gpu-course/tree/main/web/hosted"
CELLS = """\
import json, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for source in json.load(open(sys.argv[1])):
    shell.run_cell(source).raise_error()
"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """The folder for hosts, served at its URL as an instructor would publish it."""
    with tempfile.TemporaryDirectory() as place:
        handler = partial(Quiet, directory=place)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            chapter = Course(ROOT).chapter(CHAPTER)
            url = f"http://127.0.0.1:{server.server_port}/"
            for name, data in student_bundle.pack_for_hosts(Course(ROOT), [chapter], url).items():
                Path(place, name).write_bytes(data)
            yield Path(place)
            server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


def hosted_notebook(folder: Path) -> nbformat.NotebookNode:
    return nbformat.read(folder / f"{CHAPTER}.ipynb", as_version=4)


def answer() -> str:
    key = load_key(Course(ROOT).chapter(CHAPTER))
    bank = load(ROOT / "answers" / CHAPTER, key)
    return next(one.source for one in bank if one.exercise == EXERCISE and one.kind.value == "right")


@pytest.fixture(scope="module")
def host() -> Iterator[notebook_host.Host]:
    with tempfile.TemporaryDirectory() as place:
        yield notebook_host.make(Path(place))


@pytest.mark.slow
@pytest.mark.parametrize("way", a_share(["fetched", "uploaded"], 1 / 2))
def test_a_chapter_works_on_a_host_and_changes_nothing_there(
    folder: Path, host: notebook_host.Host, tmp_path: Path, way: str
) -> None:
    """The set-up cell, the chapter's first cell, an answer and its test, in a Python that holds another torch.

    One way each time where tests are drawn, because this is the longest of the short ones.
    """
    shutil.rmtree(host.home / ".local", ignore_errors=True)
    notebook = hosted_notebook(folder)
    set_up = notebook.cells[0].source
    if way == "uploaded":
        (wheel,) = folder.glob("*.whl")
        shutil.copy(wheel, tmp_path)
        set_up = set_up.replace("http://127.0.0.1", "http://nowhere.invalid")
    code = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source for cell in notebook.cells}
    first = next(cell.source for cell in notebook.cells[1:] if cell.cell_type == "code")
    about = "import gpulab, torch; print(gpulab.__file__); print(torch.__file__); print(len(gpulab.table('gpus')))"
    (tmp_path / "cells.json").write_text(json.dumps([set_up, first, answer(), code[f"{EXERCISE}_test"], about]))
    (tmp_path / "cells.py").write_text(CELLS)
    before = host.fingerprint()
    said = host.run("python", "cells.py", "cells.json", cwd=tmp_path)
    assert "PyTorch 2.9.0+cu126" in said
    assert "stays as it is" in said
    assert "tested with torch" in said
    assert "numba-cuda" in said
    assert "instead of the host's 0.22.0" in said
    assert "No GPU here: kernels run on the CPU" in said
    *_, ours, theirs, rows = said.split()
    assert Path(ours).is_relative_to(host.home)
    assert Path(theirs).is_relative_to(host.system)
    assert int(rows) > 5
    assert host.fingerprint() == before
    again = host.run("python", "cells.py", "cells.json", cwd=tmp_path)
    assert "PyTorch" not in again  # the next kernel finds the course, and the cell does nothing


def as_colab_saves(notebook: nbformat.NotebookNode) -> bytes:
    """Format 4.0: cell ids go into the metadata."""
    for cell in notebook.cells:
        cell.metadata["id"] = cell.pop("id")
    notebook.nbformat_minor = 0
    notebook.metadata["colab"] = {"provenance": []}
    return json.dumps(notebook).encode()


def test_a_submission_with_the_set_up_cell_is_graded_as_any_other(folder: Path) -> None:
    key = load_key(Course(ROOT).chapter(CHAPTER))
    test = f"{EXERCISE}_test"
    results = []
    for notebook in (nbformat.read(Course(ROOT).chapter(CHAPTER).release, as_version=4), hosted_notebook(folder)):
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("grade_id") == EXERCISE:
                cell.source = answer()
        submission = parse(as_colab_saves(notebook), key)
        result = grade(submission, key, student="someone", seed=7, limits=Limits(), only=frozenset({test}))
        results.append({cell.grade_id: (str(cell.verdict), cell.earned) for cell in result.cells})
    plain, with_set_up = results
    assert with_set_up == plain
    assert plain[test][0] == "passed"


def test_the_wheel_is_the_same_each_time_and_holds_no_answer(folder: Path) -> None:
    chapter = Course(ROOT).chapter(CHAPTER)
    one, other = (student_bundle.pack_for_hosts(Course(ROOT), [chapter], GITHUB) for _ in range(2))
    assert one == other
    (wheel,) = (name for name in one if name.endswith(".whl"))
    with zipfile.ZipFile(BytesIO(one[wheel])) as archive:
        names = archive.namelist()
        needs = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert {name.split("/")[0] for name in names} == {"gpulab", f"{wheel.rpartition('-py3')[0]}.dist-info"}
    assert {path.name for path in (ROOT / "data").glob("*.csv")} <= {Path(name).name for name in names}
    for package in hosted.LEFT_OUT:
        assert f"Requires-Dist: {package}" not in needs
    assert "Requires-Dist: torch" in needs


def test_an_answer_stops_it(tmp_path: Path) -> None:
    course, chapter = small_course(tmp_path / "course")
    notebook = nbformat.read(chapter.release, as_version=4)
    notebook.cells[0].source += "\n\n    return the_secret_way(x) * 2"
    nbformat.write(notebook, chapter.release)
    with pytest.raises(Findings, match="holds the answer or hidden tests of double"):
        student_bundle.pack_for_hosts(course, [chapter], GITHUB)


@pytest.mark.parametrize(
    "url",
    [
        GITHUB,
        f"{GITHUB}/",
        GITHUB.replace("/tree/", "/blob/"),
        "https://raw.githubusercontent.com/someone/gpu-course/main/web/hosted",
    ],
)
def test_a_folder_on_github_opens_in_colab_and_kaggle(url: str) -> None:
    links = hosted.place_of(url).links("01_small.ipynb")
    shown = "someone/gpu-course/blob/main/web/hosted/01_small.ipynb"
    assert links == {
        "Colab": f"https://colab.research.google.com/github/{shown}",
        "Kaggle": f"https://kaggle.com/kernels/welcome?src=https://github.com/{shown}",
        "Download": "https://raw.githubusercontent.com/someone/gpu-course/main/web/hosted/01_small.ipynb",
    }


def test_elsewhere_it_is_downloaded_and_the_page_says_how_to_open_it(tmp_path: Path) -> None:
    course, chapter = small_course(tmp_path / "course")
    files = student_bundle.pack_for_hosts(course, [chapter], "https://www.example.edu/gpu/")
    page = files["index.html"].decode()
    assert "Colab</a>" not in page
    assert "Upload notebook" in page
    assert f'href="{NAME}.ipynb"' in page
    assert "README.md" not in files
    assert b"https://www.example.edu/gpu/gpulab-" in files[f"{NAME}.ipynb"]


def test_the_command_writes_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course, _ = small_course(tmp_path / "course")
    monkeypatch.chdir(course.root)
    shown = CliRunner().invoke(main, ["bundle", "--url", GITHUB])
    assert shown.exit_code == 0, shown.output
    made = {path.name for path in (course.work / "hosted").iterdir()}
    assert {"index.html", "README.md", f"{NAME}.ipynb", student_bundle.ARCHIVE} < made
    assert f"Publish them at {GITHUB}" in shown.output.replace("\n", "")
