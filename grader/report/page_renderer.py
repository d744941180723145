"""Renders feedback pages through nbconvert, and each cell that pages have in common only once.

nbconvert highlights, parses and writes out a page cell by cell. A class's pages share most of their cells: the prose,
the chapter's own code, answers and outputs that are alike. `Renderer` gives nbconvert only those cells that it has not
seen, and puts the page together from what came back now and before. The page is the one that nbconvert makes of the
whole notebook; where that is not certain, nbconvert makes it.
"""

from __future__ import annotations

import json
import re
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, is_dataclass
from functools import lru_cache
from typing import Any

from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import GetGrades

from grader.report.rendering import TEMPLATES

MOST_KEPT = 50_000_000
"""Characters of rendered cells that are kept; those that were used last."""
BLANKS = "\x20\n\t\x0c\r"
"""What HTML takes for blank. Of a text of blanks alone, nbconvert keeps one: a line's end, if there was any."""
TAG = re.compile(
    r"<!--.*?-->|<(?P<raw>script|style)\b[^>]*>.*?</(?P=raw)>|<(?P<end>/?)(?P<name>[^\s/>!?]+)[^>]*?(?P<empty>/?)>",
    re.S,
)
"""Of HTML as nbconvert writes it: no attribute and no text holds a `>` or `<`."""


class Unsure(Exception):
    """The page may depend on how its cells stand next to each other."""


class Renderer:
    """Renders pages of one chapter."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._size = 0
        self._marker = f"cell {secrets.token_hex(16)}"  # nobody's notebook knows it

    def page(self, notebook: NotebookNode, resources: dict[str, Any]) -> str:
        """The page of this notebook, byte for byte as `whole_page` makes it.

        Args:
            notebook: is not changed.
            resources: nbconvert's and nbgrader's, with the result in `grader`; is not changed.
        """
        try:
            return self._joined(notebook, resources)
        except Unsure:
            return whole_page(notebook, resources)

    def _joined(self, notebook: NotebookNode, resources: dict[str, Any]) -> str:
        keys = [_key(cell, notebook, resources) for cell in notebook.cells]
        new = {key: cell for key, cell in zip(keys, notebook.cells, strict=True) if key not in self._kept}
        part = NotebookNode({**notebook, "cells": list(new.values())})
        marked = {**resources, "grader": {**resources["grader"], "marker": self._marker}}
        head, *cells, tail = whole_page(part, marked).split(f"<!--{self._marker}-->")
        if len(cells) != len(new):
            raise Unsure("a cell swallowed what follows it")
        for key, cell in zip(new, cells, strict=True):
            if not _stands_alone(cell):
                raise Unsure("a cell opens or closes what another one does not")
            self._keep(key, cell)
        for key in keys:
            self._kept.move_to_end(key)
        pieces = [self._kept[key] for key in keys]
        self._forget()
        return "".join(_put_together([head, *pieces, tail]))

    def _keep(self, key: str, cell: str) -> None:
        self._kept[key] = cell
        self._size += len(cell)

    def _forget(self) -> None:
        while self._size > MOST_KEPT:
            _, cell = self._kept.popitem(last=False)
            self._size -= len(cell)


def whole_page(notebook: NotebookNode, resources: dict[str, Any]) -> str:
    """The page as nbconvert makes it in one go."""
    page, _ = _exporter().from_notebook_node(notebook, dict(resources))
    return str(page)


def _key(cell: NotebookNode, notebook: NotebookNode, resources: dict[str, Any]) -> str:
    """All that a cell's part of the page depends on."""
    surroundings = [notebook.metadata.get("language_info"), resources["metadata"]["path"]]
    return json.dumps([cell, surroundings], sort_keys=True, default=_plain)


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"a cell's metadata hold {type(value).__name__}")


def _stands_alone(cell: str) -> bool:
    """Whether a part of a page is whole elements, so that nothing around it matters."""
    body = cell.strip(BLANKS)
    if body and not (body.startswith("<") and body.endswith(">")):
        return False  # text: blanks around it count
    opened = []
    for tag in TAG.finditer(body):
        if tag["name"] is None or tag["empty"]:
            continue
        if not tag["end"]:
            opened.append(tag["name"])
        elif not opened or opened.pop() != tag["name"]:
            return False
    return not opened


def _put_together(parts: Iterable[str]) -> Iterator[str]:
    """The parts with the blanks between them as nbconvert leaves them where there is no marker."""
    between = ""
    for number, part in enumerate(parts):
        body = part.strip(BLANKS)
        start = len(part) - len(part.lstrip(BLANKS))
        between += part[:start] if body else part
        if not body:
            continue
        yield between if number == 0 else _one_blank(between)
        yield body
        between = part[start + len(body) :]
    yield between


def _one_blank(blanks: str) -> str:
    return "\n" if "\n" in blanks else blanks[:1] and " "


@lru_cache(maxsize=1)
def _exporter() -> HTMLExporter:
    """nbgrader's exporter with our page around its template; made once, the templates compiled once."""
    stock = GenerateFeedback(coursedir=CourseDirectory(root="/"))
    config = stock.config.copy()
    config.HTMLExporter.extra_template_paths = [
        *config.HTMLExporter.extra_template_paths,
        *config.HTMLExporter.extra_template_basedirs,  # ours names nbgrader's by its path in there
        str(TEMPLATES),
    ]
    config.HTMLExporter.template_file = "feedback.html.j2"
    config.HTMLExporter.embed_images = True
    exporter = HTMLExporter(config=config)
    for step in stock.preprocessors:
        if step is not GetGrades:  # done before, on the notebook itself: what follows needs its points
            exporter.register_preprocessor(step, enabled=True)
    return exporter
