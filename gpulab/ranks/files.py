"""What a program left in its folder, as plain values: what was saved with torch unpacked, everything else as text.

The files come from untrusted code: nothing in them is run, links and pipes are ignored, sizes are bounded.
"""

from __future__ import annotations

import io
import itertools
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MOST_FILES = 1000
MOST_BYTES = 128_000_000
"""Of all files together, such as the weights of a ResNet-50, 94 MB; the rest is not read."""
MOST_PARTS = 100_000
"""Of what one file holds: a list that holds another twice, which holds another twice, is soon more than a machine."""
MOST_CHARACTERS = 1_000_000
"""Of one text."""
SAVED = (b"PK\x03\x04", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19")
"""How a file that `torch.save` wrote begins: an archive, or a pickle (`_use_new_zipfile_serialization=False`)."""
FOREIGN = re.compile(r"nsupported (?:global: )?GLOBAL ([\w.]+)")
CAUSE = re.compile(r"WeightsUnpickler error: (.*)")


def read(folder: Path) -> dict[str, Any]:
    """File name, relative to the folder → what is in it.

    For a file of `torch.save`: the value, with tensors on the CPU, if `torch.load` takes it with `weights_only`;
    objects inside that are neither tensors nor plain become the name of their type. For one that cannot be loaded: a
    text that says why, and so for a file that is too large. For every other file: its text.
    """
    found: dict[str, Any] = {}
    budget = MOST_BYTES
    walked = () if folder.is_symlink() else os.walk(folder)  # a link in its place may lead anywhere
    files = (Path(where) / name for where, _, names in walked for name in sorted(names))
    for path in itertools.islice(files, MOST_FILES):
        data = _bytes(path, budget)
        if isinstance(data, bytes):
            budget -= len(data)
        if data is not None:
            found[str(path.relative_to(folder))] = _value(data) if isinstance(data, bytes) else data
    return found


def content(path: Path) -> bytes:
    """What is in an ordinary file; nothing of one that is too large, or is none."""
    data = _bytes(path, MOST_BYTES)
    return data if isinstance(data, bytes) else b""


def _bytes(path: Path, most: int) -> bytes | str | None:
    """What is in an ordinary file of at most so many bytes; why it is not read, of a larger one; None otherwise."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            return None
        if about.st_size > most:
            return f"not read: all files of a rank together may have {MOST_BYTES / 1e6:.0f} MB"
        return file.read(most)


def _value(data: bytes) -> Any:
    if not data.startswith(SAVED):
        return data.decode("utf-8", "replace")[:MOST_CHARACTERS]
    import torch

    try:
        loaded = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
        return _plain(loaded, torch, {"parts": MOST_PARTS, "bytes": MOST_BYTES})
    except Exception as error:  # whatever a broken or dishonest file makes of it
        return f"torch.load(…, weights_only=True) refuses it: {_why_refused(str(error))}"


def _why_refused(text: str) -> str:
    """What torch says, without its advice on how to load the file all the same."""
    if foreign := FOREIGN.search(text):
        return f"it holds a {foreign[1]}"
    cause = CAUSE.search(text)
    return (cause[1] if cause else text)[:300]


def _plain(value: Any, torch: Any, left: dict[str, int]) -> Any:
    left["parts"] -= 1
    if left["parts"] < 0:
        raise ValueError("it has too many parts")
    if isinstance(value, torch.Tensor):
        # A DTensor is a shard: outside the process group that it belongs to, touching it ends the process.
        known = type(value) in (torch.Tensor, torch.nn.Parameter)
        ordinary = known and value.layout == torch.strided and not value.is_quantized
        if not ordinary:
            return f"<{type(value).__name__}>"
        left["bytes"] -= value.numel() * value.element_size()  # elements may share one place in the file
        if left["bytes"] < 0:
            raise ValueError(f"it has more than {MOST_BYTES / 1e6:.0f} MB of numbers")
        return value.detach().to(device="cpu", copy=True).contiguous()
    if isinstance(value, Mapping):
        return {_key(key): _plain(inner, torch, left) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, torch, left) for inner in value]
    if value is None or type(value) in (bool, int, float, str):
        return value
    return f"<{type(value).__name__}>"


def _key(key: Any) -> Any:
    return key if type(key) in (bool, int, float, str) else str(key)
