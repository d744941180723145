"""What is kept of the outputs that a student's process claims to have made: well-formed, storable, and not too much.

What arrives is any JSON. What leaves can be written to a file and is a notebook output by nbformat's rules; whether it
is safe to show is for those to decide who show it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from grader.model.results import Output

MAX_DISPLAYS = 100
"""Pictures and results kept of one cell."""
MAX_PIECES = 200
"""Outputs of one cell beyond which printed text goes to the one before, whichever stream it was written to: a page
takes a thousandth of a second for each."""
MAX_DEPTH = 40
MIME = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}")
JSON_MIME = re.compile(r"application/(?:[\w.-]+\+)?json")


def storable(text: str) -> str:
    """The text with what no file can hold (halves of surrogate pairs) written as question marks."""
    return text.encode("utf-8", "replace").decode()


class KeptOutputs:
    """The outputs of one cell.

    Args:
        text_characters: of printed text and errors; the rest is cut and counted.
        characters: of everything, pictures included.
    """

    def __init__(self, text_characters: int, characters: int) -> None:
        self._text_room, self._room = text_characters, characters
        self._displays = 0
        self._dropped = 0
        self.outputs: list[Output] = []
        self.characters = 0
        """Kept so far."""

    def add(self, output: Any) -> None:
        """Takes one output, if it is one, as far as there is room for it."""
        if not isinstance(output, dict):
            return
        kind = output.get("output_type")
        if kind == "clear":
            self.outputs.clear()
        elif kind == "stream":
            self.print(output.get("text"), "stderr" if output.get("name") == "stderr" else "stdout")
        elif kind == "error":
            self._error(output)
        elif kind in ("display_data", "execute_result"):
            self._display(kind, output.get("data"), output.get("metadata"))

    def print(self, text: Any, name: str = "stdout") -> None:
        """Takes printed text."""
        if not isinstance(text, str) or not text:
            return
        room = max(0, min(self._text_room, self._room))
        kept = storable(text[:room])
        self._dropped += len(text) - len(kept)
        self._take(len(kept), text=True)
        if kept:
            self._append(kept, name)

    def finish(self) -> list[Output]:
        """All that was kept, with a note on what was not."""
        if self._dropped:
            note = f"\n[{self._dropped} more characters of output were cut]\n"
            self._append(note, "stdout")
        return self.outputs

    def _append(self, text: str, name: str) -> None:
        last = self.outputs[-1] if self.outputs else {}
        if last.get("name") == name or (last.get("output_type") == "stream" and len(self.outputs) >= MAX_PIECES):
            self.outputs[-1]["text"] += text
        else:
            self.outputs.append({"output_type": "stream", "name": name, "text": text})

    def _error(self, output: dict[str, Any]) -> None:
        lines = output.get("traceback")
        lines = [_string(line, 5_000) for line in lines[:200]] if isinstance(lines, list) else []
        error = {"ename": _string(output.get("ename"), 200), "evalue": _string(output.get("evalue"), 5_000)}
        size = sum(map(len, (*lines, *error.values())))
        if size > min(self._text_room, self._room):
            lines, size = [], len(error["ename"]) + len(error["evalue"])
        self._take(size, text=True)
        # Kept even when there is no more room: how a cell ended decides what its test says.
        self.outputs = [one for one in self.outputs if one["output_type"] != "error"]
        self.outputs.append({"output_type": "error", **error, "traceback": lines})

    def _display(self, kind: str, data: Any, metadata: Any) -> None:
        clean, size = _bundle(data)
        if not clean:
            return
        if self._displays >= MAX_DISPLAYS or size > self._room:
            self._dropped += size
            return
        self._displays += 1
        self._take(size)
        output: Output = {"output_type": kind, "data": clean, "metadata": about_pictures(metadata, clean)}
        if kind == "execute_result":
            output["execution_count"] = None
        self.outputs.append(output)

    def _take(self, size: int, text: bool = False) -> None:
        self.characters += size
        self._room -= size
        if text:
            self._text_room -= size


def about_pictures(metadata: Any, data: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Of a MIME bundle's metadata what a page may take over: the words for each picture, and its size in pixels."""
    found = {}
    for mime in data:
        said = metadata.get(mime) if mime.startswith("image/") and isinstance(metadata, dict) else None
        if not isinstance(said, dict):
            continue
        words = {"alt": alt} if (alt := _string(said.get("alt"), 5_000)) else {}
        # nbconvert writes them without quotes: a string could bring a handler along.
        sizes = {
            side: said[side] for side in ("width", "height") if type(said.get(side)) is int and 0 < said[side] < 1e4
        }
        if words or sizes:
            found[mime] = words | sizes
    return found


def _string(value: Any, most: int) -> str:
    return storable(value[:most]) if isinstance(value, str) else ""


def _bundle(data: Any) -> tuple[dict[str, Any], int]:
    """The well-formed part of a MIME bundle, and its size."""
    clean: dict[str, Any] = {}
    size = 0
    for mime, body in data.items() if isinstance(data, dict) else ():
        if not MIME.fullmatch(mime):
            continue
        if JSON_MIME.fullmatch(mime):
            if _deep(body):
                continue
            try:
                text = storable(json.dumps(body, ensure_ascii=False, allow_nan=False))
            except ValueError:  # NaN, which JSON does not have
                continue
            clean[mime] = json.loads(text)
            size += len(text)
        elif isinstance(body, str):
            clean[mime] = storable(body)
            size += len(body)
    return clean, size


def _deep(value: Any) -> bool:
    """Whether a value is nested deeper than a sane one."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True
