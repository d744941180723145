"""The build on a small course: the same bytes twice, and a clear line for whatever goes wrong."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import pytest
from courses import NAME, built_course, make_course
from nbformat.v4 import new_code_cell, new_notebook, new_output

from grader.authoring.building import build, check_build
from grader.authoring.execution import gpu_name, run, tidy
from grader.model.course import Chapter, CourseError
from grader.model.findings import Findings

DEMO = "for number in range(3):\n    print(number, double(number))\n"
DRAWN = """\
import random

from IPython.display import display

print(random.SystemRandom().random())
images = {"image/png": "aGVsbG8=\\n", "image/svg+xml": "<svg>\\n</svg>"}
display({**images, "application/json": {"a": [1, 2.5]}}, raw=True)
"""
NO_GPU = pytest.mark.skipif(gpu_name() is not None, reason="says what happens without a GPU")


@pytest.fixture
def chapter(tmp_path: Path) -> Chapter:
    """A chapter that is built and released."""
    return built_course(tmp_path / "course").chapter(NAME)


def edit(chapter: Chapter, old: str, new: str) -> None:
    text = chapter.source.read_text()
    assert old in text
    chapter.source.write_text(text.replace(old, new))


def refusal(chapter: Chapter, **options: int) -> list[str]:
    """The lines that a failing build ends with; whatever was built before must still be there."""
    before = chapter.solution.read_bytes() if chapter.solution.exists() else None
    with pytest.raises(Findings) as raised:
        build(chapter, **options)  # type: ignore[arg-type]
    assert (chapter.solution.read_bytes() if chapter.solution.exists() else None) == before
    return str(raised.value).splitlines()


def test_two_builds_are_byte_identical(tmp_path: Path) -> None:
    """The second one runs nothing: what was drawn at random is still there. Only --execute draws again."""
    chapter = make_course(tmp_path, {DEMO: DRAWN}).chapter(NAME)
    told: list[tuple[int, int]] = []
    assert build(chapter, on_cell=lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert told[-1][0] < told[-1][1] == len(nbformat.read(chapter.solution, 4).cells)
    first = chapter.solution.read_bytes()
    assert not build(chapter)
    assert chapter.solution.read_bytes() == first
    assert check_build(chapter) == []
    assert build(chapter, execute=True)
    assert chapter.solution.read_bytes() != first


def test_the_notebook_says_nothing_about_who_built_it(chapter: Chapter) -> None:
    """Stable ids and keys; no jupytext, date or path."""
    text = chapter.solution.read_text()
    notebook = json.loads(text)
    assert text == json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    assert set(notebook["metadata"]) == {"kernelspec", "language_info", "gpulab"}
    assert set(notebook["metadata"]["gpulab"]["executed_on"]) == {"device", "python", "torch"}
    assert "version" not in notebook["metadata"]["language_info"]
    assert {key for cell in notebook["cells"] for key in cell["metadata"]} == {"nbgrader", "tags"}
    for word in ("jupytext", str(chapter.root), str(Path.home()), "iopub"):
        assert word not in text


def test_ids_are_grade_ids_and_survive_new_neighbors(chapter: Chapter) -> None:
    before = [cell.id for cell in nbformat.read(chapter.solution, as_version=4).cells]
    assert {"double", "double_test", "double_gpu", "KINDS", "KINDS_test"} <= set(before)
    edit(chapter, "### Exercise: `double`", "```{code-cell} ipython3\n1 + 1\n```\n\n### Exercise: `double`")
    build(chapter, execute=False)
    after = [cell.id for cell in nbformat.read(chapter.solution, as_version=4).cells]
    assert [name for name in after if name in before] == before
    assert len(after) == len(before) + 1


def test_prose_changes_without_a_run_and_code_does_not(tmp_path: Path) -> None:
    chapter = make_course(tmp_path, {DEMO: f"{DRAWN}TABLE = 'gpus'\n"}).chapter(NAME)
    build(chapter)

    def drawn() -> str:
        text: str = nbformat.read(chapter.solution, as_version=4).cells[-1].outputs[0].text
        return text

    first = drawn()
    edit(chapter, "Add it to itself.", "Add it to itself once.")
    assert build(chapter)
    assert drawn() == first
    edit(chapter, "scale = 2", "scale = 3")
    assert [finding.what for finding in check_build(chapter)] == [
        "its code, gpulab or the course's data changed since it was executed"
    ]
    assert build(chapter)
    assert (second := drawn()) != first
    (chapter.root / "data").mkdir()
    (chapter.root / "data" / "gpus.csv").write_text("gpu\nnone\n")
    assert build(chapter)
    assert drawn() != second


@NO_GPU
def test_a_change_of_tests_alone_keeps_what_a_gpu_has_shown(tmp_path: Path) -> None:
    chapter = make_course(tmp_path, {DEMO: DRAWN}).chapter(NAME)
    build(chapter)
    notebook = nbformat.read(chapter.solution, as_version=4)
    notebook.metadata["gpulab"]["executed_on"]["device"] = "NVIDIA Imaginary"
    nbformat.write(notebook, chapter.solution)

    def seen() -> tuple[str, str]:
        built = nbformat.read(chapter.solution, as_version=4)
        return built.metadata["gpulab"]["executed_on"]["device"], built.cells[-1].outputs[0].text

    device, first = seen()
    edit(chapter, "double(21)", "double(20 + 1)")
    assert check_build(chapter) and build(chapter) and not check_build(chapter)
    assert seen() == (device, first)
    edit(chapter, "double(20 + 1)", "double(22)")  # it is run nevertheless: the test is wrong now
    refusal(chapter)
    edit(chapter, "double(22)", "double(21)")
    edit(chapter, "scale = 2", "scale = 3")
    assert build(chapter)
    assert seen()[0] == "cpu" and seen()[1] != first


@NO_GPU
def test_gpu_cells_wait_for_a_gpu(chapter: Chapter) -> None:
    cells = {cell.id: cell for cell in nbformat.read(chapter.solution, as_version=4).cells}
    assert cells["double_gpu"].execution_count is None
    assert cells["KINDS_test"].execution_count == 5


@NO_GPU
def test_gpu_cells_run_where_there_is_one(chapter: Chapter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told that there is a GPU, the build runs the cell, which finds that there is none."""
    monkeypatch.setattr("grader.authoring.building.gpu_name", lambda: "NVIDIA Imaginary")
    with pytest.raises(Findings, match='cell "double_gpu" raised NeedsGPU: No GPU here'):
        build(chapter, execute=True)


def test_a_cell_that_lacks_a_part_counts_as_not_run(tmp_path: Path) -> None:
    """TensorRT, say: the rest of the chapter can be built where there is a GPU without it."""
    notebook = new_notebook(
        cells=[
            new_code_cell("class NeedsPart(Exception): pass\nraise NeedsPart('TensorRT')"),
            new_code_cell("print('on')"),
        ]
    )
    run(notebook, tmp_path)
    lacking, after = notebook.cells
    assert (lacking.outputs, lacking.execution_count) == ([], None)
    assert after.outputs[0].text == "on\n"


def test_a_kernel_opens_no_port_that_another_one_could_be_given(tmp_path: Path) -> None:
    """Several chapters may be built at once."""
    asked = "import ipykernel, json\nprint(json.loads(ipykernel.get_connection_info())['transport'])"
    notebook = new_notebook(cells=[new_code_cell(asked)])
    run(notebook, tmp_path)
    assert notebook.cells[0].outputs[0].text == "ipc\n"


def test_a_cell_that_raises_stops_the_build(chapter: Chapter) -> None:
    """With its first line, its name, the error, and the notebook of the last build still there."""
    edit(chapter, "number + number", "number + number + 1")
    (line,) = refusal(chapter)
    lines = chapter.source.read_text().splitlines()
    at = lines.index(":test: double")  # counted from 1, the line above it, where the cell begins
    assert line.startswith(f'solutions/{NAME}.md:{at}: cell "double_test" raised WrongAnswer: double(21): you returned')
    assert line.endswith(f'Fix it, then run "grader build {NAME}".')


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os\nos._exit(3)\n", "code cell killed the kernel"),
        ("import time\ntime.sleep(60)\n", "code cell took longer than 2 s"),
    ],
)
def test_a_cell_that_hangs_or_kills_its_kernel(code: str, words: str, tmp_path: Path) -> None:
    chapter = make_course(tmp_path, {DEMO: code}).chapter(NAME)
    (line,) = refusal(chapter, cell_seconds=2)
    assert words in line
    assert not chapter.solution.exists()


def test_outputs_that_must_not_be_published(tmp_path: Path) -> None:
    """Each is named; the kernel's own warnings would show where the author works."""
    changes = {
        'check.equal(double(21), 42, "double(21)")': "import sys\n\nsys.stderr.write('mind'); double(1)",
        "points = check.share(KINDS,": "points = 0.5 * check.share(KINDS,",
        DEMO: "import os\nfrom pathlib import Path\n\nPath('left.txt').write_text('x')\nprint(os.getcwd() + '/x')\n",
    }
    chapter = make_course(tmp_path, changes).chapter(NAME)
    lines = refusal(chapter)
    wanted = [
        'cell "double_test" writes to stderr, for which nbgrader takes all points (mind)',
        'cell "KINDS_test" ends in 1.5 for the right answer, and is worth 3',
        "code cell shows a path of this machine",
        f"solutions/{NAME}/left.txt: left behind by a cell",
    ]
    assert len(lines) == len(wanted)
    for line, words in zip(lines, wanted, strict=True):
        assert words in line


def test_the_kernel_is_the_running_interpreters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where another environment has registered its own as python3; and nothing of the author's leaks in or out."""
    kernel = tmp_path / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text('{"argv": ["/bin/false"], "display_name": "x", "language": "python"}')
    author = tmp_path / "author"
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("GPULAB_HOME", str(author))
    code = "from gpulab import predict\n\npredict('twice 21', guess=40)\n"
    chapter = make_course(tmp_path / "course", {DEMO: code}).chapter(NAME)
    assert build(chapter)
    assert not author.exists()


def test_check_build_names_what_is_out_of_date(chapter: Chapter) -> None:
    """Each way of being out of date, one after the other; the check fixes nothing."""
    assert check_build(chapter) == []
    built = chapter.solution.read_text()

    def complaint() -> str:
        (finding,) = check_build(chapter)
        return str(finding)

    chapter.solution.write_text(built.replace("scale 2,", "scale 5,"))
    assert "its outputs are not those of its last build" in complaint()
    chapter.solution.write_text(built.replace("Add it to itself", "Add it to nothing"))
    assert "cell 5 (03a8c4a9) is not what the source says" in complaint()
    chapter.solution.write_text(built.replace('"display_name": "Python 3"', '"display_name": "Other"'))
    assert "the notebook's metadata is not what the source says" in complaint()
    chapter.solution.write_text(built[:-200])
    assert "not a notebook" in complaint()
    chapter.solution.unlink()
    assert complaint() == f'solutions/{NAME}/{NAME}.ipynb: not built yet. Run "grader build {NAME}".'
    edit(chapter, ":points: 2\n", "")
    assert 'the test of "double" has no points' in complaint()
    edit(chapter, "```{code-cell} ipython3\n:tags: [demo]", ":::{code-cell} ipython3")
    assert "does not open a code cell" in complaint()


def test_building_mends_what_the_check_found(chapter: Chapter) -> None:
    built = chapter.solution.read_bytes()
    chapter.solution.write_bytes(built.replace(b"Add it to itself", b"Add it to nothing"))
    assert build(chapter)
    assert chapter.solution.read_bytes() == built
    chapter.solution.write_bytes(b"{")
    assert build(chapter)
    assert check_build(chapter) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    chapter = make_course(tmp_path).chapter(NAME)
    (tmp_path / "solutions" / NAME).write_text("a file in the folder's place")
    with pytest.raises(CourseError, match="cannot be made"):
        build(chapter)


def test_pictures_lose_what_matplotlib_says_about_itself() -> None:
    """They stay the same pictures."""
    figure, axes = plt.subplots(figsize=(1, 1))
    axes.plot([1, 2])
    drawn = {}
    for kind in ("png", "svg"):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind)
        drawn[kind] = buffer.getvalue()
    plt.close(figure)
    assert b"matplotlib" in drawn["png"] and b"<metadata>" in drawn["svg"]
    data = {"image/png": base64.b64encode(drawn["png"]).decode(), "image/svg+xml": drawn["svg"].decode()}
    notebook = new_notebook(cells=[new_code_cell("plot()", outputs=[new_output("display_data", data=data)])])
    tidy(notebook)
    kept = notebook.cells[0].outputs[0].data
    png = base64.b64decode(kept["image/png"])
    assert b"matplotlib" not in png
    assert (plt.imread(io.BytesIO(png)) == plt.imread(io.BytesIO(drawn["png"]))).all()
    assert "<metadata>" not in kept["image/svg+xml"] and kept["image/svg+xml"].endswith("</svg>\n")
