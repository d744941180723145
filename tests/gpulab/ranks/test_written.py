"""`%%writefile NAME.py` keeps the program in the variable NAME."""

from __future__ import annotations

from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

from gpulab.ranks import written

PROGRAM = "import torch\nprint('hello')\n"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InteractiveShell:
    """A shell in an empty folder; registered twice, as two imports would do."""
    monkeypatch.chdir(tmp_path)
    shell = InteractiveShell()
    written.register(shell)
    written.register(shell)
    return shell


def test_a_written_program_is_kept_under_its_name(shell: InteractiveShell, tmp_path: Path) -> None:
    """The file is written as ever, and the variable holds the same text."""
    assert shell.run_cell(f"%%writefile DDP_SCRIPT.py\n{PROGRAM}").success
    assert (tmp_path / "DDP_SCRIPT.py").read_text() == PROGRAM == shell.user_ns["DDP_SCRIPT"]


@pytest.mark.parametrize("line", ["notes.txt", "two-words.py"])
def test_other_files_are_written_only(shell: InteractiveShell, tmp_path: Path, line: str) -> None:
    """A file whose name is no name of Python's leaves no variable."""
    before = set(shell.user_ns)
    assert shell.run_cell(f"%%writefile {line}\n{PROGRAM}").success
    assert (tmp_path / line).read_text() == PROGRAM
    assert {name for name in set(shell.user_ns) - before if not name.startswith("_")} == set()


def test_a_part_that_is_appended_is_not_the_program(shell: InteractiveShell) -> None:
    """The variable keeps the text of the last whole file."""
    shell.run_cell(f"%%writefile train.py\n{PROGRAM}")
    shell.run_cell("%%writefile -a train.py\nprint('more')\n")
    assert shell.user_ns["train"] == PROGRAM
