"""The link's specification, and the timelines that the transfers chapter shows before any is computed."""

from collections.abc import Callable

from gpulab.figures.shapes import Span

LINK_GBS = 63.0
"""PCIe 5.0 × 16, one direction, by its specification: 32 GT/s × 16 lanes, 128 of 130 bits."""


def _timeline(
    starts: Callable[[int], tuple[int, int, int]], into: str = "copy engine", out: str = "copy engine"
) -> tuple[Span, ...]:
    """Three chunks that take 3 ms in, 2 ms of compute and 3 ms out; `starts` has the start of each stage of a chunk."""
    spans = []
    for chunk in range(3):
        copied, computed, returned = starts(chunk)
        spans += [
            Span(into, copied, copied + 3, f"in {chunk}"),
            Span("compute", computed, computed + 2, f"kernel {chunk}"),
            Span(out, returned, returned + 3, f"out {chunk}"),
        ]
    return tuple(spans)


# Starts by hand: the page shows these timelines before any is computed.
SERIAL = _timeline(lambda chunk: (8 * chunk, 8 * chunk + 3, 8 * chunk + 5))
STAGES = _timeline(lambda chunk: (3 * chunk, 3 * chunk + 3, 3 * chunk + 9))
TWO_ENGINES = _timeline(
    lambda chunk: (3 * chunk, 3 * chunk + 3, 3 * chunk + 5), into="copy engine, in", out="copy engine, out"
)
