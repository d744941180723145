"""The course as a web site: complete, without answers, readable in wide and narrow windows, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from browser.window import ROOT, SIZE, Window, window
from bs4 import BeautifulSoup
from courses import NAME, built_course

from grader.authoring import site
from grader.model.course import Course
from grader.model.notebook_io import to_text
from grader.model.notebooks import Role, cells_of

pytestmark = pytest.mark.long

COURSE = Course(ROOT)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the finished pages."""
    folder = tmp_path_factory.mktemp("site")
    told: list[tuple[float, str]] = []
    chapters = site.make_site(COURSE, folder, lambda share, text: told.append((share, text)))
    assert chapters == len(COURSE.chapters()) >= 11
    assert told == sorted(told, key=lambda entry: entry[0])
    assert {"Sphinx: reading", "Sphinx: writing"} <= {text for _, text in told}
    return folder / "html"


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    with window(tmp_path_factory.mktemp("home")) as opened:
        yield opened


def parsed(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def page_of(pages: Path, name: str) -> Path:
    return pages / "notebooks" / name / f"{name}.html"


def test_every_chapter_is_there_with_its_figures_in_words(pages: Path) -> None:
    for chapter in COURSE.chapters():
        pictures = parsed(page_of(pages, chapter.name)).find_all("img", class_="figure")
        assert len(pictures) >= 4, chapter.name
        assert all(len(picture["alt"]) > 20 and picture["loading"] == "lazy" for picture in pictures), chapter.name


def test_every_link_and_picture_leads_to_something(pages: Path) -> None:
    missing = set()
    for path in (path for path in pages.rglob("*.html") if "_static" not in path.parts):  # the theme's own templates
        page = parsed(path)
        named = [tag.get("href") or tag.get("src") for tag in page.find_all(["a", "img", "link", "script"])]
        for address in filter(None, named):
            parts = urlsplit(address)
            if not parts.scheme and parts.path and not (path.parent / unquote(parts.path)).exists():
                missing.add((path.relative_to(pages).as_posix(), address))
    assert not missing


def test_no_page_shows_an_answer(pages: Path) -> None:
    assert [finding for chapter in COURSE.chapters() for finding in site.leaks_of(chapter, pages)] == []
    assert not list(pages.rglob("*.ipynb"))
    assert not list(pages.glob("_sources/*"))


@pytest.mark.parametrize("place", ["output", "words of a figure"])
def test_an_answer_in_a_page_is_found(place: str, tmp_path: Path) -> None:
    chapter = built_course(tmp_path / "course").chapter(NAME)
    secret = "the_whole_secret = 2 * scale"
    page = page_of(tmp_path, NAME)
    page.parent.mkdir(parents=True)
    line = f"<pre><span>{secret}</span></pre>" if place == "output" else f'<img alt="{secret}">'
    page.write_text("<pre>scale = 2</pre>")
    assert not list(site.leaks_of(chapter, tmp_path))
    built = nbformat.read(chapter.solution, as_version=4)
    (answer, *_) = (cell for cell in built.cells if "BEGIN SOLUTION" in cell.source)
    answer.source = answer.source.replace("### END SOLUTION", f"{secret}\n### END SOLUTION", 1)
    chapter.solution.write_text(to_text(built))
    page.write_text(line)
    assert [finding.what for finding in site.leaks_of(chapter, tmp_path)]


def test_outputs_that_name_lines_of_an_answer_are_left_out(tmp_path: Path) -> None:
    chapter = built_course(tmp_path / "course").chapter(NAME)
    shown = site.page_of(chapter, tmp_path)
    given = [cell for own, cell in zip(cells_of(shown), shown.cells, strict=True) if own.role is Role.CODE]
    assert any("scale 2" in str(cell.outputs) for cell in given)
    built = nbformat.read(chapter.solution, as_version=4)
    secret = next(iter(sorted(site.secrets_of(built), key=len, reverse=True)))
    telling = next(cell for cell in built.cells if cell.id == given[0].id)
    telling.outputs = [nbformat.v4.new_output("stream", text=f"line 3: {secret}\n")]
    chapter.solution.write_text(to_text(built))
    again = next(cell for cell in site.page_of(chapter, tmp_path).cells if cell.id == given[0].id)
    assert again.outputs[0].text == site.AFTER_SOLVING


def test_links_to_what_the_site_lacks_become_words() -> None:
    there = {"README.md", "docs/judge.md"}
    text = "[a](judge.md#tiers) [b](../tests/x.py) [`c`](../README.md) ![d](e.png) [f](https://f.org) [g](#g)"
    found = site.only_links_to(there, text, PurePosixPath("docs"))
    assert found == "[a](judge.md#tiers) b [`c`](/index.md) ![d](e.png) [f](https://f.org) [g](#g)"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [SIZE[0], 400])
def test_a_chapter_fits_the_window(width: int, theme: str, pages: Path, view: Window) -> None:
    view.driver.set_window_size(width, SIZE[1])
    view.open(f"file://{page_of(pages, '03_shared_memory')}")
    view.run("document.documentElement.dataset.theme = given[0]; return true", theme)
    view.element("h1", "Shared memory")
    view.run("document.querySelector('img.figure').scrollIntoView(); return true")
    view.wait("picture", lambda: view.run("return document.querySelector('img.figure').naturalWidth > 0"))
    view.shoot(f"40_site_{width}_{theme}")
    too_wide = view.run(
        "const width = document.documentElement.clientWidth;"
        "return [...document.querySelectorAll('article img, article p, article h2')]"
        ".filter(one => !one.closest('table') && one.getBoundingClientRect().right > width + 1)"
        ".map(one => one.outerHTML.slice(0, 100))"
    )
    assert too_wide == []
    assert view.run("return document.documentElement.scrollWidth <= window.innerWidth + 1")


def test_the_search_finds_a_word(pages: Path) -> None:
    index = (pages / "searchindex.js").read_text(encoding="utf-8")
    assert "gradscal" in index  # the stem of GradScaler
