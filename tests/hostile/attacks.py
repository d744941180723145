"""Reads the bank: one hostile submission a file, with the verdicts that it must get.

A file begins with a header of `# key: value` lines, continued by lines that begin with `#   `:

    # title: Returns an object that equals everything
    # kind: comparison
    # tries: to make every comparison of the test come out true.
    # gets: bump_test failed "must return a number"
    # stock: bump_test 2/2, honest_test 1/1

`gets` names the test cells whose exercise is attacked, each with its verdict, points where a verdict does not tell
them, and words of its message; tests of other exercises are `not attempted`, and `honest_test` passes, unless it says
otherwise. `gets: refused "words"` is for files that are not graded at all. `limits` changes limits, `needs` names what
an attack would be pointless without, `seen` who described it first, `stock` is what `nbgrader autograde` makes of the
same file (`stock.py` writes it).

Percent cells follow. `# %% <exercise>` is the answer to an exercise; `# %% first` and `# %% last` are cells of the
student's own at the beginning and the end; `# %% notebook` is ours: it runs in the test, after the others, with the
notebook's data as `notebook` and may change it, or set `data` to the bytes of the file.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hostile import chapter

FOLDER = Path(__file__).with_name("bank")
KEYS = ("title", "kind", "tries", "seen", "needs", "limits", "gets", "stock")
KINDS = {
    "comparison": "Makes the comparison succeed",
    "answer": "Returns unusual values",
    "search": "Looks for secrets",
    "protocol": "Attacks the protocol between the processes",
    "process": "Breaks or exhausts the machine",
    "notebook": "Changes the notebook",
}
"""What an attack is aimed at; in the order of the table in the docs."""
GETS = re.compile(
    r"(?P<test>\w+) (?P<verdict>passed|partial|failed|not attempted|timed out|crashed)(?: (?P<points>[\d.]+))?"
    r'(?: "(?P<words>[^"]+)")?'
)


@dataclass(frozen=True)
class Expected:
    """What must become of one test cell."""

    verdict: str
    points: float
    words: str = ""


@dataclass(frozen=True)
class Attack:
    """One hostile submission."""

    name: str
    title: str
    kind: str
    tries: str
    gets: dict[str, Expected]
    """Test cell → what must become of it; all of the chapter's."""
    stock: str
    refused: str = ""
    """Words of the reason for which the file must not be graded at all; empty for those that are."""
    seen: str = ""
    needs: frozenset[str] = frozenset()
    limits: dict[str, float] = field(default_factory=dict)
    cells: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.name

    @property
    def earned(self) -> float:
        """Points that it must get."""
        return sum(one.points for one in self.gets.values())

    def data(self) -> bytes:
        """The file that the student sends."""
        sources = {"honest": chapter.RIGHT["honest"]}
        sources.update({where: source for where, source in self.cells if where in chapter.EXERCISES})
        notebook = chapter.notebook(sources)
        for where, source in self.cells:
            if where in ("first", "last"):
                cell = {"cell_type": "code", "id": f"own-{len(notebook['cells'])}", "metadata": {}, "source": source}
                cell.update(execution_count=None, outputs=[])
                place = 2 if where == "first" else len(notebook["cells"])
                notebook["cells"].insert(place, cell)
        names: dict[str, Any] = {"notebook": notebook, "data": None, "RIGHT": chapter.RIGHT}
        for where, source in self.cells:
            if where == "notebook":
                exec(compile(source, str(FOLDER / f"{self.name}.py"), "exec"), names)
        if names["data"] is not None:
            return bytes(names["data"])
        return json.dumps(notebook).encode()


def load(folder: Path = FOLDER) -> list[Attack]:
    """All attacks, by name."""
    return [parse(path.read_text(encoding="utf-8"), path.stem) for path in sorted(folder.glob("*.py"))]


def parse(text: str, name: str) -> Attack:
    """The attack in the text of one file.

    Raises:
        ValueError: a header or a cell is not as the module's docstring says.
    """
    header, cells = split(text)
    unknown = set(header) - set(KEYS)
    missing = {"title", "kind", "tries", "gets"} - set(header)
    if unknown or missing:
        raise ValueError(f"{name}: unknown {sorted(unknown)}, missing {sorted(missing)} in the header")
    if header["kind"] not in KINDS:
        raise ValueError(f"{name}: kind {header['kind']!r}, known are {', '.join(KINDS)}")
    places = {*chapter.EXERCISES, "first", "last", "notebook"}
    if not cells or any(where not in places for where, _ in cells):
        raise ValueError(f"{name}: cells {[where for where, _ in cells]}, known are {sorted(places)}")
    refused = re.fullmatch(r'refused "([^"]+)"', header["gets"])
    limits = dict(part.split("=") for part in header.get("limits", "").split())
    return Attack(
        name=name,
        title=header["title"],
        kind=header["kind"],
        tries=header["tries"],
        gets={} if refused else _expected(header["gets"], name),
        stock=header.get("stock", ""),
        refused=refused[1] if refused else "",
        seen=header.get("seen", ""),
        needs=frozenset(header.get("needs", "").split()),
        limits={key: float(value) for key, value in limits.items()},
        cells=tuple(cells),
    )


def split(text: str) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Header and cells of a file."""
    head, *rest = re.split(r"^# %% (\w+)\n", text, flags=re.MULTILINE)
    header: dict[str, str] = {}
    key = ""
    for line in head.splitlines():
        match = re.match(r"# (\w+): (.+)", line)
        if match:
            key = match[1]
            header[key] = match[2].strip()
        elif line.startswith("#   ") and key:
            header[key] += " " + line[4:].strip()
        elif line.strip():
            raise ValueError(f"not a line of a header: {line!r}")
    return header, [(where, source.strip("\n")) for where, source in zip(rest[::2], rest[1::2], strict=True)]


def _expected(text: str, name: str) -> dict[str, Expected]:
    expected = {test: Expected("not attempted", 0.0) for test in chapter.POINTS}
    expected["honest_test"] = Expected("passed", chapter.POINTS["honest_test"])
    for part in text.split("; "):
        match = GETS.fullmatch(part)
        if match is None or match["test"] not in expected:
            raise ValueError(f"{name}: cannot be read: {part!r}")
        points = chapter.POINTS[match["test"]] if match["verdict"] == "passed" else float(match["points"] or 0)
        expected[match["test"]] = Expected(match["verdict"], points, match["words"] or "")
    return expected
