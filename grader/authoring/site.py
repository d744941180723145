"""The course as a web site: the chapters as students get them, with the pictures that their demonstrations drew.

The cells are the release's; outputs come from the built notebook, of its ungraded cells only. `releasing` proves its
notebooks clean, and the finished pages are searched in the same way once more. Sphinx with MyST-NB does the rest.
"""

from __future__ import annotations

import base64
import hashlib
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import nbformat
from nbformat import NotebookNode

from grader.authoring.releasing import leaks, secrets_of, texts_of
from grader.model.course import Chapter, Course, CourseError
from grader.model.findings import Finding, Findings
from grader.model.notebook_io import to_text
from grader.model.notebooks import Role, cells_of, read_own

PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
"""Pages beside README.md, which becomes the first one, and docs/."""
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
AFTER_SOLVING = "What this cell shows names lines of your own answer: solve the exercise above, then run it.\n"
MINUTES = 10
SPHINX_SAYS = re.compile(r"(reading|writing) \w+\.\.\. \[ *(\d+)%\]")
OnProgress = Callable[[float, str], None]
"""Called with the share that is done, from 0 to 1, and what is being done."""

CSS = """\
img.figure { max-width: 100%; height: auto; background: white; }
.cell_input pre { overflow-x: auto; }
.cell_output pre { white-space: pre-wrap; }
.cell_output table { display: block; overflow-x: auto; }
"""
CONTENTS = """

```{{toctree}}
:hidden:
:caption: Chapters
{chapters}
```

```{{toctree}}
:hidden:
:caption: Documentation
{pages}
```
"""


def make_site(course: Course, target: Path, on_progress: OnProgress = lambda share, text: None) -> int:
    """Writes the site's pages below `target`, and gives how many chapters it shows.

    Args:
        course: the course; its chapters are built and released.
        target: a folder, made anew: `html/` with the site, beside what it was made from.
        on_progress: told how much is done, and what is being done.

    Raises:
        CourseError: a chapter is not built or released, or Sphinx is missing or fails; the message quotes it.
        Findings: a page shows a line of an answer or of a hidden test.
    """
    shutil.rmtree(target, ignore_errors=True)
    source, pages = target / "source", target / "html"
    chapters = course.chapters()
    on_progress(0.0, "Writing the pages")
    for chapter in chapters:
        folder = source / "notebooks" / chapter.name
        folder.mkdir(parents=True)
        (folder / f"{chapter.name}.ipynb").write_text(to_text(page_of(chapter, folder / "figures")), encoding="utf-8")
    _copy_texts(course, source, chapters)
    _run_sphinx(source, pages, on_progress)
    on_progress(0.9, "Looking for answers")
    figures = [Path("notebooks", chapter.name, "figures") for chapter in chapters]
    for folder in (Path("docs", "images"), *figures):  # named in raw HTML, which Sphinx does not read
        if (source / folder).is_dir():
            shutil.copytree(source / folder, pages / folder)
    if found := [finding for chapter in chapters for finding in leaks_of(chapter, pages)]:
        raise Findings(tuple(found))
    return len(chapters)


def page_of(chapter: Chapter, figures: Path) -> NotebookNode:
    """A chapter's released notebook, with the outputs of the ungraded cells of the built one.

    Args:
        chapter: the chapter.
        figures: the folder that its pictures are written to, as PNG; pages link to them by its name.
    """
    remedy = f'Run "grader build {chapter.name}", then "grader release {chapter.name}".'
    built, released = read_own(chapter.solution, remedy), read_own(chapter.release, remedy)
    if [cell.id for cell in built.cells] != [cell.id for cell in released.cells]:
        raise CourseError(chapter.name, "its release is not that of the built notebook", remedy)
    secrets = secrets_of(built)
    for own, cell, theirs in zip(cells_of(built), released.cells, built.cells, strict=True):
        if own.role is not Role.CODE:
            continue
        cell.execution_count = theirs.execution_count
        if any(leaks(secrets, texts_of(theirs.outputs))):  # as where a tracer names the line of an answer
            cell.outputs = [nbformat.v4.new_output("stream", text=AFTER_SOLVING)]
        else:
            cell.outputs = [_shown(output, figures) for output in theirs.outputs]
    return released


def _shown(output: NotebookNode, figures: Path) -> NotebookNode:
    """An output as the page shows it: a picture becomes a file that loads when it is scrolled to, with its words."""
    if output.output_type not in ("display_data", "execute_result") or "image/png" not in output.data:
        return output
    data = base64.b64decode(output.data["image/png"])
    name = f"{hashlib.sha256(data).hexdigest()[:16]}.png"
    figures.mkdir(exist_ok=True)
    (figures / name).write_bytes(data)
    about = output.metadata.get("image/png", {})
    width = f' width="{int(about["width"])}"' if "width" in about else ""
    words = html.escape(about.get("alt", ""), quote=True)
    tag = f'<img class="figure" loading="lazy" src="{figures.name}/{name}"{width} alt="{words}">'
    return nbformat.v4.new_output("display_data", data={"text/html": tag})


def _copy_texts(course: Course, source: Path, chapters: list[Chapter]) -> None:
    """README, documentation and settings, at the places that they have in the course, so that their links hold."""
    root = course.root
    texts = [*PAGES, *(f"docs/{path.name}" for path in sorted((root / "docs").glob("*.md")))]
    notebooks = [f"notebooks/{chapter.name}/{chapter.name}.ipynb" for chapter in chapters]
    there = {"README.md", *texts, *notebooks}
    contents = CONTENTS.format(chapters="\n".join(notebooks), pages="\n".join([*texts[len(PAGES) :], *PAGES]))
    for name in ("README.md", *texts):
        text = only_links_to(there, (root / name).read_text(encoding="utf-8"), PurePosixPath(name).parent)
        if name == "README.md":
            text += contents
        path = source / ("index.md" if name == "README.md" else name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    shutil.copytree(root / "docs" / "images", source / "docs" / "images")
    shutil.copyfile(root / "docs" / "conf.py", source / "conf.py")
    (source / "_static").mkdir()
    (source / "_static" / "course.css").write_text(CSS)


def only_links_to(there: set[str], text: str, folder: PurePosixPath) -> str:
    """The text, in which links to files that the site does not have are plain words.

    Args:
        there: the site's pages, from its root.
        text: Markdown.
        folder: where the text lies, from the site's root.
    """

    def kept(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        path = os.path.normpath(folder / target)
        if path not in there:
            return words
        return f"[{words}]({target}{anchor})" if path != "README.md" else f"[{words}](/index.md{anchor})"

    return LINK.sub(kept, text)


def _run_sphinx(source: Path, pages: Path, on_progress: OnProgress) -> None:
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--fail-on-warning", "--keep-going"]
    command += ["--jobs", "auto", str(source), str(pages)]
    plain = os.environ | {"NO_COLOR": "1"}  # with colors, as where CI is set, it writes no line per page
    with tempfile.TemporaryFile("w+") as complaints:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True, env=plain) as sphinx:
            alarm = threading.Timer(60 * MINUTES, sphinx.kill)
            alarm.start()
            assert sphinx.stdout is not None
            for line in sphinx.stdout:
                if said := SPHINX_SAYS.match(line):
                    part, share = said[1], int(said[2]) / 100
                    on_progress(0.1 + 0.4 * (share + (part == "writing")), f"Sphinx: {part}")
            code = sphinx.wait()
            late = not alarm.is_alive()
            alarm.cancel()
        complaints.seek(0)
        told = [line for line in complaints.read().splitlines() if line.strip()]
    if late:
        raise CourseError("sphinx", f"did not end within {MINUTES} minutes")
    if any("No module named sphinx" in line for line in told):
        raise CourseError("sphinx", "is not installed", 'Run "pip install -e .[dev]".')
    if code:
        raise CourseError("sphinx", "refuses the pages (" + "; ".join(told[:5]).rstrip(".") + ")", "Fix what it names.")


def leaks_of(chapter: Chapter, pages: Path) -> Iterator[Finding]:
    """Lines of the chapter's answers and hidden tests that any page shows."""
    from bs4 import BeautifulSoup

    secrets = secrets_of(read_own(chapter.solution, f'Run "grader build {chapter.name}".'))
    name = f"notebooks/{chapter.name}/{chapter.name}.html"
    page = BeautifulSoup((pages / name).read_text(encoding="utf-8"), "html.parser")
    code = [block.get_text() for block in page.find_all("pre")]  # in prose, a comma behind `x` would be taken for code
    words = [str(picture.get("alt")) for picture in page.find_all("img")]
    for leak in leaks(secrets, code + words):
        yield Finding(name, leak, f'Fix the source, then run "grader build {chapter.name}" and "grader release" again.')
