"""Slots work side by side; they neither wait for their results to be kept nor get far ahead of that."""

from __future__ import annotations

import threading
import time

import pytest

from grader.batch.thread_pool import WAITING, map_submissions


def test_slots_work_at_the_same_time() -> None:
    meeting = threading.Barrier(2)
    assert sorted(map_submissions(lambda item: item * 10 + meeting.wait(5) * 0, [1, 2], 2)) == [(1, 10), (2, 20)]


def test_exceptions_are_handed_out_and_the_rest_goes_on() -> None:
    outcomes = dict(map_submissions(lambda item: 1 // item, [0, 1], 1))
    assert isinstance(outcomes[0], ZeroDivisionError)
    assert outcomes[1] == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_in_a_slot_ends_the_batch(error: type[BaseException]) -> None:
    def stop(item: int) -> None:
        raise error

    with pytest.raises(error):
        list(map_submissions(stop, [1, 2, 3], 2))


def test_nothing_to_do_is_done_at_once() -> None:
    assert list(map_submissions(str, [], 3)) == []


def test_no_slots_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        list(map_submissions(str, [1], 0))


def test_slots_work_on_while_the_caller_keeps_a_result() -> None:
    """Recording must not hold up grading."""
    third = threading.Event()
    outcomes = map_submissions(lambda item: item == 3 and third.set(), [1, 2, 3], 1)
    next(outcomes)
    assert third.wait(5)  # while nothing more was fetched
    assert len(list(outcomes)) == 2


def test_a_slow_caller_is_not_flooded() -> None:
    """Results wait in memory; of a class of thousands only a few may."""
    started: list[int] = []
    outcomes = map_submissions(started.append, range(1000), 2)
    next(outcomes)
    time.sleep(0.3)
    assert 2 * WAITING <= len(started) <= 2 * WAITING + 3  # waiting, one in the hand of each slot, one fetched
    outcomes.close()


def test_a_closed_engine_starts_nothing_new() -> None:
    started: list[int] = []
    outcomes = map_submissions(lambda item: (started.append(item), time.sleep(0.02)), range(1000), 2)
    next(outcomes)
    outcomes.close()
    after = len(started)
    time.sleep(0.3)
    assert len(started) <= after + 2
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("slot")]
