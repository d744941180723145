"""`gpulab.predict`: recorded, revealed, summed up; never in the way."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gpulab.check.predictions import Kind, Predictions, predictions_file


@pytest.fixture
def predict() -> Predictions:
    return Predictions()


def test_survives_a_restart_of_the_kernel(predict: Predictions, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    predict("A over B", guess=1.0)
    assert json.loads((home / "predictions.json").read_text(encoding="utf-8")) == {"A over B": {"guess": 1.0}}
    Predictions().reveal("A over B", measured=1.9)
    assert capsys.readouterr().out == (
        "Noted: A over B = 1. Now measure it.\nYou said 1, it is 1.9: off by 1.9×. The right order of magnitude.\n"
    )


@pytest.mark.parametrize(
    ("guess", "measured", "words"),
    [
        (1.0, 1.0, "You said 1 ms, it is 1 ms: exactly. Spot on."),
        (2049, 2048, "off by 1. Worth a second look"),  # a count: the misconception must not be praised
        (20_000_000, 16_777_216, "You said 20,000,000 ms, it is 16,777,216 ms: off by 3,222,784. Worth a second look"),
        (4096.0, np.int64(2048), "off by 2,048. Worth a second look"),
        (1e-33, 1.53, "off by 33 orders of magnitude. Worth a second look"),
        (12_345.6, 50_000.0, "You said 12,346 ms, it is 50,000 ms: off by 4.05×."),
        (1, 1.05, "off by 1.05×. Spot on."),
        (3, 2.0, "off by 1.5×. Close."),
        (1, 100.0, "off by 100×. Worth a second look"),
        (100, 1.0, "off by 100×. Worth a second look"),
        (0, 2.0, "off by 2. Worth a second look"),
        (1, 0, "off by 1. Worth a second look"),
        (-1, 1.0, "off by 2. Worth a second look"),
        (float("nan"), 1.0, "Worth a second look"),
        ("threads", "threads", "exactly. Spot on."),
        ("threads", "processes", "not the same. Worth a second look"),
        (True, False, "not the same"),
        (np.float32(2), np.int64(2), "exactly"),
        (None, 1.0, "not the same"),
        (10**400, 1.0, "not the same"),
    ],
)
def test_says_how_close_it_came(
    predict: Predictions, guess: object, measured: object, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    predict("x", guess)  # type: ignore[arg-type]
    capsys.readouterr()
    predict.reveal("x", measured, unit="ms")  # type: ignore[arg-type]
    assert words in capsys.readouterr().out


@pytest.mark.parametrize(
    ("kind", "guess", "words"),
    [
        ("exact", 1.2, "off by 0.2. Worth a second look"),
        ("ratio", 1.2, "off by 1.2×. Close."),
        ("order", 3.0, "off by 3×. The right order of magnitude."),
        ("order", 4.0, "off by 4×. Worth a second look"),
    ],
)
def test_the_page_can_say_how_a_number_is_judged(
    predict: Predictions, kind: Kind, guess: float, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    predict("x", guess)
    predict.reveal("x", 1.0, kind=kind)
    assert words in capsys.readouterr().out


def test_a_guess_that_nobody_made_is_not_recorded(
    predict: Predictions, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The notebook is handed out with three dots where the guess belongs."""
    predict("x", guess=...)
    assert "Nothing recorded yet" in capsys.readouterr().out
    assert not (home / "predictions.json").exists()
    predict.reveal("x", 2.0)
    assert "You recorded no prediction" in capsys.readouterr().out


def test_reveal_without_a_prediction(predict: Predictions, capsys: pytest.CaptureFixture[str]) -> None:
    predict.reveal("x", 2.0, "ms")
    assert capsys.readouterr().out == "x: 2 ms. You recorded no prediction for it.\n"


def test_summary_lists_what_was_revealed(predict: Predictions, capsys: pytest.CaptureFixture[str]) -> None:
    predict.summary()
    assert "No predictions to compare yet" in capsys.readouterr().out
    for name, guess, measured in [("a", 1, 1.1), ("b", 1, 10.0), ("c", 1, None), ("d", 4, 5)]:
        predict(name, guess)
        if measured:
            predict.reveal(name, measured, "GB/s")
    capsys.readouterr()
    predict.summary()
    assert capsys.readouterr().out == (
        "Close predictions: 1 of 3. Counts must be exact, other numbers within a factor of 1.5.\n"
        "  a  you said 1, it is 1.1 GB/s: off by 1.1×\n"
        "  b  you said 1, it is 10 GB/s: off by 10×\n"
        "  d  you said 4, it is 5 GB/s: off by 1\n"
    )


def test_a_home_that_cannot_be_written_to_is_no_trouble(
    predict: Predictions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("GPULAB_HOME", str(tmp_path / "file" / "below"))
    predict("x", 1)
    predict.reveal("x", 2.0)
    assert "off by 2×" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["", "{", "[1, 2]", '{"x": 3}', '{"x": {}}', "\x00\xff"])
def test_a_broken_file_counts_as_none(
    predict: Predictions, content: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.mkdir()
    predictions_file().write_bytes(content.encode("latin-1"))
    predict.reveal("x", 2)
    assert "no prediction" in capsys.readouterr().out
    predict("x", 1)
    assert json.loads(predictions_file().read_text(encoding="utf-8"))["x"] == {"guess": 1.0}
    assert [path.name for path in home.iterdir()] == ["predictions.json"]
