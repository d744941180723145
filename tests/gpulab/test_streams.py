"""Simulated streams: values as the program says, races told, copies to the host late, times from datasheets."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from gpulab import device, streams, work
from gpulab.streams.race_detector import Race
from gpulab.streams.simulated import SIMULATION, Event, Stream, stream, synchronize
from gpulab.streams.simulation import LINK_GBS, Operation

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="streams are simulated without a GPU only")

BATCHES = [torch.linspace(-number, number, 1000) for number in range(1, 7)]


@pytest.fixture
def log() -> Iterator[list[Operation]]:
    """What the engines do, from a moment on when all before is over."""
    synchronize()
    SIMULATION.log = []
    yield SIMULATION.log
    SIMULATION.log = None


def in_turns(lanes: int, buffers: int, wait: bool = True) -> torch.Tensor:
    """Batches take turns in so many streams and so many buffers."""
    chosen, trays = [Stream() for _ in range(lanes)], [torch.empty(1000, device=device()) for _ in range(buffers)]
    results = torch.empty(len(BATCHES), 1000)
    for number, batch in enumerate(BATCHES):
        with stream(chosen[number % lanes]):
            trays[number % buffers].copy_(batch, non_blocking=True)
            results[number].copy_(work(trays[number % buffers], 3), non_blocking=True)
    if wait:
        synchronize()
    return results


def by_events(arrived: bool, read: bool) -> torch.Tensor:
    """One stream copies in, one works and copies out; either event may be left out."""
    copying, computing = Stream(), Stream()
    trays = [torch.empty(1000, device=device()) for _ in range(2)]
    results = torch.empty(len(BATCHES), 1000)
    come, gone = [Event(), Event()], [Event(), Event()]
    for number, batch in enumerate(BATCHES):
        slot = number % 2
        with stream(copying):
            if read:
                copying.wait_event(gone[slot])
            trays[slot].copy_(batch, non_blocking=True)
            come[slot].record()
        with stream(computing):
            if arrived:
                come[slot].wait()
            results[number].copy_(work(trays[slot], 3), non_blocking=True)
            gone[slot].record(computing)
    synchronize()
    return results


@pytest.mark.parametrize(
    "run", [lambda: in_turns(2, 2), lambda: in_turns(3, 3), lambda: in_turns(1, 1), lambda: by_events(True, True)]
)
def test_ordered_programs_give_the_right_values(run: Callable[[], torch.Tensor]) -> None:
    assert torch.equal(run(), torch.stack([work(batch, 3) for batch in BATCHES]))


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (lambda: in_turns(2, 1), '"in" in one stream writes to memory that'),
        (lambda: in_turns(3, 2), "may still be"),
        (
            lambda: by_events(True, False),
            '"in" in one stream writes to memory that "work" in another may',
        ),
        (lambda: by_events(False, True), '"work" in one stream reads memory that "in" in another may'),
    ],
)
def test_a_race_is_told(run: Callable[[], Any], words: str) -> None:
    with pytest.raises(Race, match=words):
        run()


def test_a_race_leaves_nothing_behind() -> None:
    with pytest.raises(Race):
        in_turns(2, 1)
    assert torch.equal(in_turns(2, 2)[0], work(BATCHES[0], 3))


def test_results_on_the_host_are_rubbish_until_somebody_waits() -> None:
    results = in_turns(2, 2, wait=False)
    assert bool(results.isnan().all())
    synchronize()
    assert torch.equal(results, torch.stack([work(batch, 3) for batch in BATCHES]))


def test_waiting_for_one_stream_brings_its_results_only() -> None:
    lanes, results = [Stream(), Stream()], torch.zeros(2, 1000, dtype=torch.int64)
    for number, lane in enumerate(lanes):
        with stream(lane):
            results[number].copy_((work(BATCHES[0].to(device()), 1) * 0 + 7).to(torch.int64), non_blocking=True)
    lanes[1].synchronize()
    assert results[1].tolist() == [7] * 1000 and results[0].tolist() == [torch.iinfo(torch.int64).min] * 1000
    synchronize()
    assert results[0].tolist() == [7] * 1000


def test_a_blocking_copy_is_there_at_once() -> None:
    with stream(Stream()):
        x = BATCHES[0].to("cpu", non_blocking=True)
        assert x.data_ptr() != BATCHES[0].data_ptr()
        y = work(x, 2)
        assert torch.equal(y.cpu(), work(BATCHES[0], 2))
        late = y.to("cpu", non_blocking=True)
        assert bool(late.isnan().all())


def test_times_are_those_of_the_rates_and_engines_work_side_by_side(log: list[Operation]) -> None:
    in_turns(2, 2)
    assert [one.kind for one in log[:3]] == ["in", "work", "out"]
    assert log[0].stop_ms - log[0].start_ms == pytest.approx(4000 / LINK_GBS / 1e6)
    assert log[4].start_ms == pytest.approx(max(log[1].stop_ms, log[3].stop_ms))  # work 1 behind work 0, and its copy
    busy = sum(one.stop_ms - one.start_ms for one in log)
    assert log[-1].stop_ms - log[0].start_ms < 0.8 * busy


def with_streams(make_current: Callable[[Stream], Any]) -> torch.Tensor:
    """Batches take turns in two streams, each made current in this way."""
    pair, results = [Stream(), Stream()], torch.empty(len(BATCHES), 1000)
    contexts, trays = [make_current(one) for one in pair], [torch.empty(1000, device=device()) for _ in pair]
    for number, batch in enumerate(BATCHES):
        with contexts[number % 2]:
            trays[number % 2].copy_(batch, non_blocking=True)
            results[number].copy_(work(trays[number % 2], 3), non_blocking=True)
    synchronize()
    return results


@contextlib.contextmanager
def chosen(one: Stream) -> Iterator[None]:
    before = torch.cuda.current_stream()
    torch.cuda.set_stream(one)
    yield
    torch.cuda.set_stream(before)


class Chosen:
    """`set_stream`, as often as it is entered."""

    def __init__(self, one: Stream) -> None:
        self.one = one

    def __enter__(self) -> None:
        self.entered = chosen(self.one)
        self.entered.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.entered.__exit__(*error)


@pytest.mark.parametrize("way", [stream, torch.cuda.StreamContext, lambda one: one, Chosen])
def test_streams_overlap_in_whatever_way_they_are_made_current(way: Callable[[Stream], Any]) -> None:
    with streams.timeline() as found:
        assert torch.equal(with_streams(way), torch.stack([work(batch, 3) for batch in BATCHES]))
    kinds = [one["kind"] for one in found]
    assert [kinds.count(kind) for kind in ("in", "work", "out")] == [6, 6, 6]
    apart = sum(one["stop_ms"] - one["start_ms"] for one in found)
    assert max(one["stop_ms"] for one in found) - min(one["start_ms"] for one in found) < 0.75 * apart


def test_a_stream_stays_chosen_until_the_default_one_is() -> None:
    lane = Stream()
    torch.cuda.set_stream(lane)
    assert torch.cuda.current_stream() is lane
    with stream(Stream()):
        assert torch.cuda.current_stream() is not lane
    assert torch.cuda.current_stream() is lane
    torch.cuda.set_stream(torch.cuda.default_stream())
    assert torch.cuda.current_stream() is torch.cuda.default_stream() and not SIMULATION.active


def test_a_copy_within_the_device_does_not_take_the_link(log: list[Operation]) -> None:
    with stream(SIMULATION.default):
        tray, there = (torch.empty(1000, device=device()) for _ in range(2))
        tray.copy_(BATCHES[0], non_blocking=True)
        there.copy_(work(tray, 3))
        there.add_(1)
        found = there.to("cpu")
    assert torch.equal(found, work(BATCHES[0], 3) + 1)
    assert [one.kind for one in log] == ["in", "work", "kernel", "kernel", "out"]


def test_work_on_a_batch_of_the_hosts_is_the_hosts(log: list[Operation]) -> None:
    with stream(Stream()):
        assert torch.equal(work(BATCHES[0], 3), work(BATCHES[0].clone(), 3))
    assert log == []


def test_who_asks_again_and_again_sees_the_end() -> None:
    lane, end = Stream(), Event()
    with stream(lane):
        there = BATCHES[0].to(device(), non_blocking=True)
        found = torch.empty(1000).copy_(work(there, 5000), non_blocking=True)
        end.record()
    assert not end.query() and bool(found.isnan().all())
    assert sum(1 for _ in iter(end.query, True)) < 1000
    assert lane.query() and torch.equal(found, work(BATCHES[0], 5000))


def test_one_stream_overlaps_nothing(log: list[Operation]) -> None:
    in_turns(1, 1)
    assert log[-1].stop_ms - log[0].start_ms == pytest.approx(sum(one.stop_ms - one.start_ms for one in log))


def test_torchs_own_refusals_reach_the_program() -> None:
    with stream(Stream()):
        with pytest.raises(RuntimeError, match="size"):
            torch.ones(3).copy_(torch.ones(2))
        with pytest.raises(TypeError):
            torch.ones(3).copy_("three")
    assert not SIMULATION.active


def test_the_timeline_of_a_block_is_plain_values() -> None:
    """All that streams, the default one included, were given in it; nothing of what came before or comes after."""
    in_turns(2, 2)
    with streams.timeline() as alone:
        for batch in BATCHES:
            work(batch.to("cpu", copy=True), 3)
    with streams.timeline() as operations:
        in_turns(2, 2)
    in_turns(2, 2)
    assert [one["kind"] for one in operations] == ["in", "work", "out"] * len(BATCHES)
    busy = sum(one["stop_ms"] - one["start_ms"] for one in operations)
    assert operations[-1]["stop_ms"] - operations[0]["start_ms"] < 0.85 * busy
    assert [one["kind"] for one in alone].count("work") == len(BATCHES)
    assert SIMULATION.log is None


def test_torch_has_the_simulation_under_its_own_names() -> None:
    """So that a program of `torch.cuda` alone runs here, the hand-over of memory between streams included."""
    copying, computing = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(copying):
        x = BATCHES[0].to("cpu", non_blocking=True)
    computing.wait_stream(copying)
    x.record_stream(computing)  # outside of any stream, as in a training loop
    with torch.cuda.stream(computing):
        x.record_stream(torch.cuda.current_stream())
        y = work(x, 3)
    torch.cuda.current_stream().wait_stream(computing)
    torch.cuda.synchronize()
    assert torch.equal(y, work(BATCHES[0], 3))
    assert torch.cuda.default_stream() is torch.cuda.current_stream()
    with pytest.raises(TypeError, match="is a str"):
        x.record_stream("copying")  # type: ignore[arg-type]


def test_an_event_is_not_over_before_the_host_has_issued_it() -> None:
    """A mark in an idle stream, after a wait for another one, comes when that wait is over."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
    start.record()
    with torch.cuda.stream(torch.cuda.Stream()):
        work(BATCHES[0].to("cpu", non_blocking=True), 50)
    torch.cuda.synchronize()
    end.record()
    assert start.elapsed_time(end) > 0


def test_what_stands_in_until_the_first_use_is_gone_after_it() -> None:
    """Whether there is a GPU is asked then; a class stays a class, for annotations such as `Stream | None`."""
    program = (
        "import torch; own = torch.cuda.Stream\n"
        "import gpulab.streams\n"
        "from torch.cuda import Event, Stream\n"
        "from gpulab.streams import simulated\n"
        "assert Stream is not own and Stream is not simulated.Stream and (Stream | None)\n"
        "assert isinstance(Stream(), simulated.Stream) and torch.cuda.Stream is simulated.Stream\n"
        "assert isinstance(Event(enable_timing=True), simulated.Event)\n"
        "x = torch.ones(3); x.record_stream(torch.cuda.current_stream())\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=100)


def test_events_around_work_in_no_stream_show_the_hosts_own_time() -> None:
    """A function that times itself with events has a figure without a GPU, too: nothing is simulated there."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    time.sleep(0.02)
    end.record()
    assert 20 <= start.elapsed_time(end) < 2000


def test_making_a_tensor_of_another_one_on_the_device_is_a_copy(log: list[Operation]) -> None:
    """Not the host's own memory, which would be there in no time."""
    batch = torch.ones(5)
    with stream(Stream()):
        made = [
            torch.as_tensor(batch, device=device()),
            torch.asarray(obj=batch, device=device()),
            torch.tensor(batch, device=device(), dtype=torch.float64),
            torch.empty(0).new_tensor(data=batch, device=device()),
        ]
        SIMULATION.given(batch)
        made.append(torch.rand_like(batch, device=device()))  # holds nothing of the batch
    assert [one.kind for one in log] == ["in"] * 4
    assert all(map(SIMULATION.on_device, made))
    assert not SIMULATION.on_device(batch)


@pytest.mark.parametrize(
    "mixed",
    [
        lambda there, here: torch.stack([here], out=there[None]),
        lambda there, here: there.add_(here),
        lambda there, here: here[None][torch.zeros(1, dtype=torch.int64, device=device())],
        lambda there, here: here[:0].index_copy_(0, torch.zeros(0, dtype=torch.int64), there[:0]),
    ],
)
def test_the_device_does_not_read_what_the_host_was_given(mixed: Callable[[torch.Tensor, torch.Tensor], Any]) -> None:
    with stream(Stream()):
        there, here = torch.zeros(1000, device=device()), torch.ones(1000)
        SIMULATION.given(here)
        with pytest.raises(RuntimeError, match="on the same device"):
            mixed(there, here)


def test_the_cpus_own_copies_take_no_link_and_see_what_is_there(log: list[Operation]) -> None:
    with stream(Stream()):
        host, row = torch.empty(1000), torch.zeros(1000)
        host.copy_(work(BATCHES[0].to(device(), non_blocking=True), 3), non_blocking=True)
        row.copy_(host)
        assert bool(row.isnan().all())
        synchronize()
        row.copy_(host.cpu())
    assert torch.equal(row, work(BATCHES[0], 3))
    assert [one.kind for one in log] == ["in", "work", "out"]


def test_the_cpu_does_not_write_where_a_copy_still_reads() -> None:
    with stream(Stream()):
        stage = torch.empty(1000)
        stage.copy_(BATCHES[0])
        there = stage.to(device(), non_blocking=True)
        assert SIMULATION.on_device(there) and not SIMULATION.on_device(stage)
        with pytest.raises(Race, match='the CPU writes to memory that "in" in a stream may still be reading'):
            stage.copy_(BATCHES[1])


@pytest.mark.parametrize("name", ["cpu", device()])
def test_a_buffer_on_a_named_device_is_the_devices(name: Any, log: list[Operation]) -> None:
    """Programs also name it by `"cuda" if torch.cuda.is_available() else "cpu"`."""
    with stream(Stream()):
        tray, here = torch.empty(1000, device=name), torch.empty(1000)
        tray.copy_(BATCHES[0], non_blocking=True)
        here.copy_(BATCHES[0], non_blocking=True)
        work(tray, 3), work(here, 3)
    assert [one.kind for one in log] == ["in", "work"]


def test_what_an_index_takes_from_the_device_stays_there(log: list[Operation]) -> None:
    with stream(Stream()):
        there = torch.zeros(1000, device=device())
        assert SIMULATION.on_device(there[True])
        assert SIMULATION.on_device(there[torch.tensor([3, 5])])
    assert [one.kind for one in log] == ["kernel"] * 2


def test_host_memory_does_not_become_the_devices_by_a_copy() -> None:
    here, other = torch.ones(1000), torch.ones(1000)
    SIMULATION.given(here)
    with stream(Stream()):
        whole = torch.cat([here])
        whole[:0].copy_(other[:0], non_blocking=True)
        here.copy_(other)
    assert not SIMULATION.on_device(whole)
    assert not SIMULATION.on_device(here)
