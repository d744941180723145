"""Puts a `Trace` together from what was counted and found: numbers of places and views become lines and names."""

from __future__ import annotations

from collections.abc import Iterable

from gpulab.trace.counts import Counter, Key, Sample, Tally
from gpulab.trace.errors import Index
from gpulab.trace.log import ATOMIC, GLOBAL, KIND_NAMES, LOAD, SHARED, SPACE_NAMES, STORE
from gpulab.trace.python.engine import Engine, OwnUnwritten
from gpulab.trace.races import Conflict, RaceFinder, Toucher, Unwritten
from gpulab.trace.result import LineCount, Request, ThreadRace, Touch, Trace, UnwrittenRead

_VERBS = ("reads", "writes", "updates")


def assemble(name: str, engine: Engine, counter: Counter, finder: RaceFinder, shared_bytes: int) -> Trace:
    """The finished account of a launch.

    Args:
        name: of the kernel.
        engine: that ran it.
        counter: that counted it.
        finder: that looked for races in it.
        shared_bytes: of one block.
    """
    tallies = counter.tallies
    conflicts, unwritten = finder.finish()
    return Trace(
        kernel=name,
        grid=engine.grid,
        block=engine.block,
        blocks=engine.grid[0] * engine.grid[1] * engine.grid[2],
        threads=engine.threads_ended,
        shared_bytes=shared_bytes,
        barriers=engine.most_barriers,
        global_reads=_elements(tallies, GLOBAL, LOAD),
        global_writes=_elements(tallies, GLOBAL, STORE),
        global_atomics=_elements(tallies, GLOBAL, ATOMIC),
        global_read_requests=_requests(tallies, LOAD),
        global_write_requests=_requests(tallies, STORE),
        shared_reads=_elements(tallies, SHARED, LOAD),
        shared_writes=_elements(tallies, SHARED, STORE),
        shared_atomics=_elements(tallies, SHARED, ATOMIC),
        busiest_reads=counter.busiest_reads,
        busiest_writes=counter.busiest_writes,
        busiest_shared_reads=counter.busiest_shared_reads,
        read_sectors_per_request=_average(tallies, (LOAD,)),
        write_sectors_per_request=_average(tallies, (STORE,)),
        sectors_per_request=_average(tallies, (LOAD, STORE)),
        most_read_sectors=_most(tallies, GLOBAL, (LOAD,)),
        most_write_sectors=_most(tallies, GLOBAL, (STORE,)),
        bank_conflict_degree=_most(tallies, SHARED, (LOAD, STORE)),
        lines=_lines(engine, tallies),
        races=tuple(_race(engine, one) for one in conflicts),
        unwritten=(
            *(_unwritten(engine, one) for one in unwritten),
            *(_own_unwritten(engine, one) for one in engine.unwritten.values()),
        ),
    )


def _chosen(tallies: dict[Key, Tally], space: int, kinds: Iterable[int]) -> list[Tally]:
    return [tally for key, tally in tallies.items() if key.space == space and key.kind in kinds]


def _elements(tallies: dict[Key, Tally], space: int, kind: int) -> int:
    return sum(tally.elements for tally in _chosen(tallies, space, (kind,)))


def _requests(tallies: dict[Key, Tally], kind: int) -> int:
    return sum(tally.requests for tally in _chosen(tallies, GLOBAL, (kind,)))


def _average(tallies: dict[Key, Tally], kinds: Iterable[int]) -> float:
    chosen = _chosen(tallies, GLOBAL, kinds)
    requests = sum(tally.requests for tally in chosen)
    return sum(tally.cost for tally in chosen) / requests if requests else 0.0


def _most(tallies: dict[Key, Tally], space: int, kinds: Iterable[int]) -> int:
    return max((tally.worst.cost for tally in _chosen(tallies, space, kinds) if tally.worst), default=0)


def _lines(engine: Engine, tallies: dict[Key, Tally]) -> tuple[LineCount, ...]:
    """In the order of the source; on one line in the order in which Python evaluates it."""
    rows = []
    for key, tally in tallies.items():
        place = engine.log.places.place(key.place)
        cost, shared = tally.cost / tally.requests, key.space == SHARED
        assert tally.worst is not None
        line = LineCount(
            line=place.line,
            source=place.source,
            expression=place.expression,
            array=key.name,
            space=SPACE_NAMES[key.space],
            kind=KIND_NAMES[key.kind],
            elements=tally.elements,
            element_bytes=tally.worst.item_bytes,
            requests=tally.requests,
            sectors_per_request=0.0 if shared else cost,
            most_sectors=0 if shared else tally.worst.cost,
            bank_conflict_degree=tally.worst.cost if shared else 0,
            worst=_request(engine, tally.worst),
        )
        rows.append((place.line, key.place, key.kind, line))
    return tuple(row[-1] for row in sorted(rows, key=lambda row: row[:-1]))


def _race(engine: Engine, found: Conflict) -> ThreadRace:
    view = engine.log.views[found.view]
    first, second = _touch(engine, found.first), _touch(engine, found.second)
    return ThreadRace(view.name, SPACE_NAMES[view.space], view.index_at(found.address), first, second)


def _unwritten(engine: Engine, found: Unwritten) -> UnwrittenRead:
    view = engine.log.views[found.view]
    return UnwrittenRead(view.name, SPACE_NAMES[view.space], view.index_at(found.address), _touch(engine, found.reader))


def _own_unwritten(engine: Engine, found: OwnUnwritten) -> UnwrittenRead:
    place = engine.log.places.place(found.place)
    return UnwrittenRead(
        found.array, "local", found.index, Touch(found.block, found.thread, place.line, place.source, _VERBS[LOAD])
    )


def _touch(engine: Engine, toucher: Toucher) -> Touch:
    place = engine.log.places.place(toucher.place)
    block, thread = _index(toucher.block, engine.grid), _index(toucher.thread, engine.block)
    return Touch(block, thread, place.line, place.source, _VERBS[toucher.kind])


def _request(engine: Engine, sample: Sample) -> Request:
    view = engine.log.views[sample.view]
    indexes = tuple(map(view.index_at, sample.addresses))
    block = _index(sample.block, engine.grid)
    return Request(block, sample.warp, sample.lanes, indexes, sample.addresses, sample.item_bytes, sample.cost)


def _index(number: int, shape: Index) -> Index:
    rest, x = divmod(number, shape[0])
    z, y = divmod(rest, shape[1])
    return x, y, z
