"""Records what a student expects before a measurement, and shows afterwards how close it came.

Predictions are kept in one JSON file in the student's home, so that they survive a kernel restart. They earn nothing
and cost nothing; a home that cannot be written to only shortens their life to the session.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

Record = dict[str, Any]
"""One prediction: `guess`, and once revealed `measured` and `unit`."""

_BANDS = ((1.1, "Spot on."), (1.5, "Close."), (3.0, "The right order of magnitude."))
_FAR_OFF = "Worth a second look: what did you expect to happen?"


class Predictions:
    """Call it to record a prediction; `reveal` and `summary` compare it with what was measured."""

    def __init__(self) -> None:
        self._session: dict[str, Record] = {}

    def __call__(self, name: str, guess: float | str | bool) -> None:
        """Records a guess under a name and prints one line; a later guess under that name replaces it.

        Args:
            name: what is predicted; `reveal` takes the same name.
            guess: a number in whatever unit the measurement will have, or a word.
        """
        value = _plain(guess)
        self._keep(name, {"guess": value})
        print(f"Noted: {name} = {_shown(value)}. Now measure it.")

    def reveal(self, name: str, measured: float | str | bool, unit: str = "") -> None:
        """Prints how close the prediction called `name` came to the measured value.

        Args:
            name: as given when it was recorded.
            measured: what was measured, in the unit of the guess.
            unit: shown behind both values.
        """
        value, space = _plain(measured), f" {unit}" if unit else ""
        record = self._all().get(name)
        if record is None:
            print(f"{name}: {_shown(value)}{space}. You recorded no prediction for it.")
            return
        self._keep(name, {"guess": record["guess"], "measured": value, "unit": unit})
        line, verdict = _comparison(record["guess"], value)
        print(f"You said {_shown(record['guess'])}{space}, it is {_shown(value)}{space}: {line}. {verdict}")

    def summary(self) -> None:
        """Prints the predictions of this session (of all sessions if it has none) beside what was measured."""
        records = self._session or self._all()
        revealed = {name: record for name, record in records.items() if "measured" in record}
        if not revealed:
            print("No predictions to compare yet: record one with predict(name, guess=…) and reveal it.")
            return
        ratios = [_ratio(record["guess"], record["measured"]) for record in revealed.values()]
        close = sum(ratio <= _BANDS[1][0] for ratio in ratios)
        print(f"{len(revealed)} predictions compared, {close} of them close (within a factor of {_BANDS[1][0]}).")
        width = max(map(len, revealed))
        for name, record in revealed.items():
            space = f" {record['unit']}" if record.get("unit") else ""
            line, _ = _comparison(record["guess"], record["measured"])
            values = f"you said {_shown(record['guess'])}, it is {_shown(record['measured'])}{space}"
            print(f"  {name:<{width}}  {values}: {line}")

    def _all(self) -> dict[str, Record]:
        return {**_load(), **self._session}

    def _keep(self, name: str, record: Record) -> None:
        self._session[name] = record
        _save({**_load(), **self._session})


predict = Predictions()
"""The course's predictions: `predict(name, guess)`, `predict.reveal(name, measured)`, `predict.summary()`."""


def predictions_file() -> Path:
    """Where predictions are kept: `$GPULAB_HOME/predictions.json`, by default in `~/.local/share/gpulab`."""
    home = os.environ.get("GPULAB_HOME")
    folder = Path(home) if home else Path(os.path.expanduser("~")) / ".local" / "share" / "gpulab"  # noqa: PTH111 - Path.home() raises without a home
    return folder / "predictions.json"


def _load() -> dict[str, Record]:
    try:
        stored = json.loads(predictions_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(stored, dict):
        return {}
    return {name: record for name, record in stored.items() if isinstance(record, dict) and "guess" in record}


def _save(records: dict[str, Record]) -> None:
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


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _ratio(guess: Any, measured: Any) -> float:
    """How many times too large or too small a guess is (≥ 1); 1 for a right word, infinity for a wrong one."""
    if isinstance(guess, float) and isinstance(measured, float):
        if guess == measured:
            return 1.0
        quotient = guess / measured if measured else math.inf
        return max(quotient, 1 / quotient) if 0 < quotient < math.inf else math.inf
    return 1.0 if guess == measured else math.inf


def _comparison(guess: Any, measured: Any) -> tuple[str, str]:
    ratio = _ratio(guess, measured)
    verdict = next((words for limit, words in _BANDS if ratio <= limit), _FAR_OFF)
    if ratio == 1.0:
        return "exactly", _BANDS[0][1]
    if math.isinf(ratio) and isinstance(guess, float) and isinstance(measured, float):
        return f"off by {_shown(abs(guess - measured))}", verdict
    return ("not the same", verdict) if math.isinf(ratio) else (f"off by {ratio:.3g}×", verdict)
