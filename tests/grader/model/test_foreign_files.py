"""Files that their owners may replace at any moment are read without links and pipes."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from grader.model.foreign_files import read_foreign
from grader.model.harmless_text import printable, printable_text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An ordinary file, two folders deep."""
    path = tmp_path.resolve() / "eve" / "chapter" / "notebook.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text("her own")
    (tmp_path / "solution").mkdir()
    (tmp_path / "solution" / "notebook.ipynb").write_text("a secret")
    return path


def test_an_ordinary_file_is_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_foreign(file, 100) == b"her own"
    assert read_foreign(file, 3) == b"her ", "one byte more tells that there are more"
    monkeypatch.chdir(file.parent)
    assert read_foreign(Path("notebook.ipynb"), 100) == b"her own"


def test_a_link_in_its_place_is_not_followed(file: Path, tmp_path: Path) -> None:
    file.unlink()
    file.symlink_to(tmp_path / "solution" / "notebook.ipynb")
    with pytest.raises(OSError, match="a link"):
        read_foreign(file, 100)


@pytest.mark.parametrize("above", [0, 1], ids=["chapter", "student"])
def test_a_link_in_place_of_a_folder_is_not_followed(file: Path, tmp_path: Path, above: int) -> None:
    folder = file.parents[above]
    (tmp_path / "solution" / "chapter").symlink_to(tmp_path / "solution")
    folder.rename(tmp_path / "aside")
    folder.symlink_to(tmp_path / "solution")
    with pytest.raises(OSError, match="a link"):
        read_foreign(file, 100)


def test_a_pipe_in_its_place_is_not_waited_for(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(OSError, match="not an ordinary file"):
        read_foreign(file, 100)


def test_no_descriptor_is_left(file: Path) -> None:
    descriptors = Path("/proc/self/fd")
    before = len(list(descriptors.iterdir())) if descriptors.exists() else 0
    for path in (file, file.with_name("none"), file / "below", file.parent):
        with suppress(OSError):
            read_foreign(path, 100)
    assert not before or len(list(descriptors.iterdir())) == before


def test_text_of_others_is_shown_as_escapes() -> None:
    assert printable("a\x1b]0;x\x07\n\u202eb\udcff") == "a\\x1b]0;x\\x07\\n\\u202eb\\udcff"
    assert printable_text("a\n\tb\x9bc") == "a\n\tb\\x9bc"
    assert printable("می\u200cخواهم 안나 é") == "می\u200cخواهم 안나 é"
