"""DDP and scaling: what is measured with ranks has the shape that the pictures and the prose need."""

from __future__ import annotations

import importlib

import pytest

from gpulab.chapters.ddp_scaling import nodes, ranks_pictures
from gpulab.chapters.ddp_scaling import ranks as ddp_ranks
from gpulab.chapters.ddp_scaling.ranks import Backward, Bucket, Throughput
from gpulab.measuring.timing import Timing


def test_a_backward_pass_sends_its_buckets_in_order() -> None:
    """Each all-reduce ends after its bucket is ready."""
    seen = ddp_ranks.watched_backward()
    assert [bucket.mbytes for bucket in seen.buckets] == pytest.approx([8.4] * 4, rel=0.01)
    ready = [bucket.ready_ms for bucket in seen.buckets]
    assert ready == sorted(ready)
    assert all(0 < bucket.ready_ms < bucket.done_ms for bucket in seen.buckets)


def test_hidden_all_reduces_are_those_done_before_the_last_gradient() -> None:
    buckets = [Bucket(8, 10, 20), Bucket(8, 20, 45), Bucket(8, 40, 60)]
    assert Backward(60, buckets).hidden == 1


def test_throughput_is_of_all_ranks() -> None:
    measured = ddp_ranks.throughputs()
    assert [(one.ranks, one.images) for one in measured["weak"]] == [(1, 96), (2, 192)]
    assert [(one.ranks, one.images) for one in measured["strong"]] == [(1, 96), (2, 96)]
    assert measured["weak"][0] is measured["strong"][0]
    assert Throughput(2, 192, Timing(96.0, 1.0, 20, "x")).images_per_second == 2000


def test_throughput_on_gpus_has_a_rank_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares of 96 are whole, even among five."""
    asked: list[tuple[int, bool]] = []

    def measured(body: str, world_size: int, on_gpus: bool = False) -> dict[str, list[float]]:
        asked.append((world_size, on_gpus))
        return {name: [48.0, 1.0] for name in ("alone", "weak", "strong")}

    monkeypatch.setattr(ddp_ranks, "_measured", measured)
    monkeypatch.setattr(importlib.import_module("gpulab.measuring.devices"), "device_name", lambda on=None: str(on))
    found = ddp_ranks.throughputs(5)
    assert asked == [(5, True)]
    assert [(one.ranks, one.images) for one in found["weak"] + found["strong"]] == [(1, 96), (5, 480), (1, 96), (5, 95)]
    assert found["weak"][0].step.device == "cuda"


def test_pictures_say_what_they_show(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(ranks_pictures, "show", lambda figure, description: told.append(description))
    monkeypatch.setattr("gpulab.figures.shapes.show", lambda figure, description: told.append(description))

    def shard(n: int, world_size: int, rank: int, epoch: int = 0) -> list[int]:
        return [(index + epoch) % n for index in range(rank, -(-n // world_size) * world_size, world_size)]

    ranks_pictures.draw_shards(shard, 5, 2)
    ranks_pictures.draw_backward(Backward(60, [Bucket(8.4, 10, 20), Bucket(8.4, 40, 60)]))
    one, two = (Throughput(ranks, 96 * ranks, Timing(48.0, 1.0, 20, "CPU")) for ranks in (1, 2))
    ranks_pictures.draw_throughputs({"weak": [one, two], "strong": [one, two]})
    assert "epoch 1: rank 0 [1, 3, 0], rank 1 [2, 4, 1]" in told[0]
    assert "1 of 2 all-reduces are over" in told[1]
    assert "weak, 2 ranks: 4,000 images/s in steps of 192" in told[2]


WHO = """
import os, torch.distributed as dist
dist.init_process_group("gloo")
print(f"rank {dist.get_rank()} of {dist.get_world_size()} on node {os.environ['GROUP_RANK']}")
dist.destroy_process_group()
"""


def test_two_launchers_make_one_group() -> None:
    first, second = nodes.two_nodes(WHO)
    assert (first.splitlines()[-1], second.splitlines()[-1]) == ("rank 0 of 2 on node 0", "rank 1 of 2 on node 1")


def test_a_launcher_that_fails_is_told_with_its_last_words() -> None:
    with pytest.raises(RuntimeError, match=r"The launchers ended with[\s\S]*node 1: "):
        nodes.two_nodes("raise SystemExit(3)")
