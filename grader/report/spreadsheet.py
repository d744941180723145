"""Tables as CSV files without formulas and control characters: names of students and files are other people's words."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from grader.model.harmless_text import printable_text

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What spreadsheets take for the beginning of a formula; the last four are those of East Asian keyboards."""
SEPARATORS = (";", "\t", "|")
"""Between columns where a comma is in decimal numbers: what stands after one may be read as a cell of its own."""


def without_formula(cell: str) -> str:
    """The text so that a spreadsheet shows it: a student may be called =HYPERLINK(…)."""
    return f"'{cell}" if cell.startswith(FORMULA) and cell != "-" else cell


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """The table; quoted as a whole where a cell holds what other spreadsheets than ours take for an end of a cell."""
    cells = [[without_formula(printable_text(cell)) for cell in row] for row in rows]
    quoted = any(mark in cell for row in cells for cell in row for mark in SEPARATORS)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL)
    writer.writerows(cells)
    return text.getvalue()
