"""Which cells of a notebook read a clock: on a GPU that others use, too, these wait until they are alone there."""

from __future__ import annotations

import re

from nbformat import NotebookNode

CLOCKS = frozenset(
    {"measure", "race", "against", "perf_counter", "Event", "elapsed_time", "do_bench", "Timer", "timeit"}
)
FUNCTION = re.compile(r"^(?:async )?def (\w+)\(.*(?:\n(?:[ \t].*|))*", re.MULTILINE)


def timed_cells(notebook: NotebookNode) -> frozenset[int]:
    """The positions of the cells for GPUs, and of those that name a clock, or a function of the page that does.

    What a test for the CPU measures is not shown, and does not count.
    """
    words, found = set(CLOCKS), set[int]()
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        shown = not cell.metadata.get("nbgrader", {}).get("grade")
        if "gpu" in cell.metadata.get("tags", []) or (shown and words & set(re.findall(r"\w+", cell.source))):
            found.add(index)
        words |= {one[1] for one in FUNCTION.finditer(cell.source) if words & set(re.findall(r"\w+", one[0]))}
    return frozenset(found)
