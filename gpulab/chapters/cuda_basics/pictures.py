"""Draws which sectors of memory a warp's request touches.

Diagrams are `cuda_basics.diagrams`; pictures of a recorded launch are `gpulab.trace`'s own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpulab.chapters.cuda_basics.diagrams import LIGHT
from gpulab.figures.diagrams import bare, rectangle
from gpulab.figures.styling import GRAY, INK, canvas, number, show, style


def draw_requests(requests: Mapping[str, Sequence[int]], sectors: Mapping[str, int], row_bytes: int = 512) -> None:
    """Which 32-byte sectors of memory a warp of float32 readers touches, a row for each pattern.

    Args:
        requests: name → the index that each of the 32 lanes asks for.
        sectors: name → how many sectors that is.
        row_bytes: how much of the memory is drawn; sectors beyond are counted, not drawn.
    """
    words = []
    with style():
        figure, axes = canvas(
            "The cost of a request is the number of sectors that it touches",
            "32 threads read one float32 each; box: a sector of 32 bytes; dark: a float that is read",
            1.35 + 0.62 * len(requests),
        )
        floats = row_bytes // 4
        bare(axes, (-34, floats + 24), (len(requests) * 1.5 - 0.3, -0.3))
        for row, (name, indexes) in enumerate(requests.items()):
            top, touched = row * 1.5, sectors[name]
            asked = len(set(indexes)) / (8 * touched)
            words.append(f"{name}: {touched} sectors")
            axes.annotate(name, (-2, top + 0.5), ha="right", va="center")
            for left in range(0, floats, 8):
                used = any(left <= index < left + 8 for index in indexes)
                shade = LIGHT if used else "white"
                rectangle(axes, (left + 0.3, top), 7.4, 1, shade, edge=GRAY, line=0.7)
            for index in {index for index in indexes if index < floats}:
                rectangle(axes, (index + 0.35, top + 0.2), 0.62, 0.6, INK, edge="none")
            if max(indexes) >= floats:
                axes.annotate("…", (floats + 1, top + 0.5), va="center", fontsize=13)
            count = f"{touched} sector{'s' if touched > 1 else ''}"
            share = f"{number(100 * asked)}% of the bytes used" if len(set(indexes)) > 1 else "one float for all"
            axes.annotate(count, (floats + 6, top + 0.3), va="center", weight="bold")
            axes.annotate(share, (floats + 6, top + 0.82), va="center", fontsize=9, color="#555555")
    show(figure, f"Sectors that a warp's request touches. {'; '.join(words)}.")
