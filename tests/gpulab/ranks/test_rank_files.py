"""What ranks leave is read as plain values, and nothing in it is run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from gpulab import Problem
from gpulab.ranks import files


def test_texts_and_state_dicts_come_back(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "notes.json").write_text("[1, 2]")
    torch.save({"a": torch.arange(3)[::2], "b": {"lr": 0.1}, 3: [None, (1, "x")]}, tmp_path / "weights.pt")
    found = files.read(tmp_path)
    assert found["deep/notes.json"] == "[1, 2]"
    assert found["weights.pt"]["a"].tolist() == [0, 2]
    assert (found["weights.pt"]["b"], found["weights.pt"][3]) == ({"lr": 0.1}, [None, [1, "x"]])


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch /tmp/gpulab-evil",)


def test_code_in_a_checkpoint_is_not_run(tmp_path: Path) -> None:
    torch.save({"a": Evil()}, tmp_path / "weights.pt")
    told = files.read(tmp_path)["weights.pt"]
    assert told == "torch.load(…, weights_only=True) refuses it: it holds a posix.system"
    assert not Path("/tmp/gpulab-evil").exists()


def test_the_earlier_format_is_read_and_code_in_it_is_not_run(tmp_path: Path) -> None:
    for name, value in {"right.pt": {"a": torch.ones(2)}, "evil.pt": {"a": Evil()}}.items():
        torch.save(value, tmp_path / name, _use_new_zipfile_serialization=False)
    found = files.read(tmp_path)
    assert found["right.pt"]["a"].tolist() == [1, 1]
    assert "it holds a" in found["evil.pt"]
    assert not Path("/tmp/gpulab-evil").exists()


def test_a_broken_archive_is_told(tmp_path: Path) -> None:
    torch.save({"a": torch.ones(100)}, tmp_path / "weights.pt")
    whole = (tmp_path / "weights.pt").read_bytes()
    (tmp_path / "weights.pt").write_bytes(whole[:300])
    assert "refuses it" in files.read(tmp_path)["weights.pt"]


def test_pipes_and_links_are_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "small").write_bytes(b"\xff!")
    assert files.read(tmp_path) == {"small": "\ufffd!"}


def test_what_is_too_large_is_not_read_and_says_so(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(files.MOST_BYTES + 1)
    assert files.read(tmp_path) == {"large": "not read: all files of a rank together may have 128 MB"}


def test_the_largest_network_of_a_script_is_read(tmp_path: Path) -> None:
    """On a GPU, scripts train a ResNet-50."""
    torch.save(Problem("resnet50", device="cpu").model().state_dict(), tmp_path / "weights.pt")
    assert "fc.weight" in files.read(tmp_path)["weights.pt"]


def test_there_is_an_end_to_what_one_file_holds(tmp_path: Path) -> None:
    """Thirty lists, each of which holds the one before twice: a small file, and more parts than memory."""
    nested: list[object] = []
    for _ in range(30):
        nested = [nested, nested]
    torch.save(nested, tmp_path / "weights.pt")
    assert "too many parts" in files.read(tmp_path)["weights.pt"]


def test_there_is_an_end_to_the_numbers_of_one_file(tmp_path: Path) -> None:
    """A tensor whose elements all share one place: a small file, and gigabytes once it is copied."""
    wide = torch.zeros(1).expand(files.MOST_BYTES // 4)
    torch.save([wide, wide], tmp_path / "weights.pt")
    assert "more than 128 MB of numbers" in files.read(tmp_path)["weights.pt"]


@pytest.mark.filterwarnings("ignore:.*quantized tensor creation functions", "ignore:TypedStorage is deprecated")
def test_a_tensor_of_a_rare_kind_is_named_only(tmp_path: Path) -> None:
    torch.save([torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)], tmp_path / "weights.pt")
    assert files.read(tmp_path)["weights.pt"] == ["<Tensor>"]


def test_there_is_an_end_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_FILES", 3)
    for number in range(9):
        (tmp_path / str(number)).write_text("x")
    assert len(files.read(tmp_path)) == 3


def test_a_folder_that_is_gone_holds_nothing(tmp_path: Path) -> None:
    assert files.read(tmp_path / "gone") == {}


def test_a_link_in_the_place_of_a_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_text("x")
    (tmp_path / "work").symlink_to(tmp_path / "elsewhere")
    assert files.read(tmp_path / "work") == {}
