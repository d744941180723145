"""DDP and scaling: whether schedules of a ring fit together and sum what they have to, and what real ranks have sent.

Any schedule that sums is right: it is played, not compared. How to make one is the exercise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpulab import check

FloatVector = NDArray[np.float32]

Schedule = Callable[[int, int], list[tuple[int, int]]]
"""The student's `ring_schedule(world_size, rank)`."""
HALF = "That is one half: after the sums are made (p - 1 steps), the all-gather brings them to everybody (p - 1 more)."
ALTERNATE = "Your steps of the two halves alternate: first come all p - 1 steps that add, then the others."
LONG = "Each half has p - 1 steps, not p."
DEADLOCK = (
    "If all ranks wait until they have sent, nobody receives: begin with isend, receive, and only then wait() for what "
    "isend has returned; or let every other rank receive first. "
    "Keep what isend and irecv return, and wait() for it. "
    "Send to rank (rank + 1) % world_size, and receive from rank (rank - 1) % world_size."
)
EXCEPTIONS = {
    "does not result in an equal division": "np.split cuts equal parts only; np.array_split cuts any length.",
    "must match the size of tensor": "Chunks may differ in length: receive into a tensor that is as long as the chunk "
    "that arrives.",
    "bytes arrived where": "A rank sends to rank (rank + 1) % world_size, and receives the chunk that rank "
    "(rank - 1) % world_size sends.",
    "but got int": "Is it what dist.recv returns? recv writes into its tensor, and returns the number of the sender.",
    "NameError": "Is the name spelled right? The ranks find only what this cell defines: import what they need inside "
    "their function.",
}
"""What an exception of a rank says → what may help."""
ARGUMENTS = "launch.ranks calls function(rank, world_size, *inputs[rank]): each entry of inputs is a tuple."
"""What to say when the ranks' own function cannot be called so."""
NOT_CALLED = r"^rank \d+: TypeError: \S+\(\) (takes|missing) (?!.*\(line )"
"""An exception of the call itself: one from inside the function has a line."""
LISTED = "Return a list that holds the sum once for each rank, as launch.ranks does."
NOBODY = "Does it send to a rank that does not exist? The neighbor of the last rank is rank 0: (rank + 1) % world_size."
SAME = "In each step, no two ranks may send the same chunk."
ONE_PROCESS = "Were they added up in one process?"
WHOLE = "Whole vectors are sent: cut them into p chunks, and send one chunk in a step."


def sums_everything(schedule: Schedule, world_size: int) -> None:
    """Plays the schedules of all ranks against each other.

    Raises:
        AssertionError: the ranks do not end with the sum of all; the message names the step and the mistake.
    """
    plans = [_plan(schedule, world_size, rank) for rank in range(world_size)]
    for step in range(2 * (world_size - 1)):
        _fits(plans, step)
    first = plans[0][0][0] if world_size > 1 else -1
    assert world_size == 1 or any(plan[0][0] != first for plan in plans), (
        f"{world_size} ranks, step 0: all of them send chunk {first}. {SAME}"
    )
    # held[rank][chunk] counts how often each rank's numbers are in it.
    held = _own(world_size)
    for step in range(2 * (world_size - 1)):
        _passed_on(plans, held, step, adds=step < world_size - 1)
        if step == world_size - 2:
            _complete(plans, held, step)
    for rank in range(world_size):
        for chunk, counts in enumerate(held[rank]):
            least, most = min(counts), max(counts)
            assert least == 1 == most, (
                f"{world_size} ranks, at the end: in chunk {chunk} of rank {rank}, the numbers of rank "
                f"{counts.index(least)} are counted {least}×, and those of rank {counts.index(most)} are counted "
                f"{most}×; expected once each. In the second half, hand on the complete chunk that you have just "
                "received."
            )


def _own(world_size: int) -> list[list[list[int]]]:
    """What the ranks hold before the first step: in every chunk, their own numbers once."""
    ranks = range(world_size)
    return [[[int(owner == rank) for owner in ranks] for _ in ranks] for rank in ranks]


def _passed_on(plans: list[list[tuple[int, int]]], held: list[list[list[int]]], step: int, adds: bool) -> None:
    """Plays one step."""
    world_size = len(plans)
    moving = [list(held[rank][plans[rank][step][0]]) for rank in range(world_size)]
    for rank in range(world_size):
        into, arrived = plans[rank][step][1], moving[(rank - 1) % world_size]
        held[rank][into] = [a + b for a, b in zip(held[rank][into], arrived, strict=True)] if adds else arrived


def _alternate(plans: list[list[tuple[int, int]]]) -> bool:
    """Whether every other step belongs to the first half, so that the plans would sum in that order."""
    world_size = len(plans)
    held, steps = _own(world_size), 2 * (world_size - 1)
    for number, step in enumerate([*range(0, steps, 2), *range(1, steps, 2)]):
        _passed_on(plans, held, step, adds=number < world_size - 1)
    return all(count == 1 for own in held for counts in own for count in counts)


def _plan(schedule: Schedule, world_size: int, rank: int) -> list[tuple[int, int]]:
    """The schedule of one rank, checked for its shape."""
    what = f"ring_schedule({world_size}, {rank})"
    steps = schedule(world_size, rank)
    if isinstance(steps, (list, tuple)):
        steps = [_listed(pair) for pair in steps]
    assert isinstance(steps, (list, tuple)), f"{what}: you returned {steps!r:.80}, expected a list of pairs."
    count, expected = len(steps), 2 * (world_size - 1)
    many = (world_size * (world_size - 1), 2 * world_size * (world_size - 1))
    whole = rank == 0 and count in many  # on later ranks, steps of the calls before may be among them
    note = f" {HALF}" if count == world_size - 1 else f" {WHOLE}" if whole else ""
    if count == 2 * world_size:
        note = f" {LONG}"
    assert count == expected, f"{what}: you returned {count} steps, expected {expected}.{note}"
    for step, pair in enumerate(steps):
        found = f"{what}: in step {step} you return {pair!r:.80}, expected"
        parts: list[Any] = list(pair) if isinstance(pair, (list, tuple)) else []
        if any(isinstance(part, (list, tuple, set, range)) for part in parts):
            raise AssertionError(f"{found} two chunk numbers. {WHOLE}")
        assert len(parts) == 2, f"{found} a pair of chunk numbers."
        right = all(_is_chunk(part, world_size) for part in parts)
        assert right, f"{found} chunk numbers from 0 to {world_size - 1}.{_how_numbered(steps, world_size)}"
    if world_size > 2 and all(sent == received == steps[0][0] for sent, received in steps):
        raise AssertionError(f"{what}: every step sends chunk {steps[0][0]}, expected all chunks to travel. {WHOLE}")
    return [(int(sent), int(received)) for sent, received in steps]


def _how_numbered(steps: Sequence[Any], world_size: int) -> str:
    """Why there are numbers that no chunk has."""
    numbers = {part for pair in steps for part in pair if isinstance(pair, (list, tuple)) and isinstance(part, int)}
    if numbers and (min(numbers), max(numbers)) == (1, world_size):
        return " Chunks are numbered from 0."
    return f" Take the numbers modulo p: % {world_size}." if numbers and min(numbers) < 0 else ""


def _listed(pair: Any) -> Any:
    """A row of an array or a tensor as a list of its numbers; anything else as it is."""
    return pair.tolist() if getattr(pair, "ndim", 0) == 1 and hasattr(pair, "tolist") else pair


def _is_chunk(value: Any, world_size: int) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and 0 <= int(value) < world_size


def _fits(plans: list[list[tuple[int, int]]], step: int) -> None:
    """What each rank receives in this step is what the rank before it sends."""
    world_size = len(plans)
    for rank in range(world_size):
        before, after = (rank - 1) % world_size, (rank + 1) % world_size
        sent, received = plans[before][step][0], plans[rank][step][1]
        note = "They must be the same chunk."
        half = slice(world_size - 1) if step < world_size - 1 else slice(world_size - 1, None)
        if world_size > 2 and {pair[0] for plan in plans for pair in plan[half]} == set(range(world_size - 1)):
            note = f"No rank sends chunk {world_size - 1} in this half: are the numbers taken modulo p, {world_size}?"
        if all(plan[step][0] == sent for plan in plans):
            note = f"All ranks send the same chunk in this step. {SAME}"
        if step and world_size > 2 and len({pair[0] for pair in plans[before]}) == 1:
            note = f"Rank {before} sends chunk {sent} in every step: pass on the chunk that has just been received."
        if world_size > 2 and all(
            pair == ((one + 1) % world_size, (one - 1) % world_size) for one, plan in enumerate(plans) for pair in plan
        ):
            note = "Those are the ranks of the neighbors: a pair holds the numbers of two chunks, sent and received."
        others = [plans[(one + 1) % world_size][step][0] == plans[one][step][1] for one in range(world_size)]
        if world_size > 2 and all(others):
            note = (
                f"It is the one that rank {after} sends: are the pairs the wrong way around, (received, sent), or does "
                "your ring turn the wrong way?"
            )
        assert received == sent, (
            f"{world_size} ranks, step {step}: rank {rank} receives chunk {received}, but rank {before} sends it chunk"
            f" {sent}. {note}"
        )


def _complete(plans: list[list[tuple[int, int]]], held: list[list[list[int]]], step: int) -> None:
    """After the steps that add, each rank has a complete chunk, and sends that one next."""
    world_size = len(plans)
    complete = [[place for place, counts in enumerate(own) if min(counts) == 1 == max(counts)] for own in held]
    for rank, chunks in enumerate(complete):
        most = max(sum(1 for count in counts if count) for counts in held[rank])
        note = ALTERNATE if _alternate(plans) else "Hand on what you have just added to."
        assert chunks, (
            f"{world_size} ranks: after the {world_size - 1} steps that add, rank {rank} has no complete chunk; its "
            f"best one holds the numbers of {most} ranks. {note}"
        )
    for rank, chunks in enumerate(complete):
        first = plans[rank][step + 1][0]
        there = sum(1 for count in held[rank][first] if count)
        assert first in chunks, (
            f"{world_size} ranks: the all-gather begins with rank {rank} sending chunk {first}, which holds the "
            f"numbers of {there} of {world_size} ranks. Its complete one is {chunks[0]}."
        )


# ------------------------------------------------------------------------------------------- rings of real processes


def collected(run_ring: Callable[[list[FloatVector]], Any], vectors: Sequence[FloatVector], what: str) -> Any:
    """What the student's `run_ring` returns: one result for each rank.

    Raises:
        AssertionError: the ranks wait for each other, or the number of results is wrong.
    """
    try:
        answer = run_ring([vector.copy() for vector in vectors])
    except Exception as error:
        if "SIGSEGV" in str(error):
            raise AssertionError(f"{what}: {str(error).splitlines()[0]} {NOBODY}") from None
        for text, note in EXCEPTIONS.items():
            if text in str(error):
                error.add_note(note)
        if re.search(NOT_CALLED, str(error), re.MULTILINE):
            error.add_note(ARGUMENTS)
        if "still ran" not in str(error):
            raise
        raise AssertionError(f"{what}: a deadlock. {str(error).splitlines()[0]} {DEADLOCK}") from None
    results = len(answer) if isinstance(answer, (list, tuple)) else answer
    known = [] if results is None else [(results, LISTED)]
    check.equal(results, len(vectors), f"{what}: number of results, one for each rank", mistakes=known)
    return answer


def sent_chunks(sent: Sequence[Mapping[str, Any]], world_size: int, length: int, what: str) -> None:
    """Passes if every rank has sent its neighbor 2(p - 1) messages, none of them longer than a chunk.

    Args:
        sent: what `launch.listening()` has heard.
        world_size: number of ranks.
        length: float32 values in a vector.
        what: the run, in words.

    Raises:
        AssertionError: they have sent nothing, or something else.
    """
    steps = 2 * (world_size - 1)
    if any("unseen_seconds" in one for one in sent):  # ranks of another make: nobody has listened to them
        least, crossed = 4 * length * steps, sent[0]["unseen_bytes"]
        assert crossed is None or crossed >= least, (
            f"{what}: {crossed} bytes went over the network between processes, and a ring sends {least}. {ONE_PROCESS}"
        )
        return
    assert any(one["messages"] or one["collectives"] for one in sent), (
        f"{what}: the sums are right, but no rank has sent anything. {ONE_PROCESS}"
    )
    used = sorted({name for one in sent for name in one["collectives"]})
    assert not used, f"{what}: {', '.join(used)} is the library's own. Write it here with send and recv."
    largest, elements = max(one["largest"] for one in sent), -(-length // world_size)
    cause = "Whole vectors are sent; cut them up first." if largest == 4 * length else ""
    if 0 < max((len(content) for one in sent for content in one["contents"]), default=0) <= elements:
        cause = "It holds no more numbers than a chunk, but they are not float32."
    assert largest <= 4 * elements, (
        f"{what}: a message of {largest} bytes, expected at most {4 * elements}, one chunk. {cause}".rstrip()
    )
    check.equal(max(one["messages"] for one in sent), steps, f"{what}: messages of a rank")
