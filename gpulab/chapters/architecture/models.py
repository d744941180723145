"""What the architecture chapter models: graphics pipelines and a warp scheduler. `architecture.pictures` draws them."""

from __future__ import annotations

from dataclasses import dataclass

WARP = 32
CHEAP, DEAR = 0, 1
CYCLES = {CHEAP: 10, DEAR: 90}
"""The two branches of the divergence diagram, in cycles."""


@dataclass(frozen=True)
class Scene:
    """How long a scene takes on separate vertex and pixel units, and on as many units that can do both."""

    name: str
    vertex_work: float
    pixel_work: float
    separate_ms: float
    unified_ms: float
    busy: float
    """Share of the separate units' time that is spent working."""


def scenes(vertex_units: int = 8, pixel_units: int = 24, work: float = 320.0) -> list[Scene]:
    """A model of three scenes with the same work in all: how long on separate units, how long on unified ones.

    Args:
        vertex_units: units that can only transform corners; 8 and 24 are a GeForce 7900 GTX of 2006.
        pixel_units: units that can only color pixels.
        work: of one scene, in unit-milliseconds.
    """
    rows = []
    for name, share in (("a bare wall", 0.05), ("a street", 0.25), ("a field of grass", 0.7)):
        vertex, pixel = work * share, work * (1 - share)
        separate = max(vertex / vertex_units, pixel / pixel_units)
        units = vertex_units + pixel_units
        rows.append(Scene(name, vertex, pixel, separate, work / units, work / (separate * units)))
    return rows


def schedule(warps: int, wait_cycles: int, horizon: int) -> list[list[str]]:
    """A model of one warp scheduler: each warp issues an instruction, then waits for its result.

    Every cycle the scheduler issues for one warp that is ready, the one that has been so for longest.

    Returns:
        For each warp one word a cycle: `"issue"`, `"wait"` or `"ready"` (it could have, but it was another's turn).
    """
    ready_at = [0] * warps
    rows: list[list[str]] = [[] for _ in range(warps)]
    for cycle in range(horizon):
        able = [warp for warp in range(warps) if ready_at[warp] <= cycle]
        chosen = min(able, key=lambda warp: (ready_at[warp], warp), default=None)
        for warp in range(warps):
            rows[warp].append("issue" if warp == chosen else "ready" if warp in able else "wait")
        if chosen is not None:
            ready_at[chosen] = cycle + 1 + wait_cycles
    return rows
