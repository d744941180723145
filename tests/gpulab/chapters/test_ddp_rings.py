"""DDP and scaling: schedules of a ring are played."""

import numpy as np
import pytest
import torch

from gpulab.chapters.ddp_scaling import rings
from gpulab.chapters.ddp_scaling.rings import sums_everything


def ring(world_size, rank):
    adding = [((rank - step) % world_size, (rank - step - 1) % world_size) for step in range(world_size - 1)]
    return adding + [((one + 1) % world_size, (other + 1) % world_size) for one, other in adding]


@pytest.mark.parametrize("world_size", [1, 2, 3, 5, 8])
def test_a_schedule_that_sums_passes(world_size):
    sums_everything(ring, world_size)


@pytest.mark.parametrize("rows", [np.array, torch.tensor])
def test_pairs_may_be_rows_of_an_array(rows):
    sums_everything(lambda p, rank: list(rows(ring(p, rank))), 3)
    with pytest.raises(AssertionError, match="expected chunk numbers from 0 to 2"):
        sums_everything(lambda p, rank: list(rows(ring(p, rank)) + 0.5), 3)


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (lambda p, rank: ring(p, rank)[: p - 1], "That is one half"),
        (lambda p, rank: [(b, a) for a, b in ring(p, rank)], "the wrong way around"),
        (lambda p, rank: [(0, 0)] * 2 * (p - 1), "cut them into p chunks"),
        (lambda p, rank: [(rank, (rank - 1) % p)] * 2 * (p - 1), "Hand on what you have just added to"),
        (lambda p, rank: ring(p, rank)[: p - 1] * 2, "Its complete one is"),
        (lambda p, rank: [(-1, p)] * 2 * (p - 1), "expected chunk numbers from 0 to 3. Take the numbers modulo p"),
        (lambda p, rank: [(a + 1, b + 1) for a, b in ring(p, rank)], "Chunks are numbered from 0"),
        (lambda p, rank: [(rank, b) for _, b in ring(p, rank)], "Rank 3 sends chunk 3 in every step"),
        (lambda p, rank: ring(p, 0), "All ranks send the same chunk"),
        (lambda p, rank: [((rank + 1) % p, (rank - 1) % p)] * 2 * (p - 1), "the ranks of the neighbors"),
        (lambda p, rank: [(step % p, step % p) for step in range(2 * (p - 1))], "all of them send chunk 0"),
        (lambda p, rank: ring(p, rank) + [(0, 0)] * 2, "Each half has p - 1 steps, not p"),
        (
            lambda p, rank: ring(p, rank)[:p] + [((rank + 1 + at) % p, (rank + at) % p) for at in range(1, p - 1)],
            "hand on the complete chunk",
        ),
        (
            lambda p, rank: (
                ring(p, rank)[: p - 1] + [((rank + 1 - at) % (p - 1), (rank - at) % (p - 1)) for at in range(p - 1)]
            ),
            "No rank sends chunk 3 in this half: are the numbers taken modulo p, 4",
        ),
        (
            lambda p, rank: [ring(p, rank)[at] for step in range(p - 1) for at in (step, p - 1 + step)],
            "first come all p - 1 steps that add",
        ),
        (lambda p, rank: ring(p, rank) * (2 if rank else 1), r"(?m)you returned 12 steps, expected 6\.$"),
    ],
)
def test_what_is_wrong_with_a_schedule_is_named(schedule, words):
    with pytest.raises(AssertionError, match=words):
        sums_everything(schedule, 4)


def heard(messages=2, largest=8, collectives=(), elements=2):
    contents = [[1.0] * elements] * messages
    return {"messages": messages, "largest": largest, "collectives": list(collectives), "contents": contents}


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ([heard(0, 0), heard(0, 0)], "no rank has sent anything"),
        ([], "no rank has sent anything"),
        ([heard(collectives=["all_reduce"]), heard()], "all_reduce is the library's own"),
        ([heard(largest=16, elements=4), heard()], "Whole vectors are sent"),
        ([heard(largest=16), heard()], "but they are not float32"),
        ([heard(largest=12, elements=3), heard()], "(?m)expected at most 8, one chunk\\.$"),
        ([heard(1), heard(1)], "messages of a rank"),
        ([{**heard(), "unseen_seconds": 1.0, "unseen_bytes": 5}], "5 bytes went over the network"),
    ],
)
def test_ranks_that_send_no_chunks_are_named(sent, says):
    with pytest.raises(AssertionError, match=says):
        rings.sent_chunks(sent, 2, 4, "run_ring")


def test_chunks_are_what_a_ring_sends():
    """Ranks that nobody could listen to have sent at least as much over the network."""
    rings.sent_chunks([heard(), heard()], 2, 4, "run_ring")
    rings.sent_chunks([{**heard(), "unseen_seconds": 1.0, "unseen_bytes": 1000}], 2, 4, "run_ring")


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        ("NameError: name 'np' is not defined", "import what they need"),
        ("TypeError: expected Tensor as element 0, but got int (line 9 of ring())", "what dist.recv returns"),
        ("TypeError: run_ring.<locals>.ring() takes 3 positional arguments but 6 were given", "inputs is a tuple"),
        ("TypeError: ring() missing 1 required positional argument: 'vector'", "inputs is a tuple"),
    ],
)
def test_exceptions_of_ranks_are_explained(raised, words):
    def raises(vectors):
        raise RuntimeError(f"Rank 0 ended with exit code 1.\nrank 0: {raised}\nrank 1: {raised}")

    with pytest.raises(RuntimeError) as caught:
        rings.collected(raises, [np.zeros(2, np.float32)] * 2, "run_ring")
    assert words in caught.value.__notes__[0]


def test_a_call_inside_the_function_of_a_rank_is_not_that_of_the_launcher():
    def raises(vectors):
        raise RuntimeError("rank 0: TypeError: send() missing 1 required positional argument: 'dst' (line 3 of ring())")

    with pytest.raises(RuntimeError) as caught:
        rings.collected(raises, [np.zeros(2, np.float32)] * 2, "run_ring")
    assert not hasattr(caught.value, "__notes__")


def test_one_result_is_not_a_result_of_each_rank():
    with pytest.raises(AssertionError, match=r"expected 2\. Return a list"):
        rings.collected(lambda vectors: vectors[0], [np.zeros(2, np.float32)] * 2, "run_ring")


def test_a_ring_that_hangs_is_a_deadlock():
    def hangs(vectors):
        raise RuntimeError("2 ranks still ran after 5 s.\nrank 0: …")

    with pytest.raises(AssertionError, match=r"a deadlock\. 2 ranks still ran"):
        rings.collected(hangs, [np.zeros(2, np.float32)] * 2, "run_ring")
    with pytest.raises(AssertionError, match="number of results"):
        rings.collected(lambda vectors: vectors[:1], [np.zeros(2, np.float32)] * 2, "run_ring")
