"""Records what a student expects before a measurement, and shows afterwards how close it came.

A prediction is judged by what was measured: a count must be met exactly, a measured quantity within a factor, a word or
a yes-or-no must be the right one. Predictions are kept in one JSON file in the student's home, so that they survive a
kernel restart. They earn nothing and cost nothing; in a home that cannot be written to they last for the session.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
from pathlib import Path
from types import EllipsisType
from typing import Any, Literal

PredictionRecord = dict[str, Any]
"""One prediction: `guess`, and once revealed `measured`, `unit` and `kind`."""
Kind = Literal["exact", "ratio", "order"]
"""How a number is judged: it must be met, come within a factor, or have the right order of magnitude."""

_BANDS = ((1.1, "Spot on."), (1.5, "Close."), (3.0, "The right order of magnitude."))
_CLOSE = _BANDS[1][0]
_SAME_ORDER = 10**0.5
_FAR_OFF = "Worth a second look: what did you expect to happen?"
_READABLE = 10_000.0
"""Ratios from here on are given in orders of magnitude."""


class Predictions:
    """Call it to record a prediction; `reveal` and `summary` compare it with what was measured."""

    def __init__(self) -> None:
        self._session: dict[str, PredictionRecord] = {}

    def __call__(self, name: str, guess: float | str | bool | EllipsisType = ...) -> None:
        """Records a guess under a name and prints one line; a later guess under that name replaces it.

        Args:
            name: what is predicted; `reveal` takes the same name.
            guess: a number in whatever unit the measurement will have, or a word. `...`, which stands in the notebook
                as it is handed out, records nothing.
        """
        if isinstance(guess, EllipsisType):
            print("Nothing recorded yet: put your guess in place of the three dots and run this cell again.")
            return
        value = _plain(guess)
        self._keep(name, {"guess": value})
        print(f"Noted: {name} = {_shown(value)}. Now measure it.")

    def reveal(self, name: str, measured: float | str | bool, unit: str = "", kind: Kind | None = None) -> None:
        """Prints how close the prediction called `name` came to the measured value.

        Args:
            name: as given when it was recorded.
            measured: what was measured, in the unit of the guess.
            unit: shown behind both values.
            kind: how a number is judged; when left out, an int is a count and must be met exactly, and a float must
                come within a factor.
        """
        kind = kind or ("exact" if _is_count(measured) else "ratio")
        value, space = _plain(measured), f" {unit}" if unit else ""
        record = self._all().get(name)
        if record is None:
            print(f"{name}: {_shown(value)}{space}. You recorded no prediction for it.")
            return
        self._keep(name, {"guess": record["guess"], "measured": value, "unit": unit, "kind": kind})
        line, verdict, _ = _comparison(record["guess"], value, kind)
        print(f"You said {_shown(record['guess'])}{space}, it is {_shown(value)}{space}: {line}. {verdict}")

    def summary(self) -> None:
        """Prints the predictions of this session (of all sessions if it has none) next to what was measured."""
        records = self._session or self._all()
        revealed = {name: record for name, record in records.items() if "measured" in record}
        if not revealed:
            print("No predictions to compare yet: record one with predict(name, guess=…) and reveal it.")
            return
        compared = {
            name: _comparison(record["guess"], record["measured"], record.get("kind", "ratio"))
            for name, record in revealed.items()
        }
        close = sum(good for _, _, good in compared.values())
        rule = f"Counts must be exact, other numbers within a factor of {_CLOSE}."
        print(f"Close predictions: {close} of {len(revealed)}. {rule}")
        width = max(map(len, revealed))
        for name, record in revealed.items():
            space = f" {record['unit']}" if record.get("unit") else ""
            line = compared[name][0]
            values = f"you said {_shown(record['guess'])}, it is {_shown(record['measured'])}{space}"
            print(f"  {name:<{width}}  {values}: {line}")

    def _all(self) -> dict[str, PredictionRecord]:
        return {**_load(), **self._session}

    def _keep(self, name: str, record: PredictionRecord) -> None:
        self._session[name] = record
        _save({**_load(), **self._session})


predict = Predictions()
"""The course's predictions: `predict(name, guess)`, `predict.reveal(name, measured)`, `predict.summary()`."""


def predictions_file() -> Path:
    """Where predictions are kept: `$GPULAB_HOME/predictions.json`, by default in `~/.local/share/gpulab`."""
    home = os.environ.get("GPULAB_HOME")
    folder = Path(home) if home else Path(os.path.expanduser("~")) / ".local" / "share" / "gpulab"  # noqa: PTH111 - Path.home() raises without a home
    return folder / "predictions.json"


def _load() -> dict[str, PredictionRecord]:
    try:
        stored = json.loads(predictions_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(stored, dict):
        return {}
    return {name: record for name, record in stored.items() if isinstance(record, dict) and "guess" in record}


def _save(records: dict[str, PredictionRecord]) -> None:
    target = predictions_file()
    # A home that cannot be written to must not stop the notebook: the session keeps its predictions in memory.
    with contextlib.suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".predictions-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(records, file, ensure_ascii=False, indent=1, sort_keys=True)
            os.replace(temporary, target)  # noqa: PTH105 - atomic, and the same words as everywhere in the course
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise


def _plain(value: Any) -> float | str | bool:
    if isinstance(value, (bool, str)):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return str(value)
    return number


def _is_count(value: Any) -> bool:
    """Whether this is an int, of Python or NumPy."""
    return not isinstance(value, bool) and hasattr(value, "__index__")


def _shown(value: Any) -> str:
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value)
    if value.is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,.0f}" if _READABLE <= abs(value) < 1e15 else f"{value:.4g}"


def _ratio(guess: Any, measured: Any) -> float:
    """How many times too large or too small a guess is (≥ 1); 1 for a right word, infinity for a wrong one."""
    if isinstance(guess, float) and isinstance(measured, float):
        if guess == measured:
            return 1.0
        quotient = guess / measured if measured else math.inf
        return max(quotient, 1 / quotient) if 0 < quotient < math.inf else math.inf
    return 1.0 if guess == measured else math.inf


def _comparison(guess: Any, measured: Any, kind: str) -> tuple[str, str, bool]:
    """How far off a guess is, what to say about it, and whether it counts as close."""
    ratio = _ratio(guess, measured)
    if ratio == 1.0:
        return "exactly", _BANDS[0][1], True
    numbers = isinstance(guess, float) and isinstance(measured, float)
    if not numbers:
        return "not the same", _FAR_OFF, False
    if kind == "exact" or math.isinf(ratio):
        return f"off by {_shown(abs(guess - measured))}", _FAR_OFF, False
    away = f"off by {ratio:.3g}×" if ratio < _READABLE else f"off by {math.log10(ratio):.0f} orders of magnitude"
    if kind == "order":
        same = ratio <= _SAME_ORDER
        return away, _BANDS[-1][1] if same else _FAR_OFF, same
    verdict = next((words for limit, words in _BANDS if ratio <= limit), _FAR_OFF)
    return away, verdict, ratio <= _CLOSE
