"""The link's specification, and the timelines that the transfers chapter shows before any is computed."""

from gpulab.figures.shapes import Span

LINK_GBS = 63.0
"""PCIe 5.0 × 16, one direction, by its specification: 32 GT/s × 16 lanes, 128 of 130 bits."""

# Laid out by hand, for 3 chunks that take 3 ms in, 2 ms of compute and 3 ms out.
SERIAL = tuple(
    span
    for chunk in range(3)
    for span in (
        Span("copy engine", 8 * chunk, 8 * chunk + 3, f"in {chunk}"),
        Span("compute", 8 * chunk + 3, 8 * chunk + 5, f"kernel {chunk}"),
        Span("copy engine", 8 * chunk + 5, 8 * chunk + 8, f"out {chunk}"),
    )
)
STAGES = tuple(
    span
    for chunk in range(3)
    for span in (
        Span("copy engine", 3 * chunk, 3 * chunk + 3, f"in {chunk}"),
        Span("compute", 3 * chunk + 3, 3 * chunk + 5, f"kernel {chunk}"),
        Span("copy engine", 9 + 3 * chunk, 12 + 3 * chunk, f"out {chunk}"),
    )
)
TWO_ENGINES = tuple(
    span
    for chunk in range(3)
    for span in (
        Span("copy engine, in", 3 * chunk, 3 * chunk + 3, f"in {chunk}"),
        Span("compute", 3 * chunk + 3, 3 * chunk + 5, f"kernel {chunk}"),
        Span("copy engine, out", 5 + 3 * chunk, 8 + 3 * chunk, f"out {chunk}"),
    )
)
