"""Draws docs/images anew from today's state: `make images`. It needs chromium and chromedriver, and takes minutes.

`lab.png` is a chapter in JupyterLab, `grade.png` the terminal after `make grade`, `report.png` the report it wrote;
the figures are those of the built chapters.
"""

from __future__ import annotations

import base64
import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from PIL import Image
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from browser.test_student import go_to, run_cell  # noqa: E402 # below tests/
from browser.window import Window, server, window  # noqa: E402

FIGURES = {
    "memory": ("02_cuda_basics", "trace.picture(walked)"),
    "timeline": ("06_transfers", "overlap_pictures.draw_overlap(one_by_one, overlapped"),
    "roofline": ("01_gpu_architecture", "rooflines: a slope, then a flat part. "),
}
"""Image → its chapter, and words of the cell that draws it."""
GRADED = "01_gpu_architecture"
COLORS = 128
"""Of an image: fewer make it light."""
COLUMNS = 100
WIDTH, HEIGHT = 1280, 960


def main() -> None:
    """Writes every image."""
    for name, (chapter, cell) in FIGURES.items():
        save(name, figure(chapter, cell))
    with tempfile.TemporaryDirectory() as place, window(Path(place)) as page:
        page.driver.set_window_size(WIDTH, HEIGHT)
        draw_lab(page, Path(place) / "lab")
        draw_grading(page, Path(place) / "course")


def figure(chapter: str, words: str) -> Image.Image:
    """The last figure with these words in its description, or drawn by a cell with them, when the chapter was built."""
    notebook = nbformat.read(ROOT / "solutions" / chapter / f"{chapter}.ipynb", as_version=4)
    drawn = [
        output.data["image/png"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "image/png" in output.get("data", {})
        and (words in output.metadata.get("image/png", {}).get("alt", "") or words in cell.source)
    ]
    return Image.open(io.BytesIO(base64.b64decode(drawn[-1])))


def save(name: str, image: Image.Image) -> None:
    """Writes an image on white, with few colors."""
    picture = Image.new("RGB", image.size, "white")
    picture.paste(image, mask=image.getchannel("A") if image.mode == "RGBA" else None)
    path = IMAGES / f"{name}.png"
    picture.quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {picture.width} × {picture.height}, {path.stat().st_size / 1e3:.0f} kB")


def seen(page: Window) -> Image.Image:
    """What the window shows."""
    return Image.open(io.BytesIO(page.driver.get_screenshot_as_png()))


def draw_lab(page: Window, folder: Path) -> None:
    """Chapter 02 as a student has it, with the picture of a slow kernel's memory accesses."""
    chapter, cell = FIGURES["memory"]
    shutil.copytree(ROOT / "notebooks" / chapter, folder / "notebooks" / chapter)
    shutil.copytree(ROOT / "jupyter", folder / "jupyter")
    shutil.copytree(ROOT / "data", folder / "data")
    command = [sys.executable, "-m", "jupyter", "lab", "--allow-root", f"--ServerApp.root_dir={folder / 'notebooks'}"]
    variables = {"JUPYTER_CONFIG_PATH": str(folder / "jupyter"), "PYTHONPATH": str(ROOT)}
    with server(folder, command, variables) as lab:
        page.open(lab.at(f"lab/tree/{chapter}/{chapter}.ipynb"))
        page.element(".jp-RenderedHTMLCommon h1", "CUDA basics", 90)
        page.click(".jp-RenderedHTMLCommon h1", "CUDA basics")  # gives it the focus
        page.wait("the notebook", lambda: page.run("return Boolean(jupyterapp.shell.currentWidget?.content)") is True)
        for words in ("import numpy as np", "def row_sums", cell):
            run_cell(page, words, 120)
        page.wait("the figure", lambda: page.all(".jp-OutputArea-output img"))
        go_to(page, "def row_sums")
        page.run("await new Promise(done => setTimeout(done, 1500)); return 1;")
        save("lab", seen(page))


def draw_grading(page: Window, folder: Path) -> None:
    """What `make grade` prints for the bundled class, and its report."""
    for name in ("answers", "notebooks", "solutions"):
        shutil.copytree(ROOT / name / GRADED, folder / name / GRADED)
    shutil.copy(ROOT / "solutions" / f"{GRADED}.md", folder / "solutions")
    shutil.copytree(ROOT / "data", folder / "data")
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    grader(folder, "sample", GRADED)
    console = Console(record=True, file=io.StringIO(), width=COLUMNS, legacy_windows=False)
    console.print(Text.from_ansi(grader(folder, "autograde", GRADED)))
    svg = folder / "grade.svg"
    svg.write_text(console.export_svg(title="make grade"), encoding="utf-8")
    page.open(svg.as_uri())
    box = page.driver.execute_script("const b = document.documentElement.viewBox.baseVal; return [b.width, b.height]")
    page.driver.set_window_size(round(box[0]), round(box[1]) + 150)  # the window's own frame takes some
    save("grade", seen(page).crop((0, 0, round(box[0]), round(box[1]))))
    draw_report(page, folder)


def draw_report(page: Window, folder: Path) -> None:
    """The top of the report in the course in `folder`, without the folder's own path."""
    report = folder / "work" / "reports" / GRADED / "report.html"
    shown = report.with_name("shown.html")
    shown.write_text(report.read_text(encoding="utf-8").replace(f"{folder}/", ""), encoding="utf-8")
    page.driver.set_window_size(WIDTH, 1000)
    page.open(shown.as_uri())
    save("report", seen(page))


def grader(folder: Path, *arguments: str) -> str:
    """What the command prints for a terminal, without its progress."""
    variables = {"PYTHONPATH": str(ROOT), "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1"}
    command = [sys.executable, "-m", "grader", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | variables, stdout=subprocess.PIPE, text=True, check=True, timeout=900
    )
    return done.stdout


if __name__ == "__main__":
    main()
