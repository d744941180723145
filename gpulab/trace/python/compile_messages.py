"""Numba's messages about a kernel, made short: the student's own line, the sentence that matters, and a remedy.

Numba names every candidate that it tried, and the file of each. Of a kernel the first named place in the student's own
source is the innermost one, which is where the mistake is.
"""

from __future__ import annotations

import linecache
import re
from types import FunctionType
from typing import Any

from gpulab.trace.errors import CompileError

_SHAPE = "The shape of a shared or local array takes numbers and names of globals; for TILE + 1, add a global."
_INDEX = "An index is a float: divide with //, or convert with int(…)."
_NO_ARRAYS = "A kernel makes no arrays: pass one, or use cuda.local.array."

_REMEDIES = (
    (r"No conversion from .* to none|must have void return", "A kernel returns nothing: write into an array instead."),
    (r"Untyped global name .*<class 'function'>", "Write @cuda.jit(device=True) above a function that a kernel calls."),
    (
        r"(getitem|setitem)\(array\([^)]*\), (float|(Uni)?Tuple\([^)]*float)",
        _INDEX,
    ),
    (r"array\(int64, class|(shared|local)\.array", _SHAPE),
    (
        r"function (zeros|ones|empty|full|arange|array)\b",
        _NO_ARRAYS,
    ),
    (r"\bnp\.|<module 'numpy'", "Many of NumPy's functions do not exist in a kernel: write a loop."),
    (r"reflected list|LIST|list\(", "There are no lists in a kernel: use cuda.local.array or cuda.shared.array."),
    (r"unicode_type|Literal\[str\]|dict|set\(", "A kernel computes with numbers and arrays only."),
)


def compile_error(function: FunctionType, error: Exception) -> CompileError:
    """What to tell about a kernel that Numba cannot translate.

    Args:
        function: the kernel.
        error: what Numba raised.
    """
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    line, source = _place(function, text, error)
    remedy = next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, text)), "")
    where = f"line {line}: {source}" if source else f"line {line}" if line else "no line is named"
    message = f"Numba cannot translate '{function.__name__}' for a GPU ({where}). {_sentence(text)}"
    return CompileError(f"{message} {remedy}".strip(), line)


def _place(function: FunctionType, text: str, error: Exception) -> tuple[int, str]:
    """The first line that is named in a file that is not Numba's own; else the one that Numba was working on."""
    own = function.__code__.co_filename
    named = re.findall(r'File "([^"]+)", line (\d+)', text) + re.findall(r"at (\S+) \((\d+)\)", text)
    for path, number in [*named, *_worked_on(error)]:
        if "site-packages" in path or path.startswith("numba"):
            continue
        # Numba shortens paths; the kernel's own file is known in full.
        name = own if own.endswith(path.rpartition("/")[2]) else path
        return int(number), linecache.getline(name, int(number)).strip()
    return 0, ""


def _worked_on(error: Exception) -> list[tuple[str, int]]:
    """The places in source that Numba's own functions were working on when they gave up, the innermost first.

    Some of its errors name no place; its typing constraints and its instructions know theirs.
    """
    found: list[tuple[str, int]] = []
    step = error.__traceback__
    while step is not None:
        for name in ("self", "inst", "stmt"):
            place: Any = getattr(step.tb_frame.f_locals.get(name), "__dict__", {}).get("loc")
            if isinstance(getattr(place, "line", None), int):
                found.insert(0, (str(place.filename), place.line))
        step = step.tb_next
    return found


def _sentence(text: str) -> str:
    """The first line that says something about the student's code, with the signature that was looked for."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("Failed in", "During:", "File ", "<source", "^", "- "))]
    if not lines:
        return "No reason is given."
    first = re.sub(r" for '\$[^']*', defined at None", "", lines[0])
    first = re.sub(r"Function\(<(?:built-in )?function ([\w.]+)[^>]*>\)", r"\1", first)
    signature = next((line[4:] for line in lines[1:4] if line.startswith(">>> ")), "")
    sentence = f"{first.rstrip(':')}: {signature}" if signature else first
    return sentence.removesuffix(" Raised from None").rstrip(".") + "."
