"""A chapter's source: MyST text to cells that know their lines, with the faults that jupytext passes over in silence.

Knows the text format only; what the cells may contain is up to `lint`, and jupytext does the conversion itself.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from jupytext.myst import get_parser, myst_to_notebook

from grader.authoring.shorthand import expand, option_faults
from grader.model.course import CourseError
from grader.model.findings import Finding, Findings
from grader.model.notebook_io import KERNELSPEC

OPENING = "{code-cell} ipython3"
HEADER = "---\nkernelspec:\n  name: python3\n  display_name: Python 3\n  language: python\n---"

CELL_LIKE = re.compile(r"^[\s>*+-]*(?:\d+[.)]\s*)?(?P<fence>[`~:]{2,})\s*\{?\s*code[-_ ]?cell\b", re.IGNORECASE)
OPTION_LINE = re.compile(r"^\s*:[\w-]+:")


@dataclass(frozen=True)
class SourceCell:
    """One cell as the author wrote it."""

    kind: str
    """`code` or `markdown`."""
    source: str
    options: dict[str, Any] = field(hash=False)
    """The cell's metadata as the notebook has it, its shorthand expanded."""
    line: int
    """Where it begins in the file, counted from 1: the opening fence of a code cell."""
    body_line: int
    """Where the first line of `source` stands in the file."""

    @property
    def settings(self) -> dict[str, Any]:
        """nbgrader's part of the metadata; empty when there is none."""
        value = self.options.get("nbgrader")
        return value if isinstance(value, dict) else {}

    @property
    def grade_id(self) -> str:
        """The grade id, or an empty string."""
        return str(self.settings.get("grade_id", ""))

    @property
    def label(self) -> str:
        """What a message calls the cell."""
        return f'cell "{self.grade_id}"' if self.grade_id else f"{self.kind} cell"


@dataclass(frozen=True)
class ChapterSource:
    """A chapter's source file, cut into cells."""

    path: Path
    text: str
    cells: tuple[SourceCell, ...]

    @property
    def name(self) -> str:
        """The chapter's name."""
        return self.path.stem

    @property
    def digest(self) -> str:
        """Hash of what the notebook takes from the source: another notation of the same cells has the same hash."""
        cells = [(cell.kind, cell.source, cell.options) for cell in self.cells]
        return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()

    def finding(self, line: int, what: str, remedy: str) -> Finding:
        """A finding at a line of this file; a line of 0 stands for the whole file."""
        return finding_at(self.path, line, what, remedy)


@dataclass(frozen=True)
class Fence:
    """A fenced block: where it opens and what stands behind the backticks."""

    line: int
    end: int
    info: str
    content: str
    closed: bool
    marker: str


def finding_at(path: Path, line: int, what: str, remedy: str) -> Finding:
    """A finding at a line of `path`, which is named as seen from the course's root."""
    where = f"{path.parent.name}/{path.name}"
    return Finding(f"{where}:{line}" if line else where, what, remedy)


def read_source(path: Path) -> ChapterSource:
    """The source at `path`, cut into cells.

    Raises:
        CourseError: it is missing or not text.
        Findings: its cells cannot be told apart, or would silently become something else.
    """
    text = _read_text(path)
    tokens = get_parser().parse(text + "\n")
    lines = text.splitlines()
    fences = [_fence(token, lines) for token in tokens if token.type == "fence" and token.level == 0]
    cells = [fence for fence in fences if fence.info == OPENING]
    for found in (
        list(_header_faults(path, tokens)),
        list(_opening_faults(path, lines, fences, cells)),
        list(_closing_faults(path, fences)),
        [*_prose_faults(path, tokens), *(fault for fence in cells for fault in _option_faults(path, fence))],
    ):
        if found:  # what comes later in the list would only be its consequences
            raise Findings(tuple(found))
    if not cells:
        fault = finding_at(path, 0, "there is no code cell in it", f"A cell opens with ```{OPENING}.")
        raise Findings((fault,))
    return ChapterSource(path, text, tuple(_cells(text, lines, cells)))


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CourseError(path, "not there", "A chapter begins as solutions/NN_topic.md.") from None
    except UnicodeDecodeError as error:
        raise CourseError(path, f"not UTF-8 text (byte {error.start})", "Save it as UTF-8.") from None
    except OSError as error:
        raise CourseError(path, f"cannot be read ({error.strerror})", "Fix its permissions.") from None


def _fence(token: Any, lines: list[str]) -> Fence:
    first, end = token.map
    marker = token.markup
    last = lines[end - 1].strip() if end <= len(lines) else ""
    closed = end - 1 > first and len(last) >= len(marker) and set(last) == {marker[0]}
    return Fence(first + 1, end, token.info.rstrip(), token.content, closed, marker)


def _cells(text: str, lines: list[str], fences: list[Fence]) -> Iterator[SourceCell]:
    """jupytext's cells with their lines."""
    notebook = myst_to_notebook(text, add_source_map=True)
    remaining = iter(fences)
    for cell, start in zip(notebook.cells, notebook.metadata["source_map"], strict=True):
        if cell.cell_type == "code":
            fence = next(remaining)
            height = cell.source.count("\n") + 1 if cell.source else 0
            yield SourceCell("code", cell.source, expand(cell.metadata), fence.line, fence.end - height)
        else:
            line = next(number for number in range(start, len(lines)) if lines[number].strip()) + 1
            yield SourceCell(cell.cell_type, cell.source, dict(cell.metadata), line, line)


def _header_faults(path: Path, tokens: list[Any]) -> Iterator[Finding]:
    remedy = f"Begin the file with {HEADER!r}."
    if not tokens or tokens[0].type != "front_matter" or "```" in tokens[0].content:
        yield finding_at(path, 1, "the YAML header is missing, or its closing --- is", remedy)
        return
    try:
        header = yaml.safe_load(tokens[0].content)
    except (yaml.YAMLError, ValueError) as error:
        yield finding_at(path, 2 + _yaml_line(error), f"the header is not YAML ({_yaml_reason(error)})", remedy)
        return
    if not isinstance(header, dict) or header.get("kernelspec") != KERNELSPEC:
        yield finding_at(path, 1, "the header names no kernel, or another one than python3", remedy)
    elif unknown := sorted(set(header) - {"kernelspec", "jupytext"}):
        yield finding_at(path, 1, f"the header says {unknown[0]!r}, which the build would drop", "Take it out.")


def _opening_faults(path: Path, lines: list[str], fences: list[Fence], cells: list[Fence]) -> Iterator[Finding]:
    """Lines that look as if they opened a code cell, and do not."""
    opening = {fence.line for fence in cells}
    cut_off = {fence.line for fence in fences if _swallowed_cell(fence) or not fence.closed}
    inside = {
        line
        for fence in fences
        if fence.line in opening | cut_off or len(fence.marker) > 3  # a longer fence holds an example
        for line in range(fence.line + 1, fence.end + 1)
    }
    for number, line in enumerate(lines, start=1):
        match = CELL_LIKE.match(line)
        if match and number not in opening | inside:
            yield finding_at(path, number, f"{line.strip()!r} does not open a code cell", _fence_remedy(line, match))


def _closing_faults(path: Path, fences: list[Fence]) -> Iterator[Finding]:
    """Blocks without an end, or with an end further down than meant; and raw cells."""
    for fence in fences:
        name = "cell" if fence.info.startswith("{code-cell}") else "block"
        swallowed = _swallowed_cell(fence)
        if fence.info.startswith("{raw-cell}"):
            yield finding_at(path, fence.line, "chapters have no raw cells", "Make it prose or a code cell.")
        elif swallowed or not fence.closed:
            until = f"still open at line {swallowed}, where the next cell begins" if swallowed else "never closed"
            remedy = f"Close it with a line {fence.marker} of its own."
            yield finding_at(path, fence.line, f"the {name} that opens here is {until}", remedy)


def _prose_faults(path: Path, tokens: list[Any]) -> Iterator[Finding]:
    for token in tokens:
        if token.type == "myst_block_break" and token.content.strip():
            what = "the +++ line says something, and prose has no metadata here"
            yield finding_at(path, token.map[0] + 1, what, "Write +++ alone.")


def _swallowed_cell(fence: Fence) -> int:
    """The line at which the next cell begins inside this block; 0 when none does."""
    for offset, line in enumerate(fence.content.splitlines(), start=1):
        match = CELL_LIKE.match(line)
        if match and match["fence"][0] == fence.marker[0] and len(match["fence"]) >= len(fence.marker):
            return fence.line + offset
    return 0


def _fence_remedy(line: str, match: re.Match[str]) -> str:
    if line[0].isspace() or line[0] in ">*+-" or line[0].isdigit():
        return "Cells stand at the margin, not in lists or quotes: take the indentation away."
    if match["fence"] == "```" and line.strip() == f"```{OPENING}":
        return "Put a blank line before it: it belongs to the HTML block above."
    return f"Write ```{OPENING}; anything else becomes prose, or a Python cell in disguise."


def _option_faults(path: Path, fence: Fence) -> Iterator[Finding]:
    """What is wrong with the metadata of a code cell."""
    body = fence.content.splitlines()
    if body and body[0].startswith("---"):
        end = next((at for at, line in enumerate(body[1:], start=1) if line.startswith("---")), 0)
        if not end:
            what = "the metadata block that opens below the fence has no closing ---"
            yield finding_at(path, fence.line + 1, what, "Close it before the code.")
            return
        block, first, rest = body[1:end], fence.line + 2, body[end + 1 :]
    else:
        end = next((at for at, line in enumerate(body) if not line.lstrip().startswith(":")), len(body))
        block, first, rest = [line.lstrip()[1:] for line in body[:end]], fence.line + 1, body[end:]
    code_start = next((line for line in rest if line.strip()), "")
    if OPTION_LINE.match(code_start) or code_start.startswith("---"):
        at = fence.line + 1 + len(body) - len(rest) + rest.index(code_start)
        what = f"{code_start.strip()!r} would become code: metadata stands right below the fence, in one form"
        yield finding_at(path, at, what, "Write all options as lines like :tags: [demo], right below the fence.")
    yield from _yaml_faults(path, "\n".join(block), first)


def _yaml_faults(path: Path, block: str, first_line: int) -> Iterator[Finding]:
    try:
        node = yaml.compose(block, Loader=yaml.SafeLoader)
        options = yaml.safe_load(block) or {}
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an impossible date
        at = first_line + _yaml_line(error)
        yield finding_at(path, at, f"the cell's metadata is not YAML ({_yaml_reason(error)})", "Fix this line.")
        return
    if not isinstance(options, dict):
        what = f"the cell's metadata is a {type(options).__name__}, not a list of names and values"
        yield finding_at(path, first_line, what, "Write one 'name: value' a line.")
        return
    yield from _duplicate_keys(path, node, first_line)
    lines = {key.value: first_line + key.start_mark.line for key, _ in node.value} if node else {}
    for option, what, remedy in option_faults(options):
        yield finding_at(path, lines.get(option, first_line), what, remedy)
    tags = options.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags) or len(set(tags)) < len(tags):
        yield finding_at(path, first_line, f"tags are {tags!r}, not a list of different words", "Write tags: [demo].")


def _duplicate_keys(path: Path, node: Any, first_line: int) -> Iterator[Finding]:
    """YAML keeps the last of two equal keys and says nothing."""
    if not isinstance(node, yaml.MappingNode):
        return
    seen = set()
    for key, value in node.value:
        if key.value in seen:
            at = first_line + key.start_mark.line
            yield finding_at(path, at, f"{key.value!r} stands here for the second time", "Keep one of them.")
        seen.add(key.value)
        yield from _duplicate_keys(path, value, first_line)


def _yaml_line(error: Exception) -> int:
    mark = getattr(error, "problem_mark", None)
    return mark.line if mark else 0


def _yaml_reason(error: Exception) -> str:
    return str(getattr(error, "problem", None) or error).splitlines()[0]
