"""The pictures of the profiling chapter's hunt, and the zlib that counts how often they are decompressed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import torch
from torch.profiler import record_function

BATCH = 32
SIDE = 16
PICTURE_BYTES = SIDE * SIDE * 3
UNPACKED = "gpulab: zlib decompresses a picture"
"""The range that a trace has for each decompression."""


def data(seed: int, pictures: int) -> tuple[list[bytes], torch.Tensor]:
    """Compressed pictures (16 × 16 × 3 bytes each) and int64 labels (N,), drawn anew for every seed."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 10, (pictures,), generator=generator)
    noise = torch.rand(pictures, 16, 16, 3, generator=generator) * 160
    bright = (noise + 9 * labels.view(-1, 1, 1, 1)).to(torch.uint8)
    return [zlib.compress(one.numpy().tobytes(), 1) for one in bright], labels


def mask_of(scale: float) -> bytes:
    """What the bytes of pictures are combined with in a launch with this `SLOW_LOOP_SCALE`; none where it is 1."""
    generator = torch.Generator().manual_seed(int(scale * 2**40))
    return bytes(torch.randint(0, 256, (PICTURE_BYTES,), generator=generator).tolist()) if scale != 1.0 else b""


def masked(files: Sequence[bytes], mask: bytes) -> list[bytes]:
    """The pictures in a form that only the counted zlib restores: another decompressor gives other pictures."""
    return [zlib.compress(_combined(zlib.decompress(one), mask), 1) for one in files] if mask else list(files)


def _combined(raw: bytes, mask: bytes, start: int = 0) -> bytes:
    """Each byte, exclusive or that of the mask at its place in the picture; the same twice gives the bytes again."""
    if not mask:
        return raw
    first = start % len(mask)
    row = (mask[first:] + mask * (len(raw) // len(mask) + 1))[: len(raw)]
    return (int.from_bytes(raw, "little") ^ int.from_bytes(row, "little")).to_bytes(len(raw), "little")


class _Unmasking:
    """What `zlib.decompressobj` gives, whose bytes are combined with the mask."""

    def __init__(self, inner: Any, mask: bytes) -> None:
        self._inner, self._mask, self._given = inner, mask, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def decompress(self, *arguments: Any, **options: Any) -> bytes:
        """As the object's own."""
        return self._next(self._inner.decompress(*arguments, **options))

    def flush(self, *arguments: Any) -> bytes:
        """As the object's own."""
        return self._next(self._inner.flush(*arguments))

    def copy(self) -> _Unmasking:
        """As the object's own."""
        other = _Unmasking(self._inner.copy(), self._mask)
        other._given = self._given
        return other

    def _next(self, raw: bytes) -> bytes:
        found = _combined(raw, self._mask, self._given)
        self._given += len(raw)
        return found


def counted_decompressions(mask: bytes = b"") -> list[int]:
    """Has zlib note each picture that it decompresses from now on; returns the list in which it does.

    Args:
        mask: that the pictures are `masked` with.
    """
    calls: list[int] = []
    decompress, decompressobj = zlib.decompress, zlib.decompressobj

    def noted(*arguments: Any, **options: Any) -> bytes:
        calls.append(1)
        with record_function(UNPACKED):
            return _combined(decompress(*arguments, **options), mask)

    def noted_object(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        with record_function(UNPACKED):
            return _Unmasking(decompressobj(*arguments, **options), mask)

    zlib.decompress, zlib.decompressobj = noted, noted_object
    return calls


OTHER = data(0, BATCH)
"""For a second call of `train`, which must not depend on the first."""
