"""Reads the course's tables: `data/<name>.csv` as a list of dicts.

What the columns mean, and where each row comes from, is in `data/README.md`.
"""

from __future__ import annotations

import csv
import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Value = int | float | str | None
"""What a cell of a table can hold; an empty one is None."""
OTHER_CARDS = frozenset({"TI", "SUPER", "LAPTOP", "MAX", "D", "NVL", "MIG"})
"""Words of a driver's name that make another card, or a slice of one, of the card with the same number."""


def table(name: str) -> list[dict[str, Value]]:
    """The rows of `data/<name>.csv`, numbers as numbers and empty cells as None.

    Lines that start with `#` are comments. Every call gives new dicts, so a caller may change them.

    Raises:
        LookupError: there is no such table; the message lists those that exist.
    """
    folders = list(_folders())
    for folder in folders:
        path = folder / f"{name}.csv"
        if path.parent == folder and path.is_file():
            return _read(path)
    known = sorted({path.stem for folder in folders for path in folder.glob("*.csv")})
    near = difflib.get_close_matches(str(name), known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known) or 'none'}."
    where = " or ".join(map(str, folders)) or "any folder data/ from here up"
    raise LookupError(f"no table {name!r} in {where}. {hint}")


def gpu_row(gpu: str) -> dict[str, Any]:
    """The row of `data/gpus.csv` for this GPU.

    Raises:
        LookupError: there is none.
    """
    for row in table("gpus"):
        if row["gpu"] == gpu:
            return row
    raise LookupError(f"no GPU {gpu!r} in data/gpus.csv")


def row_of_device(device: str) -> dict[str, Any] | None:
    """The row of `data/gpus.csv` for a GPU as its driver calls it; None where the table does not have that very card.

    Args:
        device: such as `"NVIDIA A100 80GB PCIe"`.
    """
    words = set(device.upper().replace("-", " ").split())
    named = [(row, set(str(row["gpu"]).upper().split())) for row in table("gpus")]
    rows = [row for row, name in named if name <= words and not (words - name) & OTHER_CARDS]
    return max(rows, key=lambda row: len(str(row["gpu"])), default=None)


def data_folder() -> Path:
    """The course's `data/` folder: beside the package, else in the working directory or above it, else in the wheel.

    Raises:
        LookupError: there is none.
    """
    for folder in _folders():
        return folder
    raise LookupError(f"no folder data/ beside {Path(__file__).parent} nor in {Path.cwd()} or above it")


def _folders() -> Iterator[Path]:
    here = Path.cwd()
    seen = set()
    package = Path(__file__).resolve().parent
    beside = (parent / "data" for parent in (package.parent, here, *here.parents))
    for folder in (*beside, package / "_data"):
        # gpus.csv marks the folder as ours: half the projects on a disk have a folder called data.
        if folder not in seen and (folder / "gpus.csv").is_file():
            seen.add(folder)
            yield folder


def _read(path: Path) -> list[dict[str, Value]]:
    with path.open(encoding="utf-8", newline="") as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    rows = csv.DictReader(lines, strict=True)
    return [{column: _value(text) for column, text in row.items()} for row in rows]


def _value(text: str) -> Value:
    text = text.strip()
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
