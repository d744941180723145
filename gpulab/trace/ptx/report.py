"""A `Trace` of a PTX launch: sums by instruction become sums by source line and array."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpulab.trace.log import ATOMIC, GLOBAL, KIND_NAMES, LOAD, SHARED, SPACE_NAMES, STORE, View
from gpulab.trace.ptx.failures import index_of, place_of
from gpulab.trace.ptx.own_arrays import own_array, own_index
from gpulab.trace.ptx.runtime import layout
from gpulab.trace.result import LineCount, Request, ThreadRace, Touch, Trace, UnwrittenRead

if TYPE_CHECKING:
    from gpulab.trace.ptx.codegen.lane import Site
    from gpulab.trace.ptx.launch import PtxLaunch

_VERBS = ("reads", "writes", "updates")
_FREE = {"ld", "st", "mov", "cvt", "selp", "ldu"}


@dataclass(frozen=True)
class _Key:
    line: int
    space: int
    kind: int
    array: str
    source: str
    expression: str


@dataclass
class _Sum:
    first_site: int
    part_bytes: int
    """Of each element that is counted."""
    elements: int = 0
    requests: int = 0
    cost: int = 0
    worst: Any = None
    column: int = 0
    site: int = 0


def trace_of(launch: PtxLaunch, name: str) -> Trace:
    """The account of a launch that has ended.

    Args:
        launch: counted.
        name: of the kernel.
    """
    sums = _sums(launch)
    return Trace(
        kernel=name,
        grid=launch.grid,
        block=launch.block,
        blocks=launch.blocks,
        threads=int(launch.context[layout.THREADS_ENDED]),
        shared_bytes=launch.shared_bytes,
        barriers=int(launch.context[layout.MOST_BARRIERS]),
        global_reads=_total(sums, GLOBAL, LOAD),
        global_writes=_total(sums, GLOBAL, STORE),
        global_atomics=_total(sums, GLOBAL, ATOMIC),
        global_read_requests=_total(sums, GLOBAL, LOAD, "requests"),
        global_write_requests=_total(sums, GLOBAL, STORE, "requests"),
        shared_reads=_total(sums, SHARED, LOAD),
        shared_writes=_total(sums, SHARED, STORE),
        shared_atomics=_total(sums, SHARED, ATOMIC),
        busiest_reads=int(launch.context[layout.BUSIEST_READS]),
        busiest_writes=int(launch.context[layout.BUSIEST_WRITES]),
        busiest_shared_reads=int(launch.context[layout.BUSIEST_SHARED_READS]),
        read_sectors_per_request=_average(sums, (LOAD,)),
        write_sectors_per_request=_average(sums, (STORE,)),
        sectors_per_request=_average(sums, (LOAD, STORE)),
        most_read_sectors=_most(sums, GLOBAL, (LOAD,)),
        most_write_sectors=_most(sums, GLOBAL, (STORE,)),
        bank_conflict_degree=_most(sums, SHARED, (LOAD, STORE)),
        lines=_lines(launch, sums),
        races=_races(launch),
        unwritten=_unwritten(launch),
        float64_lines=_float64_lines(launch),
    )


def most_written(launch: PtxLaunch) -> dict[str, int]:
    """Array → the most of its elements that a single block was the last to write to; without atomic operations."""
    cell_slots = int(launch.context[layout.CELL_BYTES]) // 8
    granule = 1 << int(launch.context[layout.GRANULE_SHIFT])
    found = {}
    for number, cells in launch.shadows.items():
        stamps = cells[::cell_slots][cells[::cell_slots] != 0] >> 32
        blocks = launch.block_stamps.searchsorted(stamps, side="right")
        views = launch.memory.regions[number].views
        if views:
            found[views[0].name] = int(np.bincount(blocks, minlength=1).max()) * granule // views[0].item_bytes
    return found


def _sums(launch: PtxLaunch) -> dict[_Key, _Sum]:
    sums: dict[_Key, _Sum] = {}
    for number, site in enumerate(launch.code.sites):
        rows = launch.tallies[number]
        for column in rows[:, layout.T_REQUESTS].nonzero()[0]:
            row = rows[column]
            view = _view(launch, int(column), int(row[layout.T_ADDRESSES + _first_lane(row)]))
            location = launch.code.own(site.instruction.location)
            expression = launch.sources.expression(location, view.name, site.kind == STORE)
            source = launch.sources.place(location).source
            key = _Key(location.line, view.space, site.kind, view.name, source, expression)
            taken = _taken(launch, site, view)
            total = sums.setdefault(key, _Sum(number, part_bytes=site.bytes // site.parts // taken))
            total.elements += int(row[layout.T_ELEMENTS]) * taken
            total.requests += int(row[layout.T_REQUESTS])
            total.cost += int(row[layout.T_COST])
            rank = (int(row[layout.T_WORST]), int(row[layout.T_LANES]))
            if total.worst is None or rank > (int(total.worst[layout.T_WORST]), int(total.worst[layout.T_LANES])):
                total.worst, total.column, total.site = row, int(column), number
    return sums


def _taken(launch: PtxLaunch, site: Site, view: View) -> int:
    """How many elements of an array each part of an access is: two of a float array that is read as one double.

    An array counts in elements of its own, whatever the kernel takes them for.
    """
    if view.space != GLOBAL:
        return 1
    region = launch.memory.regions[view.address >> layout.REGION_SHIFT]
    return max(1, site.bytes // site.parts // min(one.item_bytes for one in region.views))


def _first_lane(row: Any) -> int:
    mask = int(row[layout.T_MASK])
    return (mask & -mask).bit_length() - 1


def _view(launch: PtxLaunch, column: int, address: int) -> View:
    """The array that a column and an address stand for."""
    if column >= launch.region_count:
        return launch.shared_views[column - launch.region_count]
    found = launch.memory.regions[column].view_at(address)
    assert found is not None
    return found


def _chosen(sums: dict[_Key, _Sum], space: int, kinds: Iterable[int]) -> list[_Sum]:
    return [total for key, total in sums.items() if key.space == space and key.kind in kinds]


def _total(sums: dict[_Key, _Sum], space: int, kind: int, what: str = "elements") -> int:
    return sum(getattr(total, what) for total in _chosen(sums, space, (kind,)))


def _average(sums: dict[_Key, _Sum], kinds: Iterable[int]) -> float:
    chosen = _chosen(sums, GLOBAL, kinds)
    requests = sum(total.requests for total in chosen)
    return sum(total.cost for total in chosen) / requests if requests else 0.0


def _most(sums: dict[_Key, _Sum], space: int, kinds: Iterable[int]) -> int:
    return max((int(total.worst[layout.T_WORST]) for total in _chosen(sums, space, kinds)), default=0)


def _lines(launch: PtxLaunch, sums: dict[_Key, _Sum]) -> tuple[LineCount, ...]:
    rows = []
    for key, total in sums.items():
        cost, shared = total.cost / total.requests, key.space == SHARED
        worst = int(total.worst[layout.T_WORST])
        line = LineCount(
            line=key.line,
            source=key.source,
            expression=key.expression,
            array=key.array,
            space=SPACE_NAMES[key.space],
            kind=KIND_NAMES[key.kind],
            elements=total.elements,
            element_bytes=total.part_bytes,
            requests=total.requests,
            sectors_per_request=0.0 if shared else cost,
            most_sectors=0 if shared else worst,
            bank_conflict_degree=worst if shared else 0,
            worst=_request(launch, total),
        )
        rows.append(((key.line, total.first_site, key.kind), line))
    return tuple(line for _, line in sorted(rows, key=lambda row: row[0]))


def _request(launch: PtxLaunch, total: _Sum) -> Request:
    row = total.worst
    mask = int(row[layout.T_MASK])
    lanes = tuple(lane for lane in range(32) if mask >> lane & 1)
    addresses = [int(row[layout.T_ADDRESSES + lane]) for lane in lanes]
    indexes = tuple(_view(launch, total.column, address).index_at(address) for address in addresses)
    if total.column < launch.region_count:
        short = launch.memory.short_addresses()
        addresses = [address + short[address >> layout.REGION_SHIFT] for address in addresses]
    block = index_of(int(row[layout.T_BLOCK]), launch.grid)
    size = launch.code.sites[total.site].bytes
    cost = int(row[layout.T_WORST])
    return Request(block, int(row[layout.T_WARP]), lanes, indexes, tuple(addresses), size, cost)


# -------------------------------------------------------------------------------------------------------------- finds


def _touch(launch: PtxLaunch, record: int, kind: int) -> Touch:
    site = launch.code.sites[record & 4095]
    stamp = record >> 32
    block = max(0, int(launch.block_stamps.searchsorted(stamp, side="right")) - 1)
    place = place_of(launch, site.instruction)
    thread = index_of(record >> 12 & 1023, launch.block)
    verb = _VERBS[site.kind if site.strong else kind]
    return Touch(index_of(block, launch.grid), thread, place.line, place.source, verb)


def _races(launch: PtxLaunch) -> tuple[ThreadRace, ...]:
    found: dict[object, ThreadRace] = {}
    for entry in launch.conflicts[: int(launch.context[layout.CONFLICT_COUNT])]:
        column, address = int(entry[layout.C_COLUMN]), int(entry[layout.C_ADDRESS])
        kinds = divmod(int(entry[layout.C_KINDS]), 4)
        sides = [
            _touch(launch, int(entry[slot]), kind)
            for slot, kind in zip((layout.C_OLD, layout.C_NEW), kinds, strict=True)
        ]
        if kinds[0] == LOAD or (kinds[0] == ATOMIC and kinds[1] == STORE):
            sides.reverse()  # the one that writes comes first
        view = _view(launch, column, address)
        race = ThreadRace(view.name, SPACE_NAMES[view.space], view.index_at(address), sides[0], sides[1])
        key = (view.name, frozenset((side.line, side.verb) for side in sides))
        found.setdefault(key, race)
    return tuple(found.values())


def _unwritten(launch: PtxLaunch) -> tuple[UnwrittenRead, ...]:
    found: dict[object, UnwrittenRead] = {}
    for entry in launch.unwritten[: int(launch.context[layout.UNWRITTEN_COUNT])]:
        site = launch.code.sites[int(entry[layout.U_SITE])]
        column, address = int(entry[layout.U_COLUMN]), int(entry[layout.U_ADDRESS])
        reader = _touch(launch, int(entry[layout.U_RECORD]), site.kind)
        if column == layout.LOCAL_REGION:
            name = own_array(launch, site)
            read = UnwrittenRead(
                name or "a local array", "local", own_index(launch, site, address) if name else (), reader
            )
        else:
            view = _view(launch, column, address)
            read = UnwrittenRead(view.name, SPACE_NAMES[view.space], view.index_at(address), reader)
        found.setdefault((read.array, reader.line), read)
    return tuple(found.values())


def _float64_lines(launch: PtxLaunch) -> tuple[int, ...] | None:
    lines = set()
    for code in launch.code.codes.values():
        for block in code.blocks:
            for one in block.instructions:
                if one.opcode not in _FREE and "f64" in one.modifiers and one.location.line:
                    lines.add(launch.code.line_of(one.location))
    return tuple(sorted(lines))
