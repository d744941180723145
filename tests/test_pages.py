"""README and the other pages: links lead somewhere, pictures are described, commands exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import nbformat
import pytest

from grader.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("**/[!.]*.ipynb"))
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "data").glob("*.md"))]


def links(text: str) -> set[str]:
    """Targets of a page's links and images, as far as they lie in this repository."""
    text = re.sub(r"```.*?```|`[^`\n]+`", "", text, flags=re.DOTALL)
    found = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    return {target for target in found if not re.match(r"[a-z]+:", target)}


def anchors(page: Path) -> set[str]:
    """What a link can name behind `#`: the page's headings, as GitHub writes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_links_to_nothing(page: Path) -> None:
    """Links and pictures lead somewhere, to the very heading where one is named."""
    missing = []
    for target in sorted(links(page.read_text())):
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            missing.append(target)
    assert not missing


def prose(notebook: Path) -> str:
    cells = nbformat.read(notebook, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_no_notebook_links_to_nothing(notebook: Path) -> None:
    """Links lead to files that students have, or to a heading, which JupyterLab names with hyphens for spaces."""
    missing = []
    for target in sorted(links(prose(notebook))):
        name, _, anchor = target.partition("#")
        path = (notebook.parent / name).resolve() if name else notebook
        if not path.is_file() or not path.is_relative_to(ROOT / "notebooks"):
            missing.append(target)
        elif anchor:
            headings = re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
            missing += [target] * (anchor not in {re.sub("[`*]", "", one).replace(" ", "-") for one in headings})
    assert not missing


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_what_folds_in_a_notebook_is_whole(notebook: Path) -> None:
    """Each `<details>` has its title and its end in the same cell; without them the rest of the cell stays hidden."""
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type == "markdown":
            tags = re.findall(r"</?(?:details|summary)>", re.sub(r"```.*?```", "", cell.source, flags=re.DOTALL))
            assert tags == ["<details>", "<summary>", "</summary>", "</details>"] * (len(tags) // 4), cell.source[:200]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pictures_say_what_they_show(page: Path) -> None:
    """A reader who does not see a picture can read what it shows."""
    text = page.read_text()
    alternatives = re.findall(r"!\[([^\]]*)\]\(", text) + re.findall(r'<img[^>]*\balt="([^"]*)"', text)
    assert len(alternatives) == text.count("![") + text.count("<img")
    assert all(len(alternative) > 20 for alternative in alternatives)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_commands_that_exist(page: Path) -> None:
    """`make x` and `grader x` in a page can be typed."""
    text = page.read_text()
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    code = re.findall(r"`([^`\n]+)`", text) + "\n".join(re.findall(r"```.*?```", text, re.DOTALL)).splitlines()
    for line in code:
        for target in re.findall(r"^\s*(?:\$ )?make ([a-z-]+)", line):
            assert target in targets, line
        for command in re.findall(r"^\s*(?:\$ )?grader ([a-z-]+)", line):
            assert command in main.commands, line


def test_the_figures_of_the_readme_are_in_the_built_chapters() -> None:
    """Else `make images` stops when it is needed."""
    specification = importlib.util.spec_from_file_location("images", ROOT / "docs" / "images.py")
    assert specification
    assert specification.loader
    images = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(images)
    for chapter, words in images.FIGURES.values():
        assert images.figure(chapter, words).width > 1000, words
