"""The source text behind PTX's `.loc` lines."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass, field

from gpulab.trace.ptx.text.syntax import Location, Module
from gpulab.trace.python.places import SourcePlace


@dataclass(frozen=True)
class Sources:
    """Where the lines of a module's files can be read.

    Args:
        files: number of a file in the PTX → its path.
        texts: path → text, for sources that are in no file.
    """

    files: dict[int, str]
    texts: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(module: Module, source: str | None) -> Sources:
        """The sources of a module; `source` is the string that it was compiled from, if there is one."""
        if source is None:
            return Sources(dict(module.files))
        home = next((path for path in module.files.values() if path.endswith("kernel.cu")), "kernel.cu")
        return Sources(dict(module.files), {home: source})

    def place(self, location: Location) -> SourcePlace:
        """Line and text of a location."""
        return SourcePlace(location.line, self.line(location).strip())

    def line(self, location: Location) -> str:
        """The text of a location's line."""
        path = self.files.get(location.file, "")
        if path in self.texts:
            lines = self.texts[path].splitlines()
            return lines[location.line - 1] if 0 < location.line <= len(lines) else ""
        return linecache.getline(path, location.line).rstrip("\n") if path else ""

    def expression(self, location: Location, name: str, writes: bool) -> str:
        """How a line indexes an array: `x[i]`; empty if it does not name the array, or in several ways."""
        text = self.line(location)
        found = [
            match[0]
            for match in re.finditer(rf"\b{re.escape(name)}\s*(?:\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\])+", text)
        ]
        if len(set(found)) > 1:
            left = re.match(r"[^=]*", text)
            head = left[0] if left else ""
            sides = [one for one in found if (one in head) == writes]
            found = sides if len(set(sides)) == 1 else []
        return found[0] if found else ""


def parameter_names(source: str, kernel: str) -> list[str]:
    """The names of a kernel's parameters in CUDA C++, as far as they can be read from it."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.DOTALL)
    for match in re.finditer(rf"\b{re.escape(kernel)}\s*\(", text):
        depth, at = 1, match.end()
        while at < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        if not re.match(r"\s*\{", text[at:]):
            continue
        inside = text[match.end() : at - 1]
        parts = re.split(r",(?![^<(]*[>)])", inside)
        names = [re.findall(r"[A-Za-z_]\w*", part.split("=")[0]) for part in parts]
        return [found[-1] for found in names if found]
    return []
