"""What simulated streams are asked to do is written down in one process, and done again in another on other inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from gpulab import streams, work
from gpulab.backend import Backend, use
from gpulab.streams.simulated import SIMULATION, Event, Stream, stream
from grader.authoring.bank import banks_of
from grader.judging.counting.replay import Refused
from grader.judging.counting.stream_replay import carried_out
from grader.judging.counting.stream_transcript import StreamTranscript
from grader.judging.session import grade
from grader.model.course import Course
from grader.model.notebooks import load_key
from grader.model.submission import from_answers

Program = Callable[[list[torch.Tensor]], Any]


@pytest.fixture(autouse=True)
def may_look_at_timelines(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a test cell that declares it, on a machine without a GPU."""
    for module in ("gpulab.streams.has_gpu", "gpulab.measuring.devices.has_gpu"):
        monkeypatch.setattr(module, lambda: False)
    with use(Backend(services=frozenset({"timeline"}))):
        yield


def written(program: Program, batches: list[torch.Tensor]) -> tuple[list[Any], Any]:
    """The steps of a program, and where its result stands."""
    with streams.timeline():
        SIMULATION.tape = tape = StreamTranscript((batches,), {})
        try:
            value = program(batches)
        finally:
            SIMULATION.tape = None
    return tape.launches, tape.result(value)


def overlapped(batches: list[torch.Tensor]) -> torch.Tensor:
    """Two streams with a buffer each, views of one result, a wait by an event."""
    lanes = [Stream(), Stream()]
    results = torch.empty(len(batches), *batches[0].shape)
    done = Event()
    for number, (row, batch) in enumerate(zip(results, batches, strict=True)):
        with stream(lanes[number % 2]):
            row.copy_(work(batch.to("cpu", non_blocking=True), 3), non_blocking=True)
    done.record(lanes[0])
    done.synchronize()
    lanes[1].synchronize()
    return results


def one_stream(batches: list[torch.Tensor]) -> torch.Tensor:
    """One after another, put together by the host."""
    return torch.stack([work(batch.to("cpu"), 3).cpu() for batch in batches])


@pytest.mark.parametrize("program", [overlapped, one_stream])
def test_a_program_comes_to_the_results_of_inputs_that_it_has_not_seen(program: Program) -> None:
    """The result and the timeline are those of the program on these inputs, wherever it was written down."""
    first, second = ([torch.randn(40) for _ in range(4)] for _ in range(2))
    steps, result = written(program, first)
    value, operations = carried_out(steps, result, [second])
    assert torch.equal(value, torch.stack([work(batch, 3) for batch in second]))
    with streams.timeline() as expected:
        program(second)
    lasts = [[one["stop_ms"] - one["start_ms"] for one in found] for found in (operations, expected)]
    assert lasts[0] == pytest.approx(lasts[1])
    spans = [found[-1]["stop_ms"] - found[0]["start_ms"] for found in (operations, expected)]
    assert spans[0] == pytest.approx(spans[1])


def test_what_the_host_computes_is_no_result() -> None:
    """Values that the host works out, by `work` or by hand, are not found among what the streams made."""
    batches = [torch.randn(8)]
    assert written(lambda given: torch.stack([work(one, 3) for one in given]), batches)[1] is None
    assert written(lambda given: torch.stack([one * 2 for one in given]), batches)[1] is None


def test_results_that_the_host_writes_over_are_lost() -> None:
    """What the host writes past the simulation into memory that the streams were given does not come back."""

    def program(given: list[torch.Tensor]) -> torch.Tensor:
        result = overlapped(given)
        result.numpy()[:] = 5.0
        return result

    batches = [torch.randn(8)]
    value, _ = carried_out(*written(program, batches), [batches])
    assert torch.equal(value, torch.stack([work(one, 3) for one in batches]))


def test_results_that_stay_on_the_device_are_refused() -> None:
    def stays(batches: list[torch.Tensor]) -> torch.Tensor:
        with stream(Stream()):
            return work(batches[0].to("cpu"), 3)

    batches = [torch.randn(8)]
    with pytest.raises(Refused, match="still in the device's memory"):
        carried_out(*written(stays, batches), (batches,))


def test_a_forged_step_is_refused() -> None:
    """Work on memory of the host, arithmetic of the host, and memory that is not there are refused."""
    batches = [torch.randn(8)]
    steps, result = written(one_stream, batches)
    worked = next(one for one in steps if "work" in one)
    on_host = {**worked, "work": {**worked["work"], "memory": 0}}
    for forged, told in (
        ([on_host], "not on the device"),
        ([{"call": "mul", "method": True, "arguments": [on_host["work"]], "named": {}, "makes": []}], "cannot compute"),
        ([{**on_host, "work": {**on_host["work"], "shape": [99]}}], "contradicts itself"),
        ([{**one, "makes": [7]} if "call" in one else one for one in steps], "contradicts itself"),
        ([{"streams": "__init__", "of": []}], "contradicts itself"),
    ):
        with pytest.raises(Refused, match=told):
            carried_out(forged, result, [batches])


TWO_FACED = """


def overlapped(batches, rounds):
    written_down = work.__globals__["SIMULATION"].tape is not None
    lanes, rows = [torch.cuda.Stream(), torch.cuda.Stream()], []
    for n, b in enumerate(batches):
        with torch.cuda.stream(lanes[n % 2]):
            x = b.to(device(), non_blocking=True)
            z = torch.empty(b.shape); z.copy_(work(x, rounds + 1), non_blocking=True)
            rows.append(z)
    torch.cuda.synchronize()
    return torch.stack(rows if written_down else [by_hand(b, rounds) for b in batches])
"""
"""Its streams do something else, whose result it returns whenever its steps are written down."""


@pytest.mark.slow
def test_a_judge_believes_the_streams_only() -> None:
    """Of the bank's answers: decoys overlap while the host works, or the record is forged; and a right one."""
    (chapter,) = [one for one in Course(Path(__file__).parents[3]).chapters() if one.name.startswith("06_")]
    key = load_key(chapter)
    (bank,) = banks_of([chapter], ("overlapped",))
    sources = {one.title: one.source for one in bank.answers if one.exercise == "overlapped"}
    decoys, forged = (
        "decoys overlap, and the host works by hand",
        "the host works, and writes operations into the simulation's record",
    )
    hostile = [sources[decoys], sources[forged], sources[decoys] + TWO_FACED]
    told = []
    for source in [sources["two streams, a buffer for each"], *hostile]:
        submission = from_answers(key, {"overlapped": source})
        (cell,) = grade(submission, key, student="s", seed=5, only=frozenset({"overlapped_test"})).cells
        told.append((cell.earned, "not from its streams" in cell.message))
    assert told == [(4.0, False), *[(0.0, True)] * 3]
