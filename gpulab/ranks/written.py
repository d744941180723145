"""A program written with IPython's `%%writefile NAME.py` is kept in the variable NAME as well.

So an exercise whose answer is a program can be answered with a file: the cell `%%writefile DDP_SCRIPT.py` writes the
file for `torchrun DDP_SCRIPT.py`, and gives the tests of the notebook the same text under the name that they ask for.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from gpulab import ipython


def register(shell: Any) -> None:
    """Lets `%%writefile` of an IPython shell keep the text of a Python file in the variable of the file's name.

    Args:
        shell: nothing happens if it has been done for this one before.
    """
    write = shell.find_cell_magic("writefile")
    if write is None or hasattr(write, "kept_by_gpulab"):
        return

    def writefile(line: str, cell: str) -> None:
        write(line, cell)
        words = line.split()
        file = PurePath(words[-1].strip("'\"")) if words else PurePath()
        if file.suffix == ".py" and file.stem.isidentifier() and not {"-a", "--append"} & set(words):
            shell.user_ns[file.stem] = cell

    writefile.kept_by_gpulab = True  # type: ignore[attr-defined]  # a mark on the function, for the next call
    shell.register_magic_function(writefile, magic_kind="cell", magic_name="writefile")


def _register_in_a_notebook() -> None:
    """Where there is a shell, it is done as soon as this module is imported."""
    if (shell := ipython.shell()) is not None:
        register(shell)


_register_in_a_notebook()
