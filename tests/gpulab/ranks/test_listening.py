"""Ranks: what is heard of what they send and are given."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist

from gpulab.ranks import launch, messages
from gpulab.ranks.launch import LaunchError


def test_messages_of_ranks_are_heard() -> None:
    def talk(rank: int, world_size: int) -> None:
        there = torch.zeros(6)
        if rank == 0:
            dist.send(there, 1)
            dist.send(there[:2].clone(), 1)
        else:
            dist.recv(there, 0)
            dist.recv(there[:2], 0)
        dist.all_reduce(there)

    with launch.listening() as sent:
        launch.ranks(talk, [(), ()])
    contents = [[0.0] * 6, [0.0] * 2]
    counted = {"messages": 2, "bytes": 32, "largest": 24, "to": [1], "collectives": ["allreduce"], "barriers": 0}
    kept = {"contents": contents, "summands": [[0.0] * 6], "scattered": [], "gathered": []}
    numbers = {"contents": 8, "summands": 6, "scattered": 0, "gathered": 0}
    assert sent[0] == {**counted, **kept, "numbers": numbers, "given": 0, "scaled": 0}
    assert (sent[1]["messages"], sent[1]["to"]) == (0, [])
    with launch.listening() as nothing:
        pass
    assert nothing == []


def test_what_a_rank_is_given_is_counted() -> None:
    """The numbers of its arrays and tensors, wherever they stand among its arguments."""
    with launch.listening() as sent:
        launch.ranks(lambda rank, world_size, *given: None, [(torch.zeros(2, 3), [{"m": torch.zeros(4)}], "text", 5)])
    assert [one["given"] for one in sent] == [10]


def test_what_a_function_takes_along_is_counted() -> None:
    """Arrays around a function count, the same one once."""
    around = np.zeros((2, 5), np.float32)

    def takes(rank: int, world_size: int, *given: Any) -> None:
        """A docstring of more than sixty characters, which counts as nothing, as little as the function's own code."""
        str(around)

    with launch.listening() as sent:
        launch.ranks(takes, [(), (around, 0.5), ({"lr": 0.1, "shape": (3, 4)},)])
    assert [one["given"] for one in sent] == [10, 10, 10]


def test_a_rank_does_not_find_what_another_is_given() -> None:
    def looks(rank: int, world_size: int) -> list[str]:
        from pathlib import Path

        return [one.name for one in Path().glob("*.in")]

    assert launch.ranks(looks, [(), ()]) == [[], []]


def test_a_rank_cannot_leave_a_report_of_its_own() -> None:
    def leaves(rank: int, world_size: int) -> None:
        import os
        from pathlib import Path

        import cloudpickle

        Path(f"{rank}.out").write_bytes(cloudpickle.dumps(7))
        Path(f"{rank}.sent").write_text("{}")
        os._exit(0)

    with pytest.raises(LaunchError, match="Rank 0 ended before its function had returned"):
        launch.ranks(leaves, [(), ()])


def test_collectives_on_one_tensor_are_heard() -> None:
    """`reduce_scatter_tensor` and `all_gather_into_tensor`, whatever the version of torch calls beneath them."""

    def talk(rank: int, world_size: int) -> None:
        import torch.distributed as dist

        share, whole = torch.zeros(1), torch.zeros(2)
        dist.reduce_scatter_tensor(share, torch.ones(2))
        dist.barrier()
        dist.all_gather_into_tensor(whole, share)

    with launch.listening() as sent:
        launch.ranks(talk, [(), ()])
    scattered, gathered = sent[0]["collectives"]
    assert "reduce_scatter" in scattered
    assert "gather" in gathered
    assert sent[0]["barriers"] == 1


def test_calls_with_many_numbers_are_counted() -> None:
    """Each call has a list, though not of all its numbers: a call that is too large to be kept must not go unseen."""
    many = messages.MOST_NUMBERS - 2

    def talk(rank: int, world_size: int) -> None:
        for count in (many, many, 1):
            dist.all_reduce(torch.zeros(count))

    with launch.listening() as sent:
        launch.ranks(talk, [(), ()])
    assert [len(one) for one in sent[0]["summands"]] == [many, 2, 0]
    assert sent[0]["numbers"]["summands"] == 2 * many + 1


def test_what_ranks_send_may_be_perturbed() -> None:
    """The first message and what is summed arrive changed, by another amount from each rank; the record has the old."""

    def talk(rank: int, world_size: int) -> list[float]:
        import torch.distributed as dist

        heard, count, share, own = torch.zeros(2), torch.zeros(1, dtype=torch.int64), torch.zeros(1), torch.ones(2)
        if rank == 0:
            for message in (own, own, count + 5):
                dist.send(message, 1)
        else:
            for message in (heard, own, count):
                dist.recv(message, 0)
        summed = own.clone()
        dist.all_reduce(summed)
        dist.reduce_scatter_tensor(share, own)
        return [*heard.tolist(), *own.tolist(), float(count), *summed.tolist(), float(share)]

    with launch.listening(perturb=0.25) as sent:
        _, second = launch.ranks(talk, [(), ()])
    first, both = messages.addend(0.25, 0), 2 + messages.addend(0.25, 0) + messages.addend(0.25, 1)
    one, two = messages.addends(first, 2)
    assert one != two
    assert second == pytest.approx([1 + one, 1 + two, 1.0, 1.0, 5.0, both, both, both])
    assert sent[0]["contents"] == [[1.0, 1.0], [1.0, 1.0], [5.0]]
    assert (sent[0]["summands"], sent[0]["scattered"]) == ([[1.0, 1.0]], [[1.0, 1.0]])


def test_functional_collectives_are_heard() -> None:
    """Those that DTensor calls, which go past the methods of the process group; perturbed like all others."""

    def talk(rank: int, world_size: int) -> list[float]:
        import torch
        from torch.distributed import _functional_collectives as functional
        from torch.distributed import group
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import DTensor, Partial

        own = torch.ones(2)
        summand = DTensor.from_local(own.clone(), init_device_mesh("cpu", (world_size,)), [Partial()])
        share = functional.reduce_scatter_tensor(own, "sum", 0, group.WORLD)
        gathered = functional.all_gather_tensor(torch.full((1,), float(rank)), 0, group.WORLD)
        in_place = own.clone()
        torch.ops._c10d_functional.wait_tensor(torch.ops._c10d_functional.all_reduce_(in_place, "sum", "0"))
        return [*summand.full_tensor().tolist(), *share.tolist(), *gathered.tolist(), *in_place.tolist()]

    with launch.listening(perturb=0.25) as sent:
        found, _ = launch.ranks(talk, [(), ()])
    first, second = messages.addend(0.25, 0), messages.addend(0.25, 1)
    both = 2 + first + second
    assert found == pytest.approx([both, both, both, first, 1 + second, both, both])
    assert sorted(sent[0]["collectives"]) == ["all_gather_single", "allreduce", "reduce_scatter_single"]
    assert sent[0]["summands"] == [[1.0, 1.0], [1.0, 1.0]]
    assert sent[0]["barriers"] == 0
    assert (sent[0]["scattered"], sent[0]["gathered"]) == ([[1.0, 1.0]], [[0.0]])


def test_ranks_of_another_make_are_noticed_at_least() -> None:
    with launch.listening() as sent:
        subprocess.run([sys.executable, "-c", "sum(range(20_000_000))"], check=True)
    assert sent[0]["unseen_seconds"] > 0.2
    assert sent[0]["unseen_bytes"] is not None


def test_the_number_of_a_rank_tells_nothing_of_the_others() -> None:
    """Nor do ranks that are told other secrets have the same numbers."""
    numbers = {messages.addend(secret, rank) for secret in (0.25, 0.5) for rank in range(4)}
    assert len(numbers) == 8
    assert all(0.5 <= one <= 2 for one in numbers)
    assert messages.addend(0.0, 3) == 0.0
