"""Chapters for those who do not see them: figures have words, headings make an outline, links say where they lead."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
BUILT = sorted((ROOT / "solutions").glob("*/*.ipynb"))
RELEASED = sorted((ROOT / "notebooks").glob("**/*.ipynb"))
ENOUGH = 20
"""Characters: a file's name is no description."""
SAYS_NOTHING = {"here", "click here", "this", "link", "read more", "more"}


def prose(path: Path) -> Iterator[str]:
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            yield re.sub(r"```.*?```", "", cell.source, flags=re.DOTALL)


@pytest.mark.parametrize("path", BUILT, ids=lambda path: path.stem)
def test_every_figure_is_described(path: Path) -> None:
    """Each image that a cell shows carries alternative text; drawings in SVG have a label."""
    silent, figures = [], 0
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                figures += 1
                alternative = output.get("metadata", {}).get("image/png", {}).get("alt", "")
                if len(alternative) < ENOUGH:
                    silent.append(cell.id)
            for kind in ("image/svg+xml", "text/html"):
                for opening in re.findall(r"<svg\b[^>]*>", str(data.get(kind, ""))):
                    figures += 1
                    label = re.search(r'aria-label="([^"]*)"', opening)
                    if (label is None or len(label[1]) < ENOUGH) and "<title>" not in str(data[kind]):
                        silent.append(cell.id)
    assert silent == []
    assert figures > 0


@pytest.mark.parametrize("path", BUILT, ids=lambda path: path.stem)
def test_pictures_in_the_text_are_described(path: Path) -> None:
    for text in prose(path):
        for alternative in re.findall(r"!\[([^\]]*)\]\(", text):
            assert len(alternative) >= ENOUGH, alternative
        for tag in re.findall(r"<img\b[^>]*>", text):
            assert re.search(r'alt="[^"]{20,}"', tag), tag


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_headings_make_an_outline(path: Path) -> None:
    """One title, and no level left out: screen readers go from heading to heading."""
    levels = [len(marks) for text in prose(path) for marks in re.findall(r"^(#+) ", text, re.MULTILINE)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    jumps = [(one, other) for one, other in itertools.pairwise(levels) if other > one + 1]
    assert jumps == []


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_links_say_where_they_lead(path: Path) -> None:
    for text in prose(path):
        for words in re.findall(r"(?<!!)\[([^\]]+)\]\(", text):
            assert words.strip().lower() not in SAYS_NOTHING, words
